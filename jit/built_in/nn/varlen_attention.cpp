#include "jit/built_in/nn/varlen_attention.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

[[noreturn]] void unfit(const CallSpec& spec) {
  throw ShapeError(std::string(spec.name()) + ": shapes that don't fit each other");
}

/// Throws unless the first operands are an attention's.
VarlenAttributes check_attention(const CallSpec& spec, std::span<const Meta> o) {
  const auto a = spec.as<VarlenAttributes>();
  const auto own = static_cast<size_t>(a.operands());
  if (o.size() < own || a.causal > 1 || a.paged > 1 || a.sloped > 1 || a.scaled > a.paged || a.window < 0)
    unfit(spec);
  const Shape &q = o[0].shape, &k = o[1].shape, &v = o[2].shape;
  const int rank = a.paged ? 4 : 3;
  if (q.size() != 3 || k.size() != rank || v.size() != rank) unfit(spec);
  const size_t table = static_cast<size_t>(6 + a.sloped);
  for (size_t i = 0; i < o.size(); ++i) {
    const bool integer = i == 4 || i == 5 || (a.paged && i == table);
    const bool key = i == 1 || i == 2;
    if (key && a.paged && o[0].dtype == float32 && is_stored(o[i].dtype, a.scaled)) continue;
    if ((key && a.scaled) || o[i].dtype != (integer ? int64 : o[0].dtype))
      throw DtypeError(std::string(spec.name()) + ": operands of one dtype are needed, and int64 offsets");
  }
  if (o[0].dtype != float32 && o[0].dtype != float64)
    throw DtypeError(std::string(spec.name()) + ": float32 or float64 is needed");
  Shape rows = k;
  rows[rank - 1] = v.back();
  const int64_t groups = k[rank - 2];
  bool fits = rows == v && k.back() == q[2] && groups > 0 && q[1] % groups == 0;
  fits = fits && o[3].shape.empty() && o[4].shape.size() == 1 && o[4].shape[0] >= 1;
  if (!fits || o[5].shape.size() != 1 || o[5].shape[0] != o[4].shape[0] - a.paged) unfit(spec);
  if (a.sloped && o[6].shape != Shape{q[1]}) unfit(spec);
  const Shape scales{k[0], k[1], k[rank - 2]};
  if (a.scaled && (o[own - 2].shape != scales || o[own - 1].shape != scales)) unfit(spec);
  if (a.paged && (o[table].shape.size() != 2 || o[table].shape[0] != o[5].shape[0] || k[1] <= 0)) unfit(spec);
  return a;
}

}  // namespace

std::vector<CallOutput> infer_varlen_attention(const CallSpec& spec, std::span<const Meta> o) {
  if (o.size() != static_cast<size_t>(check_attention(spec, o).operands())) unfit(spec);
  const Shape& q = o[0].shape;
  return {{{o[0].dtype, {q[0], q[1], o[2].shape.back()}}, {}}, {{o[0].dtype, {q[0], q[1]}}, {}}};
}

std::vector<CallOutput> infer_varlen_attention_backward(const CallSpec& spec, std::span<const Meta> o) {
  const VarlenAttributes a = check_attention(spec, o);
  const auto own = static_cast<size_t>(a.operands());
  const Shape& q = o[0].shape;
  const Shape y{q[0], q[1], o[2].shape.back()};
  if (a.paged || o.size() != own + 3 || o[own].shape != y || o[own + 1].shape != Shape{q[0], q[1]} ||
      o[own + 2].shape != y)
    unfit(spec);
  return {CallOutput::like(0, o[0], o[0].dtype), CallOutput::like(1, o[1], o[0].dtype),
          CallOutput::like(2, o[2], o[0].dtype)};
}

