#include "lazy/batching/jacobian.hpp"

#include "lazy/autograd/planed.hpp"
#include "lazy/batching/vmap.hpp"
#include "lazy/core/build.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

Shape joined(Shape a, const Shape& b) {
  for (const int64_t n : b) a.push_back(n);
  return a;
}

TensorFunction of_one(const std::function<Tensor(const Tensor&)>& f) {
  return [&f](const std::vector<Tensor>& x) { return f(x[0]); };
}

/// Returns a batch of values like one: of each all is 0, but for one element, which is 1.
Tensor units(const Recorder& r, const Handle& like) {
  const int64_t n = numel(like->shape);
  const Handle at = r.index(0, {n}, like);
  const Handle diagonal = r.op(Op::equal, r.reshape(at, {n, 1}), r.reshape(at, {1, n}));
  return r.tensor(r.reshape(r.as(like->dtype, diagonal), joined({n}, like->shape)));
}

Handle value_of_argument(const char* name, const Tensor& x, const Site& s) {
  const Arg a(x, s);
  const Operand h(name, a);
  if (is_complex(h->dtype))
    fail<DtypeError>(
        name,
        std::string("an argument is of ") + name_of(h->dtype) +
            ": by its real and its imaginary part there are two derivatives; take it by view_as_real(z)",
        s);
  if (!is_float(h->dtype))
    fail<DtypeError>(
        name, std::string("an argument is of ") + name_of(h->dtype) + ": derivatives are of floating point",
        s);
  return h;
}

Tensor by_rows(const char* name, const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
               const Site& s) {
  const Recorder r{name, s};
  const Handle at = value_of_argument(name, x, s);
  const Pullback p = vjp(of_one(f), {x}, s);
  const Handle& y = p.value.handle();
  if (numel(y->shape) == 0) return r.tensor(r.filled(0, at->dtype, joined(y->shape, at->shape), at));
  // A complex value has rows of its real part, and of its imaginary part.
  const Planed parts(y);
  const Tensor one = units(r, parts.of[0]);
  const auto rows = [&](bool imaginary) {
    const auto row = [&](const Tensor& u) {
      if (parts.count == 1) return p(Arg(u, s))[0];
      const Handle zeros = zeros_like(u.handle(), s);
      const Handle g = imaginary ? complex(zeros, u.handle(), s) : complex(u.handle(), zeros, s);
      return p(Arg(Tensor(g), s))[0];
    };
    const Tensor all = vmap(row, {.randomness = Randomness::same}, s)(one);
    return r.reshape(all.handle(), joined(y->shape, at->shape));
  };
  return r.tensor(parts.count == 1 ? rows(false) : complex(rows(false), rows(true), s));
}

}  // namespace

Tensor jacrev(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site s) {
  return by_rows("jacrev", f, x, s);
}

Tensor jacfwd(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site s) {
  const Recorder r{"jacfwd", s};
  const Handle at = value_of_argument(r.name, x, s);
  if (numel(at->shape) == 0) {
    const Tensor y = f(x);
    return r.tensor(r.filled(0, y.dtype(), joined(y.handle()->shape, at->shape), at));
  }
  const auto along = [&](const Tensor& tangent) { return jvp(of_one(f), {x}, {tangent}, s).second; };
  const Tensor columns = vmap(along, {.randomness = Randomness::same}, s)(units(r, at));
  Shape of_value;
  for (int i = 1; i < columns.ndim(); ++i) of_value.push_back(columns.shape()[i]);
  const Handle all = r.reshape(columns.handle(), joined(at->shape, of_value));  // x's axes come first
  Dims axes;
  for (int i = 0; i < of_value.size(); ++i) axes.push_back(at->shape.size() + i);
  for (int i = 0; i < at->shape.size(); ++i) axes.push_back(i);
  return r.tensor(r.permute(all, axes));
}

Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site s) {
  (void)value_of_argument("hessian", x, s);
  const auto slope = [&](const Tensor& at) -> Tensor {
    const Pullback p = vjp(of_one(f), {at}, s);
    const Handle& y = p.value.handle();
    if (numel(y->shape) != 1)
      fail<ShapeError>("hessian", "the value has one element, not shape " + to_string(y->shape), s);
    return p(Arg(constant(1, y->dtype, y->shape, y, s), s))[0];
  };
  return by_rows("hessian", slope, x, s);
}

}  // namespace lazy
