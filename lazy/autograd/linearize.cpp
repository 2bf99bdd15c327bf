#include "lazy/autograd/linearize.hpp"

#include <optional>

#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/directions.hpp"
#include "lazy/autograd/planed.hpp"

namespace lazy {
using namespace detail;

// The pullback is linear in its gradient u. So the derivative of <pullback(u), v> by u is the derivative of f
// along v, whatever u is. The pullback is recorded once, at zeros, of which nothing is ever computed.
struct LinearMap::Kept {
  Planed u;
  std::vector<Tensor> x, pulled;  // the arguments; the pullback of u for each
  bool alone = false;             // nobody else differentiates by what is kept
};

std::pair<Tensor, LinearMap> LinearMap::of(const char* op, const TensorFunction& f,
                                           const std::vector<Tensor>& x, const Site& s) {
  const Pullback p = Pullback::of(op, f, x, s);
  const auto kept = std::make_shared<LinearMap::Kept>();
  const Handle& value = p.value.handle();
  kept->alone = p.alone();
  kept->x = x;
  kept->u = Planed(value);
  for (int i = 0; i < kept->u.count; ++i) kept->u.of[i] = separate_leaf(zeros_like(kept->u.of[i], s), s);
  {
    const enable_grad scope;
    kept->pulled = p(Arg(Tensor(kept->u.value(s)), s));
  }
  LinearMap map;
  map.kept_ = kept;
  return {kept->alone ? stop_gradient(Arg(p.value, s)) : p.value, std::move(map)};
}

std::pair<Tensor, LinearMap> linearize(const TensorFunction& f, const std::vector<Tensor>& x, Site s) {
  return LinearMap::of("linearize", f, x, s);
}

std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const std::vector<Tensor>& x,
                              const std::vector<Tensor>& tangents, Site s) {
  check_directions("jvp", x, tangents, s);  // before f is called
  const auto [value, map] = LinearMap::of("jvp", f, x, s);
  return {value, map(tangents, s)};
}

Tensor LinearMap::operator()(const std::vector<Tensor>& v, Site s) const {
  if (!kept_) fail<Error>("linearize", "an empty map", s);
  check_directions("linearize", kept_->x, v, s);
  Handle product;
  {
    const enable_grad scope;
    product = inner_product(kept_->pulled, v, s).handle();
  }
  Planed along = kept_->u;
  const Backwards back(product, along.all(), s);
  std::optional<no_grad> alone;
  if (kept_->alone && std::none_of(v.begin(), v.end(), [](const Tensor& t) { return t.requires_grad(); }))
    alone.emplace();
  Gradients all = back.run(constant(1, product->dtype, product->shape, product, s));
  for (int i = 0; i < along.count; ++i) {
    const Handle of_plane = all.of(along.of[i]);
    along.of[i] = of_plane ? of_plane : zeros_like(along.of[i], s);
  }
  return Tensor(along.value(s));
}

}  // namespace lazy
