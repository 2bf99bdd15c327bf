#include "lazy/nn/functional/varlen_attention.hpp"

#include <cmath>
#include <limits>

#include "jit/backend/registry.hpp"
#include "jit/built_in/nn/varlen_attention.hpp"
#include "lazy/autograd/second_derivatives.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/ops/float8.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {

using namespace detail;
using jit::calls::VarlenAttributes;
constexpr const char* kVarlen = "scaled_dot_product_attention";

// An attention over sequences is an intention; operands and outputs are those of the call
// (jit/built_in/nn/varlen_attention.hpp). Where a backend has no kernel for that, it is made of ops, and a
// score is computed for each query and each key of all sequences.
enum VarlenOperand : size_t { kQ, kK, kV, kScale, kQOffsets, kKOffsets, kExtra };

/// Records an attention of ops. Heads come first: (G, H / G, T, S).
struct AttentionOfOps {
  const jit::Expanding& e;
  Recorder r{kVarlen, e.site};
  VarlenAttributes how = e.spec.as<VarlenAttributes>();
  int64_t rows = e[kQ]->shape[0], heads = e[kQ]->shape[1], sequences = e[kQOffsets]->shape[0] - 1;
  int64_t groups = e[kV]->shape[how.paged ? 2 : 1], shared = heads / groups;
  Handle never = r.number(-std::numeric_limits<double>::infinity(), e[kQ]->dtype);

  Handle product(const Handle& a, const Handle& b) const { return detail::matmul(kVarlen, a, b, r.site); }
  Handle transposed(const Handle& h) const { return detail::matrix_transpose(h, r.site); }
  Handle gathered(const Handle& h, const Handle& index) const {
    return take(r.arg(h), r.arg(index), 0, Bounds::clip).handle();
  }
  Handle first(const Handle& offsets) const { return r.part(offsets, 0, 0, sequences); }
  Handle lengths(const Handle& offsets) const {
    return r.op(Op::subtract, r.part(offsets, 0, 1, sequences), first(offsets));
  }
  /// Returns the sequence of each row.
  Handle sequence_of(const Handle& offsets, int64_t n) const {
    const Handle ends = r.reshape(r.part(offsets, 0, 1, sequences), {1, sequences});
    const Handle at = r.index(0, {n, sequences}, offsets);
    return r.reduce(Op::sum, r.as(int64, r.op(Op::less_equal, ends, at)), {1});
  }

  /// Holds keys and values as (G, 1, S, .), and of each key its sequence and its place in that.
  struct Keys {
    Handle k, v, sequence, place;
    Handle there;   // false for rows that are no keys; empty if all are
    Handle finite;  // (G, 1, 1, S): false for keys that are not finite, or have such values
  };
  Handle split(const Handle& h) const {
    return r.reshape(r.permute(h, {1, 0, 2}), {groups, 1, h->shape[0], h->shape[2]});
  }
  /// Returns the keys with 0 in the place of what is not finite: it must show in no result of a query that
  /// doesn't see it. Scores of those that do are NaN.
  Keys keys() const {
    Keys all = how.paged ? keys_of_pages() : keys_of_sequences();
    const auto clean = [&](Handle& h) {
      const Handle finite = r.op(Op::isfinite, h);
      h = r.where(finite, h, 0);
      const Handle every = r.reduce(Op::all, finite, {-1}, keepdims);
      all.finite = all.finite ? r.both(all.finite, every) : every;
    };
    clean(all.k), clean(all.v);
    all.finite = transposed(all.finite);
    return all;
  }
  Keys keys_of_sequences() const {
    const Handle& offsets = e[kKOffsets];
    const int64_t n = e[kK]->shape[0];
    const Handle sequence = sequence_of(offsets, n);
    return {split(e[kK]), split(e[kV]),
            sequence,     r.op(Op::subtract, r.index(0, {n}, offsets), gathered(first(offsets), sequence)),
            Handle(),     Handle()};
  }
  Keys keys_of_pages() const {
    const Handle& table = e[kExtra + how.sloped];
    const int64_t blocks = e[kK]->shape[0], page = e[kK]->shape[1], pages = table->shape[1];
    const Shape each{sequences, pages, page}, all{sequences * pages * page};
    const Handle in_block = r.index(2, each, table), block = r.index(1, each, table);
    const Handle place = r.op(Op::add, r.op(Op::multiply, block, page), in_block);
    const Handle there = r.op(Op::less, place, r.reshape(e[kKOffsets], {sequences, 1, 1}));
    const Handle at =
        r.op(Op::add, r.op(Op::multiply, r.reshape(table, {sequences, pages, 1}), page), in_block);
    const Handle row = r.reshape(r.where(there, at, 0), all);
    const auto rows_of = [&](const Handle& h, size_t scales) {
      Handle rows = gathered(r.reshape(h, {blocks * page, groups, h->shape[3]}), row);
      if (how.scaled) {
        rows = h->dtype == uint8 ? from_float8(r.arg(rows)).handle() : r.as(float32, rows);
        const Handle& all_scales = e[static_cast<size_t>(how.operands()) - 2 + scales];
        const Handle scale = gathered(r.reshape(all_scales, {blocks * page, groups, 1}), row);
        rows = r.op(Op::multiply, rows, scale);
      }
      return split(r.as(e[kQ]->dtype, rows));
    };
    return {rows_of(e[kK], 0),     rows_of(e[kV], 1),     r.reshape(r.index(0, each, table), all),
            r.reshape(place, all), r.reshape(there, all), Handle()};
  }
  Handle queries() const {
    return r.permute(r.reshape(r.op(Op::multiply, e[kQ], e[kScale]), {rows, groups, shared, e[kQ]->shape[2]}),
                     {1, 2, 0, 3});
  }
  /// Returns (G, H / G, T, n) as (T, H, n).
  Handle joined(const Handle& h) const {
    return r.reshape(r.permute(h, {2, 0, 1, 3}), {rows, heads, h->shape[3]});
  }
  /// Returns (T, H, n) as (G, H / G, T, n).
  Handle divided(const Handle& h) const {
    return r.permute(r.reshape(h, {rows, groups, shared, h->shape[2]}), {1, 2, 0, 3});
  }

