#include "lazy/nn/functional/attention.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/built_in/nn/varlen_attention.hpp"
#include "jit/calls/call.hpp"
#include "lazy/autograd/second_derivatives.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/core/policy.hpp"
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

// An attention is an intention (jit/calls/call.hpp). Its operands are queries, keys and values, of one dtype,
// the factor of the scores, of the dtype that it is computed in, and the mask, if there is one. Outputs
// beside the result: the weights, exp(score - largest), 0 for keys that are not seen, their total for each
// query, and the logarithm of the sum of exponentials, inf where no key is seen. Gradients are made of them,
// and read no scores: where a backend goes through attention block by block, of the last one, and no weights
// are in memory, else of the others.
enum OperandOf : size_t { kQuery, kKey, kValue, kFactor, kMask };
enum OutputOf : size_t { kAttentionResult, kAttentionWeights, kAttentionTotal, kAttentionSum };
// The gradients' operands are those, then these; its outputs are the gradients of the first three and, where
// there is a mask, of the scores.
enum OfGradients : size_t { kOfResult, kOfWeights, kOfTotal, kOfSum, kGradient };

struct AttentionAttributes {
  uint8_t causal = 0, masked = 0;
  uint8_t of_ops = 0;  // of gradients: 1 if they are differentiated in turn
  size_t operands() const { return masked ? kMask + 1 : kMask; }
};

Shape without_matrix(Shape s) {
  s.resize(s.size() - 2);
  return s;
}
Shape with_matrix(Shape s, int64_t rows, int64_t columns) {
  s.push_back(rows);
  s.push_back(columns);
  return s;
}
/// Returns the shape of a product of the leading axes of two, (..., rows, columns).
Shape product_shape(const Shape& a, const Shape& b, int64_t rows, int64_t columns) {
  const Shape x = without_matrix(a), y = without_matrix(b);
  return with_matrix(x == y ? x : broadcast_shapes(kName, x, y, Site{}), rows, columns);
}

std::vector<jit::CallOutput> infer_attention(const jit::CallSpec&, std::span<const jit::Meta> o) {
  const Shape &q = o[kQuery].shape, &k = o[kKey].shape, &v = o[kValue].shape;
  const int64_t queries = q[q.size() - 2];
  const DType work = o[kFactor].dtype;
  const Shape scores = product_shape(q, k, queries, k[k.size() - 2]);
  return {{{o[kQuery].dtype, product_shape(scores, v, queries, v.back())}, {}},
          {{work, scores}, {}},
          {{work, with_matrix(without_matrix(scores), queries, 1)}, {}},
          {{work, with_matrix(without_matrix(scores), queries, 1)}, {}}};
}

std::vector<jit::CallOutput> infer_attention_gradients(const jit::CallSpec& spec,
                                                       std::span<const jit::Meta> o) {
  const auto how = spec.as<AttentionAttributes>();
  const size_t own = how.operands();
  const Shape &q = o[kQuery].shape, &k = o[kKey].shape, &v = o[kValue].shape;
  const Shape leading = without_matrix(o[own + kGradient].shape);
  const int64_t queries = q[q.size() - 2], keys = k[k.size() - 2];
  std::vector<jit::CallOutput> all;
  for (const Shape& s : {with_matrix(leading, queries, q.back()), with_matrix(leading, keys, k.back()),
                         with_matrix(leading, keys, v.back())})
    all.push_back({{o[kFactor].dtype, s}, {}});
  if (how.masked) all.push_back({{o[kFactor].dtype, with_matrix(leading, queries, keys)}, {}});
  return all;
}

/// Returns the queries times the factor.
Handle scaled(const Recorder& r, const jit::Expanding& e) {
  return r.op(Op::multiply, r.as(e[kFactor]->dtype, e[kQuery]), e[kFactor]);
}

