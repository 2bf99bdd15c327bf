#include "lazy/autograd/gradient.hpp"

#include <optional>

#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/directions.hpp"
#include "lazy/core/build.hpp"

namespace lazy {
using namespace detail;

namespace {

void check_float(const char* op, const char* what, DType t, const Site& s) {
  if (!is_float(t))
    fail<DtypeError>(op, std::string(what) + " is of " + name_of(t) + ": gradients are of floating point", s);
}

}  // namespace

struct Pullback::Kept {
  std::vector<Handle> inputs;
  Handle value;
  mutable std::atomic<bool> alone =
      false;  // nobody else differentiates by what is kept: it dies with the pullback

  ~Kept() {
    if (alone) try {
        Backwards(value, inputs, value->site).spend();
      } catch (...) {  // without memory for that it is kept as long as its values are
      }
  }
};

Pullback Pullback::of(const char* op, const TensorFunction& f, const std::vector<Tensor>& x, const Site& s) {
  const auto kept = std::make_shared<Pullback::Kept>();
  std::vector<Tensor> inputs;
  for (const Tensor& t : x) {
    const Arg arg(t, s);
    const Operand operand(op, arg);
    check_float(op, "an argument", operand->dtype, s);
    kept->inputs.push_back(separate_leaf(operand, s));
    inputs.push_back(Tensor(kept->inputs.back()));
  }
  Pullback p;
  {
    const enable_grad scope;
    p.value = f(inputs);
  }
  const Arg value(p.value, s);
  const Operand result(op, value);
  check_float(op, "the value", result->dtype, s);
  kept->value = result;
  bool alone = Backwards(kept->value, kept->inputs, s).boundary().empty();
  for (const Handle& input : kept->inputs) alone &= leaf(input) != nullptr;
  kept->alone = alone;
  p.kept_ = kept;
  return p;
}

Pullback vjp(const TensorFunction& f, const std::vector<Tensor>& x, Site s) {
  return Pullback::of("vjp", f, x, s);
}

bool Pullback::alone() const { return kept_->alone; }

std::vector<Tensor> Pullback::operator()(Arg gradient) const {
  const Site s = gradient.site();
  if (!kept_) fail<Error>("vjp", "an empty pullback", s);
  const Handle g = Operand("vjp", gradient, kept_->value->dtype).take();
  check_gradient("vjp", g, kept_->value, s);
  const Backwards all(kept_->value, kept_->inputs, s);
  // Gradients have derivatives if anything but the inputs asks for them.
  if (is_tracked(g)) kept_->alone = false;
  std::optional<no_grad> alone;
  if (kept_->alone) alone.emplace();
  Gradients gradients = all.run(g);
  std::vector<Tensor> sums;
  for (const Handle& x : kept_->inputs) {
    const Handle sum = gradients.of(x);
    sums.push_back(Tensor(sum ? sum : constant(0, x->dtype, x->shape, x, s)));
  }
  return sums;
}

std::pair<Tensor, std::vector<Tensor>> Pullback::with_gradients(const char* op, const TensorFunction& f,
                                                                const std::vector<Tensor>& x, const Site& s) {
  const Pullback p = of(op, f, x, s);
  const Handle& value = p.value.handle();
  if (numel(value->shape) != 1)
    fail<ShapeError>(op, "the value has one element, not shape " + to_string(value->shape), s);
  return {p.value, p(Arg(constant(1, value->dtype, value->shape, value, s), s))};
}

std::pair<Tensor, std::vector<Tensor>> value_and_grad_of(const TensorFunction& f,
                                                         const std::vector<Tensor>& x, Site s) {
  return Pullback::with_gradients("grad", f, x, s);
}

std::pair<Tensor, std::vector<Tensor>> hessian_vector(const TensorFunction& f, const std::vector<Tensor>& x,
                                                      const std::vector<Tensor>& v, Site s) {
  check_directions("hessian_vector", x, v, s);
  Tensor value;
  const auto slope = [&](const std::vector<Tensor>& at) {
    auto [y, g] = Pullback::with_gradients("hessian_vector", f, at, s);
    value = y;
    return inner_product(g, v, s);
  };
  const Pullback p = Pullback::of("hessian_vector", slope, x, s);
  const bool alone = p.alone();
  const Handle& y = p.value.handle();
  std::vector<Tensor> product = p(Arg(constant(1, y->dtype, y->shape, y, s), s));
  return {alone ? stop_gradient(Arg(value, s)) : value, std::move(product)};
}

}  // namespace lazy
