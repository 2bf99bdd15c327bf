#include "lazy/formula/formula.hpp"

#include "lazy/core/policy.hpp"
#include "lazy/indexing/gathering.hpp"

namespace lazy::detail {

const Shape& Term::shape() const { return handle_->shape; }

int64_t Term::extent(int axis) const { return shape()[axis < 0 ? axis + rank() : axis]; }

Term Term::number(double v) const {
  const DType t = handle_->dtype;
  const ScalarNumber n =
      is_float(t) || is_complex(t) ? ScalarNumber(v) : ScalarNumber(static_cast<int64_t>(v));
  if (formula_->numbers) return {*formula_, formula_->numbers->next(*formula_, n, t)};
  return {*formula_, formula_->Recorder::number(n, t)};
}

Handle SharedNumbers::next(const Recorder& r, const ScalarNumber& n, DType t) {
  const size_t i = next_++;
  if (i == known_.size()) known_.push_back({n, r.number(n, t)});
  const Known& k = known_[i];
  return k.number.kind == n.kind && k.number.u == n.u && k.value->dtype == t ? k.value : r.number(n, t);
}

Term Term::as(DType t) const { return {*formula_, formula_->as(t, handle_)}; }

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
    : Recorder{n, (*arguments.begin())->site()},
      result(float_dtype(n, arguments, optional, site)),
      work(is_half(result) ? float32 : result) {}

Formula::Formula(const char* n, Contraction, std::initializer_list<const Arg*> arguments,
                 std::initializer_list<const Tensor*> optional)
    : Recorder{n, (*arguments.begin())->site()},
      result(float_type(contraction_type(n, arguments, optional))),
      work(is_half(result) ? float32 : result) {}

Term Formula::term(const Tensor& t) const {
  const Arg a(t, site);
  return {*this, Operand(name, a, work).take()};
}

Term Formula::index(int axis, const Shape& shape, const Term& like) const {
  return {*this, Recorder::index(axis, shape, like.handle())};
}

Tensor Formula::finish(Composite& whole, const Term& value) const {
  return tensor(whole.result(as(result, value.handle())));
}

Term binary(Op op, const Term& a, const Term& b) {
  return {a.formula(), a.formula().op(op, a.handle(), b.handle())};
}

Term unary(Op op, const Term& a) { return {a.formula(), a.formula().op(op, a.handle())}; }

Term where(const Term& c, const Term& a, const Term& b) {
  return {c.formula(), c.formula().where(c.handle(), a.handle(), b.handle())};
}

Term sum(const Term& x, const Dims& axes, KeepDims keep) {
  return {x.formula(), x.formula().reduce(Op::sum, x.handle(), axes, keep)};
}

Term max(const Term& x, const Dims& axes, KeepDims keep) {
  return {x.formula(), x.formula().reduce(Op::max, x.handle(), axes, keep)};
}

Term mean(const Term& x, const Dims& axes, KeepDims keep) {
  return sum(x, axes, keep) / static_cast<double>(count_along(x.shape(), axes));
}

Term reshape(const Term& x, const Shape& shape) {
  return {x.formula(), x.formula().reshape(x.handle(), shape)};
}

Term permute(const Term& x, const Dims& axes) { return {x.formula(), x.formula().permute(x.handle(), axes)}; }

Term broadcast(const Term& x, const Shape& shape) {
  return {x.formula(), x.formula().broadcast(x.handle(), shape)};
}

Term part(const Term& x, int axis, int64_t start, int64_t count) {
  return {x.formula(), x.formula().part(x.handle(), axis < 0 ? axis + x.rank() : axis, start, count)};
}

Term gathered(const Term& x, const Term& index, int axis, Bounds bounds) {
  const Formula& f = x.formula();
  const jit::Purpose purpose(f.name);  // what an index out of range is reported by
  return {f, take_along_axis(f.arg(x.handle()), f.arg(index.handle()), axis, bounds).handle()};
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