/// Says which keys a query sees: those for which both are true. An empty handle is true for all keys.
struct Sees {
  Handle mask, order;
  explicit operator bool() const { return mask || order; }
  Handle both(const Recorder& r) const { return mask && order ? r.both(mask, order) : mask ? mask : order; }
  /// Returns `h` for keys that are seen, else `other`. One after the other: kernels read the mask and know
  /// the order, where what is true for both would be made in memory first.
  Handle choose(const Recorder& r, Handle h, const Handle& other) const {
    for (const Handle& seen : {mask, order})
      if (seen) h = r.where(seen, h, other);
    return h;
  }
};
Sees sees(const Recorder& r, const jit::Expanding& e, int64_t queries, int64_t keys) {
  const auto how = e.spec.as<AttentionAttributes>();
  Sees seen;
  if (how.masked && is_bool(e[kMask]->dtype)) seen.mask = e[kMask];
  if (!how.causal) return seen;
  const Device device = e[kQuery]->device;
  seen.order =
      r.op(Op::less_equal, numbers(keys, false, device, r.site), numbers(queries, true, device, r.site));
  return seen;
}

std::vector<Handle> expand_attention(const jit::Expanding& e) {
  const Recorder r{kName, e.site};
  const auto how = e.spec.as<AttentionAttributes>();
  const DType t = e[kQuery]->dtype, work = e[kFactor]->dtype;
  const auto product = [&](const Handle& a, const Handle& b) { return detail::matmul(kName, a, b, r.site); };
  const Handle q = r.as(work, e[kQuery]), k = r.as(work, e[kKey]), v = r.as(work, e[kValue]);
  // Scaling queries takes fewer products than scaling scores. But 16-bit floats are multiplied unscaled.
  const bool scale_first = !is_half(t);
  Handle x = product(scale_first ? scaled(r, e) : q, detail::matrix_transpose(k, r.site));
  if (!scale_first) x = r.op(Op::multiply, x, e[kFactor]);
  if (how.masked && !is_bool(e[kMask]->dtype)) x = r.op(Op::add, x, r.as(work, e[kMask]));
  const Handle never = r.number(-std::numeric_limits<double>::infinity(), work);
  Sees seen_keys = sees(r, e, q->shape[q->shape.size() - 2], k->shape[k->shape.size() - 2]);
  // Where all of this is one kernel (jit/ir/attention.hpp), scores that are hidden are -infinity. Elsewhere
  // they are left out of exp as well, which is slow where its result is near 0.
  if (seen_keys && e.prefers.fuses_softmax) x = r.where(std::exchange(seen_keys, {}).both(r), x, never);
  const auto seen = [&](const Handle& h, const Handle& other) { return seen_keys.choose(r, h, other); };
  const Handle top = r.reduce(Op::max, seen(x, never), {-1}, keepdims);
  const Handle finite = r.where(r.op(Op::isfinite, top), top, 0);
  const Handle zero = r.number(0, work);
  const Handle weights = seen(r.op(Op::exp, seen(r.op(Op::subtract, x, finite), zero)), zero);
  const Handle sum = r.reduce(Op::sum, weights, {-1}, keepdims);
  const Handle total = r.where(r.op(Op::equal, sum, zero), 1, sum);
  // Values of 16 bits are multiplied in 16 bits, as queries and keys are: a weight is rounded for it, as
  // others' attentions of these dtypes do. A kernel for all of this has its own way (jit/ir/attention.hpp).
  const bool rounds = t == DType::bfloat16 && !e.prefers.fuses_softmax;
  // Dividing the result instead of the weights takes fewer divisions.
  Handle out = product(rounds ? r.as(work, r.as(t, weights)) : weights, v);
  // With +0 added, -0 is no more a result than where hidden keys are left out (jit/plan/tiling/skips.hpp).
  if (seen_keys) out = r.op(Op::add, out, zero);
  const Handle lse = r.where(r.op(Op::equal, sum, zero), std::numeric_limits<double>::infinity(),
                             r.op(Op::add, finite, r.op(Op::log, total)));
  return {r.as(t, r.op(Op::divide, out, total)), weights, total, lse};
}

