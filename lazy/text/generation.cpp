#include "lazy/text/generation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/indexing/indexing.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/ordering.hpp"
#include "lazy/ops/views.hpp"
#include "support/error.hpp"

namespace lazy::text {
namespace {

/// Returns the scores behind the last of the ids, (N, V).
Tensor last_scores(const Step& step, const Tensor& ids, int64_t position, const char* op, const Site& s) {
  const Tensor logits = step(ids, position);
  const Shape shape = logits.shape(s), given = ids.shape(s);
  if (shape.size() != 3 || shape[0] != given[0] || (shape[1] != given[1] && shape[1] != 1))
    throw ShapeError(std::string(op) + ": for ids " + to_string(given) + " the step returned scores " +
                         to_string(shape) + ", expected (N, T, V) or (N, 1, V)",
                     s);
  return reshape(logits(_, slice(shape[1] - 1, shape[1])), {shape[0], shape[2]});
}

bool contains(const std::vector<int64_t>& all, int64_t id) {
  return std::find(all.begin(), all.end(), id) != all.end();
}

void check_options(const std::vector<std::vector<int64_t>>& prompts, const GenerateOptions& o,
                   const Site& s) {
  const auto fail = [&](const std::string& what) { throw Error("generate: " + what, s); };
  if (prompts.empty()) fail("there are no prompts");
  for (size_t i = 0; i < prompts.size(); ++i)
    if (prompts[i].empty()) fail("prompt " + std::to_string(i) + " is empty, expected a token at least");
  for (const auto& sequence : o.stop_sequences)
    if (sequence.empty()) fail("a stop sequence is empty");
  if (o.max_new_tokens < 0)
    fail("max_new_tokens is " + std::to_string(o.max_new_tokens) + ", expected 0 or more");
}

/// Holds what has been written, and what comes next.
class Writing {
 public:
  Writing(const std::vector<std::vector<int64_t>>& prompts, const GenerateOptions& options)
      : prompts_(prompts), options_(options), open_(prompts.size(), true), left_(prompts.size()) {
    out.tokens.resize(prompts.size());
    out.finish.resize(prompts.size(), Finish::length);
    if (options.max_new_tokens == 0) left_ = 0;
  }
  bool any_open() const { return left_ > 0; }
  /// Takes the tokens that were drawn for place `at`, and puts in their place the prompts' where these go on.
  void take(std::vector<int64_t>& drawn, size_t at) {
    for (size_t i = 0; i < prompts_.size(); ++i)
      if (at < prompts_[i].size()) drawn[i] = prompts_[i][at];
      else if (open_[i]) write(i, drawn[i]);
  }
  Generated out;

 private:
  void end(size_t i, Finish why) {
    out.finish[i] = why;
    open_[i] = false;
    --left_;
  }
  void write(size_t i, int64_t id) {
    if (contains(options_.stop_tokens, id)) return end(i, Finish::stop_token);
    auto& tokens = out.tokens[i];
    tokens.push_back(id);
    if (options_.on_token && !options_.on_token(static_cast<int64_t>(i), id)) return end(i, Finish::callback);
    for (const auto& stop : options_.stop_sequences)
      if (stop.size() <= tokens.size() && std::equal(stop.rbegin(), stop.rend(), tokens.rbegin()))
        return end(i, Finish::stop_sequence);
    if (static_cast<int64_t>(tokens.size()) == options_.max_new_tokens) end(i, Finish::length);
  }
  const std::vector<std::vector<int64_t>>& prompts_;
  const GenerateOptions& options_;
  std::vector<bool> open_;
  size_t left_;  // how many sequences go on
};

bool needs_counts(const Sampling& o) {
  return o.repetition_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0;
}

}  // namespace

Generated generate(const Step& step, const std::vector<std::vector<int64_t>>& prompts,
                   const GenerateOptions& options, Site s) {
  check_options(prompts, options, s);
  const auto n = static_cast<int64_t>(prompts.size());
  size_t shared = prompts[0].size();
  for (const auto& prompt : prompts) shared = std::min(shared, prompt.size());
  std::vector<int64_t> next;
  for (const auto& prompt : prompts)
    next.insert(next.end(), prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(shared));
  Generator& generator = options.generator ? *options.generator : default_generator();
  Writing writing(prompts, options);
  std::optional<Tensor> counts;
  size_t position = 0;
  while (writing.any_open()) {
    const auto width = static_cast<int64_t>(next.size()) / n;
    const Tensor ids = from_span(next, {n, width}, {}, s);
    const Tensor scores = last_scores(step, ids, static_cast<int64_t>(position), "generate", s);
    if (needs_counts(options.sampling)) {
      const Tensor more = token_counts(ids, scores.size(1, s), s);
      counts = counts ? *counts + more : more;
    }
    position += static_cast<size_t>(width);
    next = sample(generator, scores, options.sampling, counts, s).to_vector<int64_t>(s);
    writing.take(next, position);
  }
  return std::move(writing.out);
}

namespace {

/// Holds continuations while they are followed, and those that ended.
struct Beams {
  std::vector<Beam> open, ended;
  std::vector<int64_t> rows;  // which of the last ones each open one goes on from
  const BeamOptions& options;

