#include "lazy/nn/modules/attention.hpp"

#include <cmath>
#include <limits>

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/functional/padding.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {
namespace {

using lazy::detail::fail;
constexpr const char* kMultihead = "MultiheadAttention";

/// Returns the bound of xavier_uniform_ for a matrix.
double xavier(int64_t rows, int64_t columns) { return std::sqrt(6.0 / static_cast<double>(rows + columns)); }

/// True if the two are one value.
bool same(const Tensor& a, const Tensor& b) { return a.handle().get() == b.handle().get(); }

/// Throws ShapeError unless the shape is (..., extent), of `rank` dimensions.
void check(const char* what, const Shape& shape, int rank, int64_t extent, const Site& s) {
  if (shape.size() != rank || shape[rank - 1] != extent)
    fail<ShapeError>(kMultihead,
                     std::string(what) + " " + to_string(shape) + ": " + std::to_string(rank) +
                         " dimensions are expected, the last of extent " + std::to_string(extent),
                     s);
}

}  // namespace

MultiheadAttention::MultiheadAttention(IntegerArg embed_dim, IntegerArg num_heads,
                                       const MultiheadAttentionOptions& o, Site s)
    : out_proj(embed_dim, embed_dim, {o.bias, o.dtype, o.device, o.generator}, s),
      embed_dim_(embed_dim),
      heads_(num_heads),
      kdim_(o.kdim > 0 ? o.kdim.value : embed_dim.value),
      vdim_(o.vdim > 0 ? o.vdim.value : embed_dim.value),
      dropout_(o.dropout),
      batch_first_(o.batch_first),
      zero_attn_(o.add_zero_attn) {
  if (heads_ <= 0 || embed_dim_ <= 0 || embed_dim_ % heads_ != 0)
    fail<ShapeError>(
        kMultihead,
        std::to_string(heads_) + " heads don't divide an embed_dim of " + std::to_string(embed_dim_), s);
  if (!(dropout_ >= 0 && dropout_ <= 1))
    fail<Error>(kMultihead, "dropout is a probability, not " + std::to_string(dropout_), s);
  const detail::Fresh fresh(o, s);
  const int64_t e = embed_dim_;
  if (kdim_ == e && vdim_ == e) {
    in_proj_weight = fresh.uniform({3 * e, e}, xavier(3 * e, e));
  } else {
    q_proj_weight = fresh.uniform({e, e}, xavier(e, e));
    k_proj_weight = fresh.uniform({e, kdim_}, xavier(e, kdim_));
    v_proj_weight = fresh.uniform({e, vdim_}, xavier(e, vdim_));
  }
  if (o.bias) {
    in_proj_bias = fresh.constant({3 * e}, 0);
    out_proj.bias = fresh.constant({e}, 0);
  }
  if (!o.add_bias_kv) return;
  const double deviation = std::sqrt(2.0 / static_cast<double>(2 * e));
  bias_k = Parameter(fresh.normal({1, 1, e}) * deviation);
  bias_v = Parameter(fresh.normal({1, 1, e}) * deviation);
}

MultiheadAttention::Operands MultiheadAttention::project(const Tensor& query, const Tensor& key,
                                                         const Tensor& value, const Site& s) const {
  const int64_t e = embed_dim_;
  const auto third = [&](const Tensor& all, int64_t i) {
    return all.defined() ? all(slice(i * e, (i + 1) * e)) : Tensor();
  };
  const Tensor w = in_proj_weight, b = in_proj_bias;  // read once, if they are computed from parts
  if (w.defined() && same(query, key) && same(key, value)) {
    const Tensor all = linear(Arg(query, s), w, b);  // one product for all three
    const auto part = [&](int64_t i) { return all(ellipsis, slice(i * e, (i + 1) * e)); };
    return {part(0), part(1), part(2)};
  }
  const auto weight = [&](int64_t i, const Tensor& own) { return w.defined() ? third(w, i) : own; };
  return {linear(Arg(query, s), weight(0, q_proj_weight), third(b, 0)),
          linear(Arg(key, s), weight(1, k_proj_weight), third(b, 1)),
          linear(Arg(value, s), weight(2, v_proj_weight), third(b, 2))};
}

void MultiheadAttention::extend(Operands& x, const Site& s) const {
  const Shape one{x.k.size(0, s), 1, embed_dim_};
  if (bias_k.defined()) {
    x.k = concat({x.k, bias_k.expand(one, s)}, 1, s);
    x.v = concat({x.v, bias_v.expand(one, s)}, 1, s);
  }
  if (zero_attn_) {
    x.k = concat({x.k, zeros(one, x.k.dtype(s), x.k.device(s), s)}, 1, s);
    x.v = concat({x.v, zeros(one, x.v.dtype(s), x.v.device(s), s)}, 1, s);
  }
}

Tensor MultiheadAttention::mask(const AttentionOptions& o, const Operands& x, bool as_bool,
                                const Site& s) const {
  const int64_t n = x.q.size(0, s), queries = x.q.size(1, s), keys = x.k.size(1, s);
  const int64_t added = (bias_k.defined() ? 1 : 0) + (zero_attn_ ? 1 : 0);
  const DType t = x.q.dtype(s);
  const double never = -std::numeric_limits<double>::infinity();
  Tensor sum;
  const auto take = [&](Tensor m) {
    if (added) m = pad(Arg(m, s), {0, added});
    if (as_bool) m = logical_not(Arg(m, s));
    else if (is_bool(m.dtype(s)))
      m = where(Arg(m, s), Arg(ScalarNumber(never), s), Arg(zeros({}, t, x.q.device(s), s), s));
    sum = !sum.defined() ? m : as_bool ? logical_and(Arg(sum, s), m) : sum + m;
  };
  if (o.key_padding_mask.defined()) {
    Tensor m = o.key_padding_mask;
    if (m.ndim(s) == 1) m = unsqueeze(Arg(m, s), 0);
    if (m.shape(s) != Shape{n, keys - added})
      fail<ShapeError>(kMultihead,
                       "a key_padding_mask " + to_string(o.key_padding_mask.shape(s)) + " instead of " +
                           to_string(Shape{n, keys - added}),
                       s);
    take(reshape(Arg(m, s), {n, 1, 1, keys - added}));
  }
  if (o.attn_mask.defined()) {
    const Shape& shape = o.attn_mask.shape(s);
    const Shape flat{queries, keys - added}, full{n * heads_, queries, keys - added};
    if (shape != flat && shape != full)
      fail<ShapeError>(
          kMultihead,
          "an attn_mask " + to_string(shape) + " instead of " + to_string(flat) + " or " + to_string(full),
          s);
    const Tensor& m = o.attn_mask;
    take(shape == full ? reshape(Arg(m, s), {n, heads_, queries, keys - added}) : m);
  }
  return sum;
}

AttentionOutput MultiheadAttention::operator()(Arg query, Arg key, Arg value,
                                               const AttentionOptions& o) const {
  const Site s = query.site();
  const auto tensor = [](Arg& a) { return Tensor(lazy::detail::Operand(kMultihead, a).take()); };
  Tensor in[3] = {tensor(query), tensor(key), tensor(value)};
  const int rank = in[0].ndim(s);
  if (rank != 2) check("the query", in[0].shape(s), 3, embed_dim_, s);
  check("the query", in[0].shape(s), rank, embed_dim_, s);
  check("the key", in[1].shape(s), rank, kdim_, s);
  check("the value", in[2].shape(s), rank, vdim_, s);
  const bool self = same(in[0], in[1]) && same(in[1], in[2]);
  for (int i = 0; i < 3; ++i) {
    if (i && self) in[i] = in[0];
    else if (rank == 2) in[i] = unsqueeze(Arg(in[i], s), 0);
    else if (!batch_first_) in[i] = swapaxes(Arg(in[i], s), 0, 1);
  }
  const Shape &ks = in[1].shape(s), &vs = in[2].shape(s), &qs = in[0].shape(s);
  if (ks[0] != qs[0] || vs[0] != qs[0] || ks[1] != vs[1])
    fail<ShapeError>(kMultihead,
                     "query " + to_string(qs) + ", key " + to_string(ks) + " and value " + to_string(vs) +
                         " (batch, length, features) differ in batch or length",
                     s);
  Operands x = project(in[0], in[1], in[2], s);
  extend(x, s);
  const int64_t n = qs[0], length = qs[1], width = embed_dim_ / heads_;
  const auto split = [&](const Tensor& t) {
    return permute(Arg(reshape(Arg(t, s), {n, t.size(1, s), heads_, width}), s), {0, 2, 1, 3});
  };
  const Tensor q = split(x.q), k = split(x.k), v = split(x.v);
  const auto has = [&](const Tensor& m) { return m.defined(); };
  const auto boolean = [&](const Tensor& m) { return !has(m) || is_bool(m.dtype(s)); };
  const bool dropped = training() && dropout_ > 0;
  const bool fused = !o.need_weights && !dropped;
  const Tensor m = mask(o, x, fused && boolean(o.key_padding_mask) && boolean(o.attn_mask), s);
  Tensor joined, weights;
  if (fused) {
    joined = scaled_dot_product_attention(Arg(q, s), k, v, m, o.is_causal);
  } else {
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    Tensor scores = matmul(Arg(q * scale, s), swapaxes(Arg(k, s), 2, 3));
    if (has(m)) scores = scores + m;
    if (o.is_causal) {
      const Tensor rows = arange(length).reshape({length, 1}), columns = arange(k.size(2, s));
      scores = where(Arg(columns <= rows, s), scores, -std::numeric_limits<double>::infinity());
    }
    weights = softmax(Arg(scores, s), -1);
    if (dropped) weights = dropout(Arg(weights, s), dropout_, true);
    joined = matmul(Arg(weights, s), v);
    if (o.average_attn_weights) weights = mean(Arg(weights, s), 1);
    if (!o.need_weights) weights = {};
    else if (rank == 2) weights = squeeze(Arg(weights, s), 0);
  }
  joined = reshape(Arg(permute(Arg(joined, s), {0, 2, 1, 3}), s), {n, length, embed_dim_});
  Tensor out = out_proj(Arg(joined, s));
  if (rank == 2) out = squeeze(Arg(out, s), 0);
  else if (!batch_first_) out = swapaxes(Arg(out, s), 0, 1);
  return {out, weights};
}

Ragged MultiheadAttention::operator()(const Ragged& query, const Ragged& key, const Ragged& value,
                                      const VarlenOptions& o, Site s) const {
  if (training() && dropout_ > 0)
    fail<Error>(kMultihead, "weights of sequences without padding are not dropped: eval(), or a dropout of 0",
                s);
  if (bias_k.defined() || zero_attn_)
    fail<Error>(kMultihead, "add_bias_kv and add_zero_attn need padded sequences", s);
  check("the query", query.values.shape(s), 2, embed_dim_, s);
  check("the key", key.values.shape(s), 2, kdim_, s);
  check("the value", value.values.shape(s), 2, vdim_, s);
  const Operands x = project(query.values, key.values, value.values, s);
  const auto split = [&](const Ragged& of, const Tensor& t) {
    return of.with(Arg(reshape(Arg(t, s), {t.size(0, s), heads_, embed_dim_ / heads_}), s));
  };
  const Ragged joined =
      scaled_dot_product_attention(split(query, x.q), split(key, x.k), split(value, x.v), o, s);
  const Tensor rows = reshape(Arg(joined.values, s), {joined.values.size(0, s), embed_dim_});
  return query.with(Arg(out_proj(Arg(rows, s)), s));
}

}  // namespace lazy::nn
