// Writes on, token by token, with any model that goes on where it stopped.
//
//   models::LlamaCache cache = llama.cache(1, 512);
//   auto step = [&](const Tensor& ids, int64_t) { return llama(ids, cache); };
//   auto out = lazy::text::generate(step, {tokenizer.encode("Once").ids}, {.max_new_tokens = 64});
//   std::string text = tokenizer.decode(out.tokens[0]);
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lazy/text/sampling.hpp"

namespace lazy::text {

/// Takes the next tokens of each sequence, ids (N, T) int64, and how many there were before; returns scores
/// (N, T, V) of what follows each, or (N, 1, V) of what follows the last. It remembers the tokens before, in
/// a cache.
using Step = std::function<Tensor(const Tensor& ids, int64_t position)>;

struct GenerateOptions {
  Sampling sampling = {};
  int64_t max_new_tokens = 128;           // of each sequence
  std::vector<int64_t> stop_tokens = {};  // end a sequence, and are no part of it
  std::vector<std::vector<int64_t>> stop_sequences =
      {};                          // end it when its new tokens end with one, which it keeps
  Generator* generator = nullptr;  // null: the default one
  // Is called for each new token, in order; returns whether its sequence goes on. Empty: all do.
  std::function<bool(int64_t sequence, int64_t id)> on_token = {};
};

enum class Finish : uint8_t { length, stop_token, stop_sequence, callback };

struct Generated {
  std::vector<std::vector<int64_t>> tokens;  // new ones of each sequence
  std::vector<Finish> finish;                // what ended each
};

/// Continues prompts. They may have different lengths: what all have is computed at once, then the rest of
/// the longer ones while the shorter ones go on already, so that nothing is padded. One flush a token. Error
/// for no prompts, an empty one, an empty stop sequence, and max_new_tokens below 0; ShapeError for scores
/// that are no (N, T, V).
Generated generate(const Step& step, const std::vector<std::vector<int64_t>>& prompts,
                   const GenerateOptions& options = {}, Site s = Site::current());

struct BeamOptions {
  int64_t beams = 4;  // how many continuations are followed
  int64_t max_new_tokens = 128;
  double length_penalty = 1;              // a sum of log probabilities is divided by the length to this power
  std::vector<int64_t> stop_tokens = {};  // end a continuation, and are its last token
};

struct Beam {
  std::vector<int64_t> tokens;  // new ones
  double score = 0;             // the sum of their log probabilities, divided as length_penalty says
};

/// Puts the state of sequence rows[i] in the place of sequence i's: rows (beams) int64.
using Reorder = std::function<void(const Tensor& rows)>;

/// Follows the most probable continuations of a prompt, and returns those of the best scores, best first:
/// `beams` at most. `step` is called with that many sequences. One flush a token. Errors as generate() has
/// them, and for fewer than one beam.
std::vector<Beam> beam_search(const Step& step, const Reorder& reorder, const std::vector<int64_t>& prompt,
                              const BeamOptions& options = {}, Site s = Site::current());

}  // namespace lazy::text