  double divided(double sum, size_t length) const {
    return sum / std::pow(static_cast<double>(length), options.length_penalty);
  }
  /// Takes the best continuations: their sums of log probabilities, best first, and places (beam V + token).
  void take(const std::vector<float>& sums, const std::vector<int64_t>& places, int64_t vocabulary) {
    std::vector<Beam> next;
    rows.clear();
    const auto beams = static_cast<size_t>(options.beams);
    for (size_t i = 0; i < places.size() && next.size() < beams; ++i) {
      if (!(sums[i] > -std::numeric_limits<float>::infinity())) break;
      const int64_t row = places[i] / vocabulary, id = places[i] % vocabulary;
      Beam beam{open[static_cast<size_t>(row)].tokens, sums[i]};
      beam.tokens.push_back(id);
      if (!contains(options.stop_tokens, id)) {
        next.push_back(std::move(beam));
        rows.push_back(row);
      } else if (i < beams) {
        beam.score = divided(beam.score, beam.tokens.size());
        ended.push_back(std::move(beam));
      }
    }
    open = std::move(next);
    keep_best();
  }
  void keep_best() {
    std::stable_sort(ended.begin(), ended.end(),
                     [](const Beam& a, const Beam& b) { return a.score > b.score; });
    if (ended.size() > static_cast<size_t>(options.beams)) ended.resize(static_cast<size_t>(options.beams));
  }
  /// Returns whether an open one can still become one of the best.
  bool goes_on() const {
    if (open.empty()) return false;
    if (ended.size() < static_cast<size_t>(options.beams)) return true;
    const size_t now = open[0].tokens.size(), longest = static_cast<size_t>(options.max_new_tokens);
    const double best = std::max(divided(open[0].score, now), divided(open[0].score, longest));
    return best > ended.back().score;
  }
};

}  // namespace

std::vector<Beam> beam_search(const Step& step, const Reorder& reorder, const std::vector<int64_t>& prompt,
                              const BeamOptions& options, Site s) {
  if (options.beams < 1)
    throw Error("beam_search: beams is " + std::to_string(options.beams) + ", expected 1 or more", s);
  if (prompt.empty()) throw Error("beam_search: the prompt is empty, expected a token at least", s);
  if (options.max_new_tokens < 0)
    throw Error(
        "beam_search: max_new_tokens is " + std::to_string(options.max_new_tokens) + ", expected 0 or more",
        s);
  const int64_t n = options.beams;
  Beams beams{{Beam{}}, {}, {}, options};
  std::vector<int64_t> next;
  for (int64_t i = 0; i < n; ++i) next.insert(next.end(), prompt.begin(), prompt.end());
  int64_t position = 0;
  for (int64_t done = 0; done < options.max_new_tokens && beams.goes_on(); ++done) {
    const int64_t width = static_cast<int64_t>(next.size()) / n;
    const Tensor scores = last_scores(step, from_span(next, {n, width}, {}, s), position, "beam_search", s);
    position += width;
    // Rows that no continuation stands in count for nothing: at first all but one.
    std::vector<float> before(static_cast<size_t>(n), -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < beams.open.size(); ++i) before[i] = static_cast<float>(beams.open[i].score);
    const int64_t vocabulary = scores.size(1, s), most = std::min(2 * n, n * vocabulary);
    const Tensor sums = log_softmax(scores.astype(float32), 1) + from_span(before, {n, 1}, {}, s);
    const Sorted best = topk(reshape(sums, {n * vocabulary}), most);
    best.values.eval(s);
    beams.take(best.values.to_vector<float>(s), best.indices.to_vector<int64_t>(s), vocabulary);
    beams.rows.resize(static_cast<size_t>(n), 0);
    next.assign(static_cast<size_t>(n), 0);
    for (size_t i = 0; i < beams.open.size(); ++i) next[i] = beams.open[i].tokens.back();
    reorder(from_span(beams.rows, {}, s));
  }
  for (Beam& beam : beams.open) {
    beam.score = beam.tokens.empty() ? 0 : beams.divided(beam.score, beam.tokens.size());
    beams.ended.push_back(std::move(beam));
  }
  beams.keep_best();
  return std::move(beams.ended);
}

}  // namespace lazy::text
