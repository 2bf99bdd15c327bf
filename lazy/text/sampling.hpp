// Draws tokens from a model's scores.
//
//   Tensor ids = lazy::text::sample(logits, {.temperature = 0.8, .top_p = 0.95});     // (N, V) -> (N)
//
// It is recorded and reads nothing on the host, so it runs where the scores are computed and fuses with them.
// Temperatures, bounds and penalties are arguments of a program: other ones compile nothing, as long as the
// same ones are in use.
#pragma once
#include <cstdint>
#include <optional>

#include "lazy/core/tensor.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::text {

/// Says how a token is drawn. What is at its default has no effect. Penalties come first, then temperature,
/// then bounds, in this order, each among the tokens that the one before left.
struct Sampling {
  double temperature = 1;  // scores are divided by it; 0: greedy
  bool greedy = false;     // the token of the largest score; bounds and temperature have no effect
  int64_t top_k = 0;       // only so many tokens of the largest scores, and those that equal the last; 0: all
  double top_p = 1;        // only the most probable ones whose probabilities together reach it, one at least
  double min_p = 0;        // only those of at least this part of the largest probability
  double repetition_penalty = 1;  // scores of tokens in the history are divided by it, or multiplied below 0
  double frequency_penalty = 0;   // subtracted for each time that a token is in the history
  double presence_penalty = 0;    // subtracted once for a token in the history
};

/// Returns how often each token is in a history: ids (N, T), negative ones of which count as none, to (N, V)
/// float32. ShapeError for another number of dimensions, DtypeError for ids that are no integers.
Tensor token_counts(const Tensor& ids, int64_t vocab_size, Site s = Site::current());

/// Returns scores (N, V) after penalties, temperature and bounds, float32: -inf for tokens that are never
/// drawn. `counts` as token_counts() gives them, (N, V). ShapeError for scores that are no (N, V) with V > 0,
/// for other counts, and for top_k < 0; Error for temperature < 0, top_p out of (0, 1], min_p out of [0, 1],
/// repetition_penalty <= 0, any that is no number, and for penalties without counts.
Tensor filter_scores(const Tensor& logits, const Sampling& options, const std::optional<Tensor>& counts = {},
                     Site s = Site::current());

/// Draws a token for each row of scores (N, V): (N) int64. Row i of a generator's draw is the same whatever
/// the other rows hold. Errors as filter_scores() has them.
Tensor sample(Generator&, const Tensor& logits, const Sampling& options = {},
              const std::optional<Tensor>& counts = {}, Site s = Site::current());
/// Draws likewise from the default generator.
Tensor sample(const Tensor& logits, const Sampling& options = {}, const std::optional<Tensor>& counts = {},
              Site s = Site::current());

}  // namespace lazy::text
