#include "lazy/nn/functional/attention.hpp"

#include <cmath>
#include <limits>

#include "lazy/ops/recorder.hpp"
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

/// Holds what the gradients of an attention are made of: they read no scores.
struct Kept {
  Handle sees;            // true for keys that a query sees; null: it sees all
  Handle scaled;          // the queries times the factor
  Handle weights, total;  // exp(score - largest), 0 for keys that are not seen, and its sum for each query
  double factor;
};

/// Gives the derivative of softmax(scores) values: with p the weights over their total, the gradient of a
/// score is p (gradient of p - sum(p gradient of p)), and that sum is the one of gradient and result (Dao et
/// al., 2022). Weights are not divided, but the gradient is.
std::vector<Handle> derivatives(const Kept& kept, const Differentiated& d) {
  const Recorder r{kName, d.site};
  std::vector<Handle> g(4);
  const Handle &k = d.operands[1], &v = d.operands[2], &mask = d.operands[3];
  const DType work = v->dtype;
  const auto product = [&](const Handle& a, const Handle& b) { return detail::matmul(kName, a, b, d.site); };
  // Gradients of hidden scores are 0. With +0 added to sums of them -0 is no more a result than where what is
  // hidden is left out (jit/plan/tiling/skips.hpp).
  const auto zero = [&] { return constant(0, work, {}, d.site); };
  const auto sums = [&](const Handle& a, const Handle& b) {
    return kept.sees ? r.op(Op::add, product(a, b), zero()) : product(a, b);
  };
  const auto transposed = [&](const Handle& h) { return detail::matrix_transpose(h, d.site); };
  const Handle share = r.op(Op::divide, r.as(work, d.gradient), kept.total);
  if (d.wants(2)) g[2] = product(transposed(kept.weights), share);
  const bool mask_wanted = mask && is_float(mask->dtype) && d.wants(3);
  if (!d.wants(0) && !d.wants(1) && !mask_wanted) return g;
  // A result of 16 bits is rounded, so it is made again; within one flush it is the same.
  const Handle y = d.result->dtype == work ? d.result : r.op(Op::divide, sums(kept.weights, v), kept.total);
  const Handle along = r.reduce(Op::sum, r.op(Op::multiply, share, y), {-1}, keepdims);
  Handle scores = r.op(Op::multiply, kept.weights, r.op(Op::subtract, product(share, transposed(v)), along));
  if (kept.sees) scores = where(kName, kept.sees, scores, zero(), d.site);
  if (d.wants(0)) g[0] = r.op(Op::multiply, sums(scores, k), kept.factor);
  if (d.wants(1)) g[1] = product(transposed(scores), kept.scaled);
  if (mask_wanted) g[3] = scores;
  return g;
}

}  // namespace

Tensor scaled_dot_product_attention(Arg query, Arg key, Arg value, const MaybeTensor& mask, bool causal,
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
  if (mask.handle()) {
    const Handle& m = mask.handle();
    if (broadcast_shapes(kName, x->shape, m->shape, s) != x->shape)
      fail<ShapeError>(kName, "a mask " + to_string(m->shape) + " for scores " + to_string(x->shape), s);
    if (!is_bool(m->dtype)) x = binary(kName, Op::add, x, stored_as(kName, Arg(m, s), work), s);
  }
  const Handle never = number(-std::numeric_limits<double>::infinity());
  // On a GPU scores that are hidden are -infinity, and all of this is one kernel (jit/ir/attention.hpp).
  // Elsewhere they are left out of exp as well, which is slow where its result is near 0.
  const bool fused = x->device.kind == DeviceKind::cuda;
  Handle sees;
  const auto hide = [&](const Handle& all_but) {
    if (fused) x = where(kName, all_but, x, never, s);
    else sees = sees ? binary(kName, Op::bitwise_and, sees, all_but, s) : all_but;
  };
  if (mask.handle() && is_bool(mask.handle()->dtype)) hide(mask.handle());
  if (causal)
    hide(binary(kName, Op::less_equal, numbers(keys, false, x->device, s),
                numbers(length, true, x->device, s), s));
  const auto seen = [&](const Handle& h, const Handle& other) {
    return sees ? where(kName, sees, h, other, s) : h;
  };
  if (keys == 0) return Tensor(whole.result(cast(detail::matmul(kName, x, v, s), t, s)));
  const Handle top = reduce(kName, Op::max, seen(x, never), {-1}, keepdims, s);
  const Handle finite = where(kName, unary(Op::isfinite, top, s), top, number(0), s);
  const Handle zero = number(0);
  const Handle e = seen(unary(Op::exp, seen(binary(kName, Op::subtract, x, finite, s), zero), s), zero);
  const Handle total = reduce(kName, Op::sum, e, {-1}, keepdims, s);
  const Handle sum_or_one = where(kName, binary(kName, Op::equal, total, zero, s), number(1), total, s);
  // Dividing the result instead of the weights takes fewer divisions.
  Handle out = detail::matmul(kName, e, v, s);
  // With +0 added, -0 is no more a result than where hidden keys are left out (jit/plan/tiling/skips.hpp).
  if (sees) out = binary(kName, Op::add, out, zero, s);
  const Handle scaled = scale_first ? left : binary(kName, Op::multiply, q, number(factor), s);
  return Tensor(whole.result(cast(binary(kName, Op::divide, out, sum_or_one, s), t, s),
                             [kept = Kept{fused ? Handle() : sees, scaled, e, sum_or_one, factor}](
                                 const Differentiated& d) { return derivatives(kept, d); }));
}

}  // namespace lazy
