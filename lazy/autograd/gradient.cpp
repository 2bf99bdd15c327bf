#include "lazy/autograd/gradient.hpp"

#include <optional>

#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/directions.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/core/build.hpp"

namespace lazy {
using namespace detail;

namespace {

void check_differentiable(const char* op, const char* what, DType t, const Site& s) {
  if (!is_float(t) && !is_complex(t))
    fail<DtypeError>(op, std::string(what) + " is of " + name_of(t) + ": gradients are of floating point", s);
}

}  // namespace

struct Pullback::Kept {
  std::vector<Planed> x;
  Planed value;
  Handle whole;  // the value itself
  mutable std::atomic<bool> alone =
      false;  // nobody else differentiates by what is kept: it dies with the pullback

  /// Returns what derivatives are by.
  std::vector<Handle> targets() const {
    std::vector<Handle> all;
    for (const Planed& p : x) all.insert(all.end(), p.all().begin(), p.all().end());
    return all;
  }
  ~Kept() {
    if (alone) try {
        Backwards(value.all(), targets(), whole->site).spend();
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
    check_differentiable(op, "an argument", operand->dtype, s);
    Planed& own = kept->x.emplace_back(operand);
    for (int i = 0; i < own.count; ++i) own.of[i] = separate_leaf(own.of[i], s);
    inputs.push_back(Tensor(own.value(s)));
  }
  Pullback p;
  {
    const enable_grad scope;
    p.value = f(inputs);
  }
  const Arg value(p.value, s);
  const Operand result(op, value);
  check_differentiable(op, "the value", result->dtype, s);
  kept->whole = result;
  kept->value = Planed(kept->whole);
  const std::vector<Handle> targets = kept->targets();
  bool alone = Backwards(kept->value.all(), targets, s).boundary().empty();
  for (const Handle& h : targets) alone &= leaf(h) != nullptr;
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
  const Handle g = Operand("vjp", gradient, kept_->whole->dtype).take();
  check_gradient("vjp", g, kept_->whole, s);
  const Planed gs(g);
  const Backwards all(kept_->value.all(), kept_->targets(), s);
  // Gradients have derivatives if anything but the inputs asks for them.
  for (const Handle& h : gs.all())
    if (is_tracked(h)) kept_->alone = false;
  std::optional<no_grad> alone;
  if (kept_->alone) alone.emplace();
  Gradients gradients = all.run(gs.all());
  std::vector<Tensor> sums;
  for (Planed p : kept_->x) {
    for (int i = 0; i < p.count; ++i) {
      const Handle sum = gradients.of(p.of[i]);
      p.of[i] = sum ? sum : zeros_like(p.of[i], s);
    }
    sums.push_back(Tensor(p.value(s)));
  }
  return sums;
}

std::pair<Tensor, std::vector<Tensor>> Pullback::with_gradients(const char* op, const TensorFunction& f,
                                                                const std::vector<Tensor>& x, const Site& s) {
  const Pullback p = of(op, f, x, s);
  const Handle& value = p.value.handle();
  if (is_complex(value->dtype))
    fail<DtypeError>(op,
                     std::string("the value is of ") + name_of(value->dtype) +
                         ": a gradient is of a real number, abs(z) or real(z)",
                     s);
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