  /// Holds scores, and which of them count.
  struct Scores {
    Handle x, seen;
  };
  Scores scores(const Keys& keys) const {
    const Handle& offsets = e[kQOffsets];
    const int64_t n = keys.place->shape[0];
    const Handle sequence = sequence_of(offsets, rows);
    const Handle key_count = how.paged ? e[kKOffsets] : lengths(e[kKOffsets]);
    const Handle before = r.op(Op::subtract, key_count, lengths(offsets));
    const Handle own = r.op(Op::subtract, r.index(0, {rows}, offsets), gathered(first(offsets), sequence));
    const Handle place = r.reshape(r.op(Op::add, own, gathered(before, sequence)), {rows, 1});
    const Handle key_place = r.reshape(keys.place, {1, n});
    Handle seen = r.op(Op::equal, r.reshape(sequence, {rows, 1}), r.reshape(keys.sequence, {1, n}));
    const Handle distance = r.op(Op::subtract, place, key_place), far = r.op(Op::abs, distance);
    if (keys.there) seen = r.both(seen, r.reshape(keys.there, {1, n}));
    if (how.causal) seen = r.both(seen, r.op(Op::less_equal, key_place, place));
    if (how.window) seen = r.both(seen, r.op(Op::less, far, ScalarNumber(int64_t{how.window})));
    Handle x = product(queries(), transposed(keys.k));
    if (how.sloped)
      x = r.op(Op::subtract, x,
               r.op(Op::multiply, r.reshape(e[kExtra], {groups, shared, 1, 1}), r.as(x->dtype, far)));
    x = r.where(keys.finite, x, std::numeric_limits<double>::quiet_NaN());
    return {r.where(seen, x, never), seen};
  }

  std::vector<Handle> forward() const {
    const Keys k = keys();
    const Handle x = scores(k).x;
    if (k.place->shape[0] == 0)
      return {r.filled(0, x->dtype, {rows, heads, e[kV]->shape.back()}, x),
              r.filled(std::numeric_limits<double>::infinity(), x->dtype, {rows, heads}, x)};
    const Handle top = r.reduce(Op::max, x, {-1}, keepdims);
    const Handle finite = r.where(r.op(Op::isfinite, top), top, 0);
    const Handle weights = r.op(Op::exp, r.op(Op::subtract, x, finite));
    const Handle sum = r.reduce(Op::sum, weights, {-1}, keepdims), none = r.op(Op::equal, sum, 0);
    const Handle lse =
        r.where(none, std::numeric_limits<double>::infinity(), r.op(Op::add, finite, r.op(Op::log, sum)));
    const Handle y = r.op(Op::divide, product(weights, k.v), r.where(none, 1, sum));
    return {joined(y), r.reshape(joined(lse), {rows, heads})};
  }

  /// Gives the derivative as attention without padding has it: with p the weights over their total, that of a
  /// score is p (gradient of p - sum(gradient y)).
  std::vector<Handle> backward() const {
    const auto own = static_cast<size_t>(how.operands());
    const Handle &y = e[own], &lse = e[own + 1], &g = e[own + 2];
    const Keys k = keys();
    const Scores s = scores(k);
    const Handle p = r.op(Op::exp, r.op(Op::subtract, s.x, divided(r.reshape(lse, {rows, heads, 1}))));
    const Handle grad = divided(g);
    const Handle along = divided(r.reduce(Op::sum, r.op(Op::multiply, g, y), {-1}, keepdims));
    const Handle d = r.op(Op::multiply, p, r.op(Op::subtract, product(grad, transposed(k.v)), along));
    const auto of_keys = [&](const Handle& h) {
      const Handle sum = r.reduce(Op::sum, h, {1});
      return r.permute(sum, {1, 0, 2});
    };
    return {joined(r.op(Op::multiply, product(d, k.k), e[kScale])),
            of_keys(product(transposed(d), queries())), of_keys(product(transposed(p), grad))};
  }
};