/// Returns the call that goes back block by block, where there is one for this attention; null otherwise.
const jit::CallSpec* backward_by_blocks(const jit::Expanding& e) {
  const auto how = e.spec.as<AttentionAttributes>();
  const Handle &q = e[kQuery], &k = e[kKey], &v = e[kValue];
  const Shape &qs = q->shape, &ks = k->shape, &vs = v->shape;
  if (how.masked || how.of_ops || q->dtype != e[kFactor]->dtype || numel(qs) == 0 || numel(vs) == 0)
    return nullptr;
  if (without_matrix(qs) != without_matrix(ks) || without_matrix(qs) != without_matrix(vs)) return nullptr;
  if (how.causal && qs[qs.size() - 2] != ks[ks.size() - 2]) return nullptr;
  const jit::CallSpec& call = jit::intern_call(jit::calls::kVarlenAttentionBackward,
                                               jit::calls::VarlenAttributes{.causal = how.causal});
  return runs_here(e.backend, call) ? &call : nullptr;
}

/// Has each matrix of the leading axes be a sequence of one head.
std::vector<Handle> gradients_by_blocks(const jit::Expanding& e, const jit::CallSpec& call) {
  const Recorder r{kName, e.site};
  const size_t own = e.spec.as<AttentionAttributes>().operands();
  const int64_t count = numel(without_matrix(e[kQuery]->shape));
  const auto rows = [&](const Handle& h) {
    const Shape& s = h->shape;
    return r.reshape(h, {count * s[s.size() - 2], 1, s.back()});
  };
  const auto offsets = [&](const Handle& h) {
    return r.op(Op::multiply, r.index(0, {count + 1}, h), ScalarNumber(h->shape[h->shape.size() - 2]));
  };
  const Handle &q = e[kQuery], &k = e[kKey], &v = e[kValue];
  const Handle lse = r.reshape(e[own + kOfSum], {count * q->shape[q->shape.size() - 2], 1});
  const Handle all[] = {rows(q),
                        rows(k),
                        rows(v),
                        e[kFactor],
                        offsets(q),
                        offsets(k),
                        rows(e[own + kOfResult]),
                        lse,
                        rows(r.as(q->dtype, e[own + kGradient]))};
  std::vector<Handle> g = detail::record_call(call, pointers_to(all), e.site);
  return {r.reshape(g[0], q->shape), r.reshape(g[1], k->shape), r.reshape(g[2], v->shape)};
}

/// Gives the derivative of softmax(scores) values: with p the weights over their total, the gradient of a
/// score is p (gradient of p - sum(p gradient of p)), and that sum is the one of gradient and result (Dao et
/// al., 2022). Weights are not divided, but the gradient is.
std::vector<Handle> expand_attention_gradients(const jit::Expanding& e) {
  if (const jit::CallSpec* call = backward_by_blocks(e)) return gradients_by_blocks(e, *call);
  const Recorder r{kName, e.site};
  const size_t own = e.spec.as<AttentionAttributes>().operands();
  const DType t = e[kQuery]->dtype, work = e[kFactor]->dtype;
  const Handle &weights = e[own + kOfWeights], &total = e[own + kOfTotal];
  const Handle k = r.as(work, e[kKey]), v = r.as(work, e[kValue]);
  const auto product = [&](const Handle& a, const Handle& b) { return detail::matmul(kName, a, b, r.site); };
  const auto transposed = [&](const Handle& h) { return detail::matrix_transpose(h, r.site); };
  const Sees seen_keys = e.prefers.fuses_softmax
                             ? Sees()
                             : sees(r, e, weights->shape[weights->shape.size() - 2], weights->shape.back());
  // Gradients of hidden scores are 0. With +0 added to sums of them -0 is no more a result than where what is
  // hidden is left out.
  const auto sums = [&](const Handle& a, const Handle& b) {
    return seen_keys ? r.op(Op::add, product(a, b), 0) : product(a, b);
  };
  const Handle share = r.op(Op::divide, r.as(work, e[own + kGradient]), total);
  // A result of 16 bits is rounded, so it is made again; within one flush it is the same.
  const Handle y = t == work ? e[own + kOfResult] : r.op(Op::divide, sums(weights, v), total);
  const Handle along = r.reduce(Op::sum, r.op(Op::multiply, share, y), {-1}, keepdims);
  Handle scores = r.op(Op::multiply, weights, r.op(Op::subtract, product(share, transposed(v)), along));
  scores = seen_keys.choose(r, scores, r.number(0, work));
  std::vector<Handle> g{r.op(Op::multiply, sums(scores, k), e[kFactor]),
                        product(transposed(scores), scaled(r, e)), product(transposed(weights), share)};
  if (e.spec.as<AttentionAttributes>().masked) g.push_back(scores);
  return g;
}

