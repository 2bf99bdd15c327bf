#include "lazy/text/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/ordering.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"
#include "support/error.hpp"

namespace lazy::text {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_greedy(const Sampling& o) { return o.greedy || o.temperature == 0; }
bool has_penalties(const Sampling& o) {
  return o.repetition_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0;
}

void check(const Shape& shape, const Sampling& o, const std::optional<Tensor>& counts, const Site& s) {
  const auto fail = [&](const std::string& what) { throw Error("sample: " + what, s); };
  if (shape.size() != 2 || shape[1] == 0)
    throw ShapeError("sample: expected scores (N, V), found " + to_string(shape), s);
  if (counts && counts->shape(s) != shape)
    throw ShapeError("sample: expected counts " + to_string(shape) + ", found " + to_string(counts->shape(s)),
                     s);
  if (o.top_k < 0)
    throw ShapeError("sample: top_k is " + std::to_string(o.top_k) + ", expected 0 or more", s);
  if (!(o.temperature >= 0)) fail("temperature is " + std::to_string(o.temperature) + ", expected 0 or more");
  if (!(o.top_p > 0 && o.top_p <= 1))
    fail("top_p is " + std::to_string(o.top_p) + ", expected above 0, and 1 at most");
  if (!(o.min_p >= 0 && o.min_p <= 1)) fail("min_p is " + std::to_string(o.min_p) + ", expected 0 to 1");
  if (!(o.repetition_penalty > 0))
    fail("repetition_penalty is " + std::to_string(o.repetition_penalty) + ", expected above 0");
  if (!std::isfinite(o.frequency_penalty) || !std::isfinite(o.presence_penalty))
    fail("a penalty is no finite number");
  if (has_penalties(o) && !counts)
    fail("penalties need counts of the tokens before: token_counts() makes them");
}

Tensor penalised(Tensor x, const Sampling& o, const std::optional<Tensor>& counts) {
  if (!has_penalties(o)) return x;
  const Tensor seen = *counts > 0;
  if (o.repetition_penalty != 1)
    x = where(seen, where(x < 0, x * o.repetition_penalty, x / o.repetition_penalty), x);
  if (o.frequency_penalty != 0) x = x - *counts * o.frequency_penalty;
  if (o.presence_penalty != 0) x = x - where(seen, o.presence_penalty, 0.0);
  return x;
}

/// Returns the lowest score that is kept in each row, (N, 1).
Tensor threshold(const Tensor& x, const Sampling& o) {
  const int64_t all = x.size(1), k = o.top_k == 0 ? all : std::min(o.top_k, all);
  const Tensor largest = max(x, {1}, keepdims);
  if (o.top_k == 0 && o.top_p == 1) return largest + std::log(o.min_p);  // nothing has to be sorted
  const Tensor sorted = topk(x, k, 1).values;
  if (o.top_p == 1) {
    const Tensor last = sorted(_, slice(k - 1, k));
    return o.min_p == 0 ? last : maximum(last, largest + std::log(o.min_p));
  }
  const Tensor weights = exp(sorted - largest);
  const Tensor until = cumsum(weights, {1});
  // Kept are those before which the others do not reach top_p yet: the first is one of them.
  const Tensor kept = until - weights < until(_, slice(k - 1, k)) * o.top_p;
  const Tensor last = min(where(kept, sorted, kInfinity), {1}, keepdims);
  return o.min_p == 0 ? last : maximum(last, largest + std::log(o.min_p));
}

bool has_bounds(const Sampling& o) { return o.top_k > 0 || o.top_p < 1 || o.min_p > 0; }

Tensor filtered(const Tensor& logits, const Sampling& o, const std::optional<Tensor>& counts) {
  Tensor x = penalised(logits.astype(float32), o, counts);
  if (is_greedy(o)) return x;
  if (o.temperature != 1) x = x / o.temperature;
  return has_bounds(o) ? where(x >= threshold(x, o), x, -kInfinity) : x;
}

}  // namespace

Tensor token_counts(const Tensor& ids, int64_t vocab_size, Site s) {
  const Shape shape = ids.shape(s);
  if (shape.size() != 2) throw ShapeError("token_counts: expected ids (N, T), found " + to_string(shape), s);
  const Tensor counted = (ids >= 0).astype(float32);
  return scatter_add(zeros({shape[0], vocab_size}, float32, ids.device(s), s), 1, {maximum(ids, 0), s},
                     counted);
}

Tensor filter_scores(const Tensor& logits, const Sampling& options, const std::optional<Tensor>& counts,
                     Site s) {
  check(logits.shape(s), options, counts, s);
  return filtered(logits, options, counts);
}

Tensor sample(Generator& generator, const Tensor& logits, const Sampling& options,
              const std::optional<Tensor>& counts, Site s) {
  check(logits.shape(s), options, counts, s);
  const Tensor x = filtered(logits, options, counts);
  if (is_greedy(options)) return argmax(x, {1});
  // The first token at which the sum of probabilities exceeds a random part of the whole.
  const Tensor until = cumsum(exp(x - max(x, {1}, keepdims)).astype(float64), {1});
  const int64_t v = x.size(1);
  constexpr double kBelow = 1 - 0x1p-40;  // the product stays below the whole when it is rounded
  const Tensor drawn =
      rand(generator, {x.size(0), 1}, float64, x.device(s), s) * (until(_, slice(v - 1, v)) * kBelow);
  return sum((until <= drawn).astype(int64), {1});
}

Tensor sample(const Tensor& logits, const Sampling& options, const std::optional<Tensor>& counts, Site s) {
  return sample(default_generator(), logits, options, counts, s);
}

}  // namespace lazy::text