std::vector<Handle> expand_varlen(const jit::Expanding& e) {
  const jit::CallSpec& call = jit::intern_call(jit::calls::kVarlenAttention, e.spec.as<VarlenAttributes>());
  if (runs_here(e.backend, call)) return detail::record_call(call, e.operands, e.site);
  return AttentionOfOps{e}.forward();
}
std::vector<Handle> expand_varlen_gradients(const jit::Expanding& e) {
  const jit::CallSpec& call =
      jit::intern_call(jit::calls::kVarlenAttentionBackward, e.spec.as<VarlenAttributes>());
  if (runs_here(e.backend, call)) return detail::record_call(call, e.operands, e.site);
  return AttentionOfOps{e}.backward();
}

std::vector<Handle> varlen_second_derivatives(const jit::CallGradients& d) {
  const auto own = static_cast<size_t>(d.spec.as<VarlenAttributes>().operands());
  const size_t by[] = {kQ, kK, kV, own + 2};  // the last one is the gradient of the result
  return differentiate_gradients(d, by, [&](std::vector<Handle> all) {
    jit::Backend& backend = jit::backend_of(all[kQ]->device, d.site);
    const auto of_ops = [&](size_t operands) {
      const std::vector<const Handle*> p = pointers_to(std::span(all).first(operands));
      const jit::Expanding e{d.spec, p, backend, backend.preferences(), d.site};
      return operands == own ? AttentionOfOps{e}.forward() : AttentionOfOps{e}.backward();
    };
    const std::vector<Handle> results = of_ops(own);
    all[own] = results[0], all[own + 1] = results[1];
    return of_ops(all.size());
  });
}

constinit const jit::CallDefinition kVarlenGradients{.name = "scaled_dot_product_attention.varlen_gradient",
                                                     .traits = jit::call_trait::kNoThrow,
                                                     .infer = jit::calls::infer_varlen_attention_backward,
                                                     .expand = expand_varlen_gradients,
                                                     .vjp = varlen_second_derivatives};

std::vector<Handle> varlen_derivatives(const jit::CallGradients& d) {
  const auto how = d.spec.as<VarlenAttributes>();
  if (how.paged) fail<Error>(kVarlen, "keys in blocks have no derivative", d.site);
  if (how.sloped && d.wants(kExtra)) fail<Error>(kVarlen, "slopes have no derivative", d.site);
  std::vector<const Handle*> operands = pointers_to(d.operands);
  for (const Handle& h : d.outputs) operands.push_back(&h);
  operands.push_back(&d.gradients[0]);
  std::vector<Handle> g = detail::record_call(jit::intern_call(kVarlenGradients, how), operands, d.site);
  std::vector<Handle> all(d.operands.size());
  for (const size_t i : {kQ, kK, kV})
    if (d.wants(i)) all[i] = std::move(g[i]);
  return all;
}

constinit const jit::CallDefinition kVarlenIntention{.name = "scaled_dot_product_attention.varlen",
                                                     .traits = jit::call_trait::kNoThrow,
                                                     .infer = jit::calls::infer_varlen_attention,
                                                     .expand = expand_varlen,
                                                     .vjp = varlen_derivatives};

/// Names what the keys and values of an attention are.
struct Attended {
  const Tensor &key, &value;
  const Tensor& ends;  // offsets, or the lengths where there is a table
  const Tensor& table;
  const Tensor &key_scales, &value_scales;
};

