#include "lazy/autograd/jacobian.hpp"

#include "lazy/core/build.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

TensorFunction of_one(const std::function<Tensor(const Tensor&)>& f) {
  return [&f](const std::vector<Tensor>& x) { return f(x[0]); };
}

/// Returns zeros like a value, but 1 for one element.
Tensor unit(const Recorder& r, const Handle& like, int64_t element) {
  const Shape flat{numel(like->shape)};
  const Handle at = r.op(Op::equal, r.index(0, flat, like), element);
  return r.tensor(r.reshape(r.as(like->dtype, at), like->shape));
}

/// Stacks values of one shape in front of a shape.
Tensor stacked(const Recorder& r, const std::vector<Tensor>& all, const Shape& front, const Handle& each) {
  Shape shape = front;
  for (const int64_t n : each->shape) shape.push_back(n);
  check_countable(r.name, shape, r.site);
  if (all.empty()) return r.tensor(r.filled(0, each->dtype, shape, each));
  return r.tensor(r.reshape(stack(all, 0, r.site).handle(), shape));
}

Handle value_of_argument(const char* name, const Tensor& x, const Site& s) {
  const Arg a(x, s);
  const Operand h(name, a);
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
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < numel(y->shape); ++i) rows.push_back(p(Arg(unit(r, y, i), s))[0]);
  return stacked(r, rows, y->shape, at);
}

}  // namespace

Tensor jacrev(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site s) {
  return by_rows("jacrev", f, x, s);
}

Tensor jacfwd(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site s) {
  const Recorder r{"jacfwd", s};
  const Handle at = value_of_argument(r.name, x, s);
  std::vector<Tensor> columns;
  Tensor y;
  for (int64_t i = 0; i < numel(at->shape); ++i) {
    auto [value, column] = jvp(of_one(f), {x}, {unit(r, at, i)}, s);
    y = value;
    columns.push_back(column);
  }
  if (!y.defined()) y = f(x);
  const Tensor all = stacked(r, columns, at->shape, y.handle());  // x's axes come first
  Dims axes;
  for (int i = 0; i < y.handle()->shape.size(); ++i) axes.push_back(at->shape.size() + i);
  for (int i = 0; i < at->shape.size(); ++i) axes.push_back(i);
  return r.tensor(r.permute(all.handle(), axes));
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
