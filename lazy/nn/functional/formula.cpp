#include "lazy/nn/functional/formula.hpp"

#include "lazy/indexing/gathering.hpp"

namespace lazy::detail {

const Shape& Term::shape() const { return handle_->shape; }

int64_t Term::extent(int axis) const { return shape()[axis < 0 ? axis + rank() : axis]; }

Term Term::number(double v) const {
  const DType t = handle_->dtype;
  const Number n = is_float(t) ? Number(v) : Number(static_cast<int64_t>(v));
  return {*formula_, constant(n, t, {}, formula_->site)};
}

Term Term::as(DType t) const { return {*formula_, cast(handle_, t, formula_->site)}; }

namespace {

DType float_dtype(const char* name, std::initializer_list<const Arg*> arguments,
                  std::initializer_list<const Tensor*> optional, const Site& s) {
  DType t = common_type(name, arguments);
  for (const Tensor* o : optional)
    if (o->defined()) t = promote(name, t, o->handle()->dtype, s);
  return float_type(t);
}

}  // namespace

Formula::Formula(const char* n, std::initializer_list<const Arg*> arguments,
                 std::initializer_list<const Tensor*> optional)
    : name(n),
      site((*arguments.begin())->site()),
      result(float_dtype(n, arguments, optional, site)),
      work(is_half(result) ? float32 : result) {}

Term Formula::term(const Tensor& t) const {
  const Arg a(t, site);
  return {*this, Operand(name, a, work).take()};
}

Term Formula::index(int axis, const Shape& shape, const Term& like) const {
  return {*this, iota(axis, shape, like.handle()->device, site)};
}

Tensor Formula::finish(Composite& whole, const Term& value) const {
  return Tensor(whole.result(cast(value.handle(), result, site)));
}

Term binary(Op op, const Term& a, const Term& b) {
  const Formula& f = a.formula();
  return {f, binary(f.name, op, a.handle(), b.handle(), f.site)};
}

Term unary(Op op, const Term& a) { return {a.formula(), unary(op, a.handle(), a.formula().site)}; }

Term where(const Term& c, const Term& a, const Term& b) {
  const Formula& f = c.formula();
  return {f, where(f.name, c.handle(), a.handle(), b.handle(), f.site)};
}

Term sum(const Term& x, const Dims& axes, KeepDims keep) {
  const Formula& f = x.formula();
  return {f, reduce(f.name, Op::sum, x.handle(), axes, keep, f.site)};
}

Term max(const Term& x, const Dims& axes, KeepDims keep) {
  const Formula& f = x.formula();
  return {f, reduce(f.name, Op::max, x.handle(), axes, keep, f.site)};
}

Term mean(const Term& x, const Dims& axes, KeepDims keep) {
  return sum(x, axes, keep) / static_cast<double>(count_along(x.shape(), axes));
}

Term reshape(const Term& x, const Shape& shape) {
  return {x.formula(), reshape(x.handle(), shape, x.formula().site)};
}

Term permute(const Term& x, const Dims& axes) {
  return {x.formula(), permute(x.handle(), axes, x.formula().site)};
}

Term broadcast(const Term& x, const Shape& shape) {
  return {x.formula(), broadcast(x.handle(), shape, x.formula().site)};
}

Term part(const Term& x, int axis, int64_t start, int64_t count) {
  const int rank = x.rank(), a = axis < 0 ? axis + rank : axis;
  Dims from(rank, 0);
  from[a] = start;
  return {x.formula(),
          slice(x.handle(), from, Dims(rank, 1), with_extent(x.shape(), a, count), x.formula().site)};
}

Term gathered(const Term& x, const Term& index, int axis, Bounds bounds) {
  const Formula& f = x.formula();
  return {f, take_along_axis(Arg(x.handle(), f.site), Arg(index.handle(), f.site), axis, bounds).handle()};
}

int64_t count_along(const Shape& shape, const Dims& axes) {
  if (axes.empty()) return numel(shape);
  int64_t n = 1;
  for (int64_t a : axes) n *= shape[static_cast<int>(a < 0 ? a + shape.size() : a)];
  return n;
}

Shape with_extent(Shape shape, int axis, int64_t extent) {
  shape[axis < 0 ? axis + shape.size() : axis] = extent;
  return shape;
}

Shape along_axis(int rank, int axis, int64_t extent) { return with_extent(Shape(rank, 1), axis, extent); }

}  // namespace lazy::detail