std::vector<Handle> attention_second_derivatives(const jit::CallGradients& d);

constinit const jit::CallDefinition kAttentionGradients{.name = "scaled_dot_product_attention.gradient",
                                                        .traits = jit::call_trait::kNoThrow,
                                                        .infer = infer_attention_gradients,
                                                        .expand = expand_attention_gradients,
                                                        .vjp = attention_second_derivatives};

std::vector<Handle> attention_derivatives(const jit::CallGradients& d);

constinit const jit::CallDefinition kAttention{.name = kName,
                                               .traits = jit::call_trait::kNoThrow,
                                               .infer = infer_attention,
                                               .expand = expand_attention,
                                               .vjp = attention_derivatives};

std::vector<Handle> attention_derivatives(const jit::CallGradients& d) {
  const auto how = d.spec.as<AttentionAttributes>();
  std::vector<const Handle*> operands = pointers_to(d.operands);
  for (const Handle& h : d.outputs) operands.push_back(&h);
  operands.push_back(&d.gradients[kAttentionResult]);
  std::vector<Handle> g = detail::record_call(jit::intern_call(kAttentionGradients, how), operands, d.site);
  std::vector<Handle> all(d.operands.size());
  for (const size_t i : {kQuery, kKey, kValue})
    if (d.wants(i)) all[i] = std::move(g[i]);
  if (how.masked && is_float(d.operands[kMask]->dtype) && d.wants(kMask)) all[kMask] = std::move(g.back());
  return all;
}

std::vector<Handle> attention_second_derivatives(const jit::CallGradients& d) {
  auto how = d.spec.as<AttentionAttributes>();
  const size_t own = how.operands();
  std::vector<size_t> by{kQuery, kKey, kValue, own + kGradient};
  if (how.masked && is_float(d.operands[kMask]->dtype)) by.push_back(kMask);
  how.of_ops = 1;
  return differentiate_gradients(d, by, [&](std::vector<Handle> all) {
    const std::vector<Handle> results = detail::record_expanded(
        jit::intern_call(kAttention, how), pointers_to(std::span(all).first(own)), d.site);
    std::copy(results.begin(), results.end(), all.begin() + static_cast<ptrdiff_t>(own));
    return detail::record_expanded(jit::intern_call(kAttentionGradients, how), pointers_to(all), d.site);
  });
}

