#include "lazy/nn/functional/attention.hpp"

#include <cmath>
#include <limits>

#include "lazy/core/build.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;
constexpr const char* kName = "scaled_dot_product_attention";

[[noreturn]] void mismatch(const Shape& q, const Shape& k, const Shape& v, const char* why, const Site& s) {
  fail<ShapeError>(
      kName, "query " + to_string(q) + ", key " + to_string(k) + " and value " + to_string(v) + ": " + why,
      s);
}

/// Records 0, 1, ... n - 1 along the last axis or the one before it.
Handle numbers(int64_t n, bool rows, Device device, const Site& s) {
  const Handle i = cast(iota(0, {n}, device, s), int32, s);
  return rows ? detail::reshape(i, {n, 1}, s) : i;
}

}  // namespace

Tensor scaled_dot_product_attention(Arg query, Arg key, Arg value, const Tensor& mask, bool causal,
                                    std::optional<double> scale) {
  const Site& s = query.site();
  const DType t = common_type(kName, {&query, &key, &value});
  if (!is_float(t))
    fail<DtypeError>(kName, std::string("takes floating-point numbers, not ") + name_of(t), s);
  const DType work = is_half(t) ? float32 : t;
  const Handle q = Operand(kName, query, work).take(), k = Operand(kName, key, work).take(),
               v = Operand(kName, value, work).take();
  const Shape &qs = q->shape, &ks = k->shape, &vs = v->shape;
  if (qs.size() < 2 || ks.size() < 2 || vs.size() < 2) mismatch(qs, ks, vs, "fewer than 2 dimensions", s);
  if (qs.back() != ks.back()) mismatch(qs, ks, vs, "queries and keys differ in their last extent", s);
  const int64_t length = qs[qs.size() - 2], keys = ks[ks.size() - 2];
  if (keys != vs[vs.size() - 2]) mismatch(qs, ks, vs, "not as many values as keys", s);

  Composite whole(kName, {&q, &k, &v, &mask.handle()}, s);
  const auto number = [&](double x) { return constant(x, work, {}, s); };
  const double factor =
      scale ? *scale : in_default_mode([&] { return 1 / std::sqrt(static_cast<double>(qs.back())); });
  // Scaling queries takes fewer products than scaling scores. But 16-bit floats are multiplied unscaled.
  const bool scale_first = !is_half(t);
  const Handle left = scale_first ? binary(kName, Op::multiply, q, number(factor), s) : q;
  Handle x = detail::matmul(kName, left, detail::matrix_transpose(k, s), s);
  if (!scale_first) x = binary(kName, Op::multiply, x, number(factor), s);
  const Handle never = number(-std::numeric_limits<double>::infinity());
  if (mask.handle()) {
    const Handle& m = mask.handle();
    if (broadcast_shapes(kName, x->shape, m->shape, s) != x->shape)
      fail<ShapeError>(kName, "a mask " + to_string(m->shape) + " for scores " + to_string(x->shape), s);
    if (is_bool(m->dtype)) x = where(kName, m, x, never, s);
    else x = binary(kName, Op::add, x, stored_as(kName, Arg(m, s), work), s);
  }
  if (causal) {
    const Handle sees = binary(kName, Op::less_equal, numbers(keys, false, x->device, s),
                               numbers(length, true, x->device, s), s);
    x = where(kName, sees, x, never, s);
  }
  if (keys == 0) return Tensor(whole.result(cast(detail::matmul(kName, x, v, s), t, s)));
  const Handle top = reduce(kName, Op::max, x, {-1}, keepdims, s);
  const Handle finite = where(kName, unary(Op::isfinite, top, s), top, number(0), s);
  const Handle e = unary(Op::exp, binary(kName, Op::subtract, x, finite, s), s);
  const Handle total = reduce(kName, Op::sum, e, {-1}, keepdims, s);
  const Handle sum_or_one = where(kName, binary(kName, Op::equal, total, number(0), s), number(1), total, s);
  // Dividing the result instead of the weights takes fewer divisions.
  const Handle out = detail::matmul(kName, e, v, s);
  return Tensor(whole.result(cast(binary(kName, Op::divide, out, sum_or_one, s), t, s)));
}

}  // namespace lazy