namespace {

/// Calls query(sequence, query, head, place) for each row of the result.
template <class T, class F>
void each_query(const VarlenAttention<T>& a, F&& query) {
  for (int64_t n = 0; n < a.sequences; ++n)
    for (int64_t t = 0, count = a.queries(n); t < count; ++t)
      for (int64_t h = 0; h < a.heads; ++h) query(n, a.q_offsets[n] + t, h, a.keys(n) - count + t);
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T sum{0};
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
T score(const VarlenAttention<T>& a, int64_t n, int64_t t, int64_t h, int64_t place, int64_t j) {
  std::vector<T> spare;
  const T* const key = a.stored_k.row(a.row(n, j) * a.groups + h / a.shared(), spare);
  const T s = dot(a.q + (t * a.heads + h) * a.depth, key, a.depth) * a.factor;
  return a.slopes ? s - a.slopes[h] * static_cast<T>(std::abs(place - j)) : s;
}

template <class T>
void forward(const CallRun& r) {
  const VarlenAttention<T> a(r);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  each_query(a, [&](int64_t n, int64_t t, int64_t h, int64_t place) {
    const auto [first, end] = a.seen(place, a.keys(n));
    std::vector<T> x, y(static_cast<size_t>(a.width), T{0}), spare;
    T top = -kInfinity, total{0};
    for (int64_t j = first; j < end; ++j) {
      x.push_back(score(a, n, t, h, place, j));
      if (x.back() > top) top = x.back();
    }
    for (int64_t j = first; j < end; ++j) {
      const T s = x[static_cast<size_t>(j - first)];
      const T weight = s == -kInfinity ? T{0} : std::exp(s - (top == -kInfinity ? T{0} : top));
      const T* const value = a.stored_v.row(a.row(n, j) * a.groups + h / a.shared(), spare);
      total += weight;
      for (int64_t i = 0; i < a.width; ++i) y[static_cast<size_t>(i)] += weight * value[i];
    }
    const int64_t row = t * a.heads + h;
    if (T* const to = reinterpret_cast<T*>(r.out[0]))
      for (int64_t i = 0; i < a.width; ++i)
        to[row * a.width + i] = total == 0 ? T{0} : y[static_cast<size_t>(i)] / total;
    if (T* const to = reinterpret_cast<T*>(r.out[1]))
      to[row] = total == 0 ? kInfinity : top + std::log(total);
  });
}

template <class T>
void backward(const CallRun& r) {
  const VarlenAttention<T> a(r);
  const int own = a.how.operands();
  const auto in = [&](int i) { return reinterpret_cast<const T*>(r.in[own + i]); };
  const auto out = [&](size_t i, std::vector<T>& spare) {
    const auto count = static_cast<size_t>(numel(r.outputs[i].shape));
    T* to = reinterpret_cast<T*>(r.out[i]);
    if (!to) spare.resize(count), to = spare.data();
    std::fill_n(to, count, T{0});
    return to;
  };
  std::vector<T> spare[3];
  T *const dq = out(0, spare[0]), *const dk = out(1, spare[1]), *const dv = out(2, spare[2]);
  each_query(a, [&](int64_t n, int64_t t, int64_t h, int64_t place) {
    const auto [first, end] = a.seen(place, a.keys(n));
    const int64_t row = t * a.heads + h;
    const T *const query = a.q + row * a.depth, *const g = in(2) + row * a.width, lse = in(1)[row];
    const T along = dot(g, in(0) + row * a.width, a.width);
    for (int64_t j = first; j < end; ++j) {
      const int64_t other = a.row(n, j) * a.groups + h / a.shared();
      const T *const key = a.k + other * a.depth, *const value = a.v + other * a.width;
      const T weight = std::exp(score(a, n, t, h, place, j) - lse);
      const T d = weight * (dot(g, value, a.width) - along) * a.factor;
      for (int64_t i = 0; i < a.width; ++i) dv[other * a.width + i] += weight * g[i];
      for (int64_t i = 0; i < a.depth; ++i) {
        dq[row * a.depth + i] += d * key[i];
        dk[other * a.depth + i] += d * query[i];
      }
    }
  });
}

void run_attention(const CallRun& r) {
  check_sequences(r);
  r.operands[0].dtype == float32 ? forward<float>(r) : forward<double>(r);
}
void run_attention_backward(const CallRun& r) {
  check_sequences(r);
  r.operands[0].dtype == float32 ? backward<float>(r) : backward<double>(r);
}

std::string describe_varlen(std::string_view attributes) {
  VarlenAttributes a;
  if (attributes.size() != sizeof a) return "";
  std::memcpy(&a, attributes.data(), sizeof a);
  std::string text;
  const auto add = [&](bool holds, const std::string& what) {
    if (holds) text += (text.empty() ? "" : ", ") + what;
  };
  add(a.causal, "causal");
  add(a.window > 0, "window " + std::to_string(a.window));
  add(a.sloped, "slopes");
  add(a.paged, "paged");
  add(a.scaled, "scaled");
  return text;
}

}  // namespace

void check_sequences(const CallRun& r) {
  const auto how = r.spec.as<VarlenAttributes>();
  const auto wrong = [&](const std::string& what) {
    throw IndexError(std::string(r.function) + ": " + what, r.site);
  };
  const auto integers = [&](int i) { return reinterpret_cast<const int64_t*>(r.in[i]); };
  const int64_t n = r.operands[4].shape[0] - 1;
  const auto check_offsets = [&](const int64_t* offsets, int64_t rows, const char* of) {
    for (int64_t i = 0; i <= n; ++i)
      if (offsets[i] < (i ? offsets[i - 1] : 0) || offsets[i] > rows)
        wrong("offset " + std::to_string(i) + " of the " + of + " is " + std::to_string(offsets[i]) +
              ", after " + std::to_string(i ? offsets[i - 1] : 0) + ", of " + std::to_string(rows) + " rows");
    if (offsets[0] != 0 || offsets[n] != rows)
      wrong(std::string("offsets of the ") + of + " go from " + std::to_string(offsets[0]) + " to " +
            std::to_string(offsets[n]) + ", of " + std::to_string(rows) + " rows");
  };
  check_offsets(integers(4), r.operands[0].shape[0], "queries");
  const int64_t* const lengths = integers(5);
  if (!how.paged) return check_offsets(lengths, r.operands[1].shape[0], "keys");
  const int64_t* const table = integers(6 + how.sloped);
  const int64_t blocks = r.operands[1].shape[0], page = r.operands[1].shape[1],
                pages = r.operands[static_cast<size_t>(6 + how.sloped)].shape[1];
  for (int64_t i = 0; i < n; ++i) {
    if (lengths[i] < 0 || lengths[i] > pages * page)
      wrong("sequence " + std::to_string(i) + " has " + std::to_string(lengths[i]) + " keys, and room for " +
            std::to_string(pages * page));
    for (int64_t b = 0; b * page < lengths[i]; ++b)
      if (const int64_t at = table[i * pages + b]; at < 0 || at >= blocks)
        wrong("block " + std::to_string(b) + " of sequence " + std::to_string(i) + " is " +
              std::to_string(at) + ", of " + std::to_string(blocks));
  }
}

// Offsets that are out of range do throw, which costs what was overwritten before. Otherwise each step would
// copy the blocks that it adds keys to.
constinit const CallDefinition kVarlenAttention{.name = "varlen_attention",
                                                .traits = call_trait::kNoThrow,
                                                .infer = infer_varlen_attention,
                                                .run = run_attention,
                                                .describe = describe_varlen};
constinit const CallDefinition kVarlenAttentionBackward{.name = "varlen_attention_backward",
                                                        .traits = call_trait::kNoThrow,
                                                        .infer = infer_varlen_attention_backward,
                                                        .run = run_attention_backward,
                                                        .describe = describe_varlen};

}  // namespace lazy::jit::calls