/// Computes attention whose heads of queries share those of keys, which are an axis of extent 1 more for
/// that.
Tensor grouped(Arg query, Arg key, Arg value, const MaybeTensor& mask, bool causal,
               std::optional<double> scale) {
  const Recorder r{kName, query.site()};
  const Handle q = Operand(kName, std::as_const(query)).take(), k = Operand(kName, std::as_const(key)).take(),
               v = Operand(kName, std::as_const(value)).take();
  const Shape &qs = q->shape, &ks = k->shape, &vs = v->shape;
  const auto head_axis = [](const Shape& shape) { return shape.size() - 3; };
  if (qs.size() < 3 || ks.size() < 3 || vs.size() < 3) mismatch(qs, ks, vs, "no axis of heads", r.site);
  const int64_t heads = qs[head_axis(qs)], groups = ks[head_axis(ks)];
  if (groups <= 0 || heads % groups != 0 || vs[head_axis(vs)] != groups)
    mismatch(qs, ks, vs, "heads of keys don't divide those of queries", r.site);
  const auto divided = [&](const Handle& h, int64_t outer) {
    const Shape& shape = h->shape;
    Shape parts;
    for (int i = 0; i < shape.size(); ++i) {
      if (i != head_axis(shape)) parts.push_back(shape[i]);
      else parts.push_back(outer), parts.push_back(shape[i] / outer);
    }
    return r.reshape(h, parts);
  };
  MaybeTensor own = mask;
  if (mask.handle() && mask.handle()->shape.size() >= 3) {
    const Handle& m = mask.handle();
    own = Tensor(divided(m, m->shape[head_axis(m->shape)] == 1 ? 1 : groups));
  }
  const Tensor y = scaled_dot_product_attention(r.arg(divided(q, groups)), r.arg(divided(k, groups)),
                                                r.arg(divided(v, groups)), own, causal, scale);
  Shape shape = y.shape(r.site);
  Shape joined;
  for (int i = 0; i < shape.size(); ++i) {
    if (i == shape.size() - 4) continue;
    joined.push_back(i == shape.size() - 3 ? heads : shape[i]);
  }
  return Tensor(r.reshape(y.handle(), joined));
}

}  // namespace

Tensor scaled_dot_product_attention(Arg query, Arg key, Arg value, const MaybeTensor& mask, bool causal,
                                    std::optional<double> scale, bool enable_gqa) {
  const Site& s = query.site();
  if (enable_gqa) return grouped(std::move(query), std::move(key), std::move(value), mask, causal, scale);
  const DType t = contraction_type(kName, {&query, &key, &value});
  if (!is_float(t))
    fail<DtypeError>(kName, std::string("takes floating-point numbers, not ") + name_of(t), s);
  const DType work = is_half(t) ? float32 : t;
  const Handle q = Operand(kName, query, t).take(), k = Operand(kName, key, t).take(),
               v = Operand(kName, value, t).take();
  const Shape &qs = q->shape, &ks = k->shape, &vs = v->shape;
  if (qs.size() < 2 || ks.size() < 2 || vs.size() < 2) mismatch(qs, ks, vs, "fewer than 2 dimensions", s);
  if (qs.back() != ks.back()) mismatch(qs, ks, vs, "queries and keys differ in their last extent", s);
  const int64_t length = qs[qs.size() - 2], keys = ks[ks.size() - 2];
  if (keys != vs[vs.size() - 2]) mismatch(qs, ks, vs, "not as many values as keys", s);
  Handle added;
  if (mask.handle()) {
    const Handle& m = mask.handle();
    const Shape scores = product_shape(qs, ks, length, keys);
    if (m->shape != scores && broadcast_shapes(kName, scores, m->shape, s) != scores)
      fail<ShapeError>(kName, "a mask " + to_string(m->shape) + " for scores " + to_string(scores), s);
    added = is_bool(m->dtype) ? m : stored_as(kName, Arg(m, s), work);
  }
  if (keys == 0) {
    const Recorder r{kName, s};
    Composite whole(kName, {&q, &k, &v}, s);
    const Handle x = detail::matmul(kName, r.as(work, q), detail::matrix_transpose(r.as(work, k), s), s);
    return Tensor(whole.result(r.as(t, detail::matmul(kName, x, r.as(work, v), s))));
  }
  check_devices(kName, {&q, &k, &v}, s);
  const double by =
      scale ? *scale : in_default_mode([&] { return 1 / std::sqrt(static_cast<double>(qs.back())); });
  const Handle factor = constant(by, work, {}, s);
  const Handle* const all[] = {&q, &k, &v, &factor, &added};
  const std::span<const Handle* const> operands(all, added ? 5 : 4);
  const AttentionAttributes how{.causal = causal, .masked = mask.defined()};
  return Tensor(detail::record_call(jit::intern_call(kAttention, how), operands, s)[kAttentionResult]);
}

}  // namespace lazy