/// Checks and records an attention.
Ragged attend(const Ragged& query, const Attended& to, const VarlenOptions& o, const Site& s) {
  const Recorder r{kVarlen, s};
  const Arg q(query.values, s), k(to.key, s), v(to.value, s);
  const Tensor& table = to.table;
  const bool scaled = to.key_scales.defined();
  if (scaled != to.value_scales.defined()) r.fail<Error>("keys and values have scales, or neither");
  const DType t = scaled ? contraction_type(kVarlen, {&q}) : contraction_type(kVarlen, {&q, &k, &v});
  if (!is_float(t)) r.fail<DtypeError>(std::string("takes floating-point numbers, not ") + name_of(t));
  const DType work = is_half(t) ? float32 : t;
  const auto operand = [&](const Arg& a) { return r.as(work, Operand(kVarlen, a, t).take()); };
  // Blocks that are stored in fewer bits are read as they are.
  const auto blocks = [&](const Arg& a) {
    if (work != float32 || !jit::calls::is_stored(a.handle()->dtype, scaled)) {
      if (scaled)
        r.fail<DtypeError>(
            std::string("with scales, keys and values are int8 or uint8 beside queries of up to "
                        "32 bits, not ") +
            name_of(a.handle()->dtype));
      return operand(a);
    }
    return Operand(kVarlen, a).take();
  };
  const auto key_operand = [&](const Arg& a) { return table.defined() ? blocks(a) : operand(a); };
  const Handle qh = operand(q), kh = key_operand(k), vh = key_operand(v);
  const Shape &qs = qh->shape, &ks = kh->shape, &vs = vh->shape;
  const int rank = table.defined() ? 4 : 3;
  const auto misfit = [&](const char* why) {
    r.fail<ShapeError>("query " + to_string(qs) + ", key " + to_string(ks) + " and value " + to_string(vs) +
                       ": " + why);
  };
  if (qs.size() != 3) misfit("queries are (total, heads, features)");
  if (ks.size() != rank || vs.size() != rank)
    misfit(rank == 4 ? "keys and values are (blocks, rows, heads, features)"
                     : "keys and values are (total, heads, features)");
  for (int i = 0; i + 1 < rank; ++i)
    if (ks[i] != vs[i]) misfit("not as many values as keys");
  if (qs[2] != ks.back()) misfit("queries and keys differ in their last extent");
  if (ks[rank - 2] <= 0 || qs[1] % ks[rank - 2] != 0) misfit("heads of keys don't divide those of queries");
  const auto integers = [&](const char* what, const Tensor& x, const Shape& shape) {
    Handle h = Operand(kVarlen, Arg(x, s)).take();
    if (!is_int(h->dtype)) r.fail<DtypeError>(std::string(what) + " are integers, not " + name_of(h->dtype));
    if (h->shape != shape)
      r.fail<ShapeError>(std::string(what) + " " + to_string(h->shape) + " instead of " + to_string(shape));
    return r.as(int64, h);
  };
  const Shape ends = query.offsets.shape(s);
  if (ends.size() != 1 || ends[0] < 1) r.fail<ShapeError>("offsets " + to_string(ends) + " are not (N + 1)");
  const int64_t n = ends[0] - 1;
  const double by =
      o.scale ? *o.scale : in_default_mode([&] { return 1 / std::sqrt(static_cast<double>(qs[2])); });
  if (o.window < 0 || o.window > std::numeric_limits<int32_t>::max())
    r.fail<Error>("a window of " + std::to_string(o.window.value));
  std::vector<Handle> all{qh, kh, vh, constant(by, work, {}, s), integers("offsets", query.offsets, {n + 1})};
  all.push_back(table.defined() ? integers("lengths", to.ends, {n}) : integers("offsets", to.ends, {n + 1}));
  if (o.slopes.defined()) {
    if (o.slopes.shape(s) != Shape{qs[1]})
      r.fail<ShapeError>("slopes " + to_string(o.slopes.shape(s)) + " for " + std::to_string(qs[1]) +
                         " heads");
    all.push_back(stored_as(kVarlen, Arg(o.slopes, s), work));
  }
  if (table.defined()) {
    const Shape shape = table.shape(s);
    if (shape.size() != 2) r.fail<ShapeError>("a table " + to_string(shape) + " is not (N, M)");
    all.push_back(integers("tables", table, {n, shape[1]}));
  }
  if (scaled)
    for (const Tensor* const scales : {&to.key_scales, &to.value_scales}) {
      if (scales->shape(s) != Shape{ks[0], ks[1], ks[2]})
        r.fail<ShapeError>("scales " + to_string(scales->shape(s)) + " for keys " + to_string(ks));
      all.push_back(stored_as(kVarlen, Arg(*scales, s), float32));
    }
  const VarlenAttributes how{.causal = o.causal,
                             .paged = table.defined(),
                             .sloped = o.slopes.defined(),
                             .scaled = scaled,
                             .window = static_cast<int32_t>(o.window.value)};
  const Handle y = detail::record_call(jit::intern_call(kVarlenIntention, how), pointers_to(all), s)[0];
  return {Tensor(r.as(t, y)), query.offsets};
}

}  // namespace

Ragged scaled_dot_product_attention(const Ragged& query, const Ragged& key, const Ragged& value,
                                    const VarlenOptions& o, Site s) {
  return attend(query, {key.values, value.values, key.offsets, {}, {}, {}}, o, s);
}
Ragged scaled_dot_product_attention(const Ragged& query, const PagedKeys& keys, const VarlenOptions& o,
                                    Site s) {
  return attend(query, {keys.keys, keys.values, keys.lengths, keys.table, keys.key_scales, keys.value_scales},
                o, s);
}

}  // namespace lazy
