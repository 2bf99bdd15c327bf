#include "lazy/text/generate_text.hpp"

#include <algorithm>

#include "lazy/autograd/backward.hpp"
#include "lazy/text/stop_texts.hpp"
#include "support/error.hpp"

namespace lazy::text {
namespace {

/// Holds a text while it is written.
class Text {
 public:
  Text(const Tokenizer& tokenizer, const TextOptions& o)
      : stream_(tokenizer), stops_(o.stop), on_text_(o.on_text) {}
  /// Takes a token; returns whether it goes on.
  bool take(int64_t id, const Site& s) { return pass(stops_.add(stream_.step(id, s))) && !stops_.found(); }
  /// Passes on what is left.
  void finish(const Site& s) {
    std::string rest = stops_.add(stream_.finish(s));
    rest += stops_.finish();
    if (!rest.empty()) pass(rest);
  }
  bool stopped() const { return stops_.found(); }
  std::string text;

 private:
  bool pass(const std::string& added) {
    text += added;
    return !on_text_ || on_text_(added);
  }
  DecodeStream stream_;
  StopTexts stops_;
  const std::function<bool(std::string_view)>& on_text_;
};

std::vector<int64_t> checked_prompt(const CausalModel& model, const Tokenizer& tokenizer,
                                    std::string_view prompt, const TextOptions& o, const Site& s) {
  const auto fail = [&](const std::string& what) { throw Error("generate_text: " + what, s); };
  for (const std::string& stop : o.stop)
    if (stop.empty()) fail("a text of stop is empty");
  if (o.beams < 1) fail("beams is " + std::to_string(o.beams) + ", expected 1 or more");
  if (o.max_new_tokens < 0)
    fail("max_new_tokens is " + std::to_string(o.max_new_tokens) + ", expected 0 or more");
  std::vector<int64_t> ids = tokenizer.encode(prompt, {.special_tokens = o.special_tokens}, s).ids;
  if (ids.empty() && tokenizer.bos(s)) ids.push_back(*tokenizer.bos(s));
  if (ids.empty()) fail("the prompt has no tokens, expected one at least");
  for (const int64_t id : ids)
    if (id >= model.vocab_size())
      fail("the tokenizer has a token " + std::to_string(id) + ", and the model scores of " +
           std::to_string(model.vocab_size()) + " tokens: they don't belong together");
  if (static_cast<int64_t>(ids.size()) > model.positions())
    throw ShapeError("generate_text: the prompt has " + std::to_string(ids.size()) +
                         " tokens, and the model positions for " + std::to_string(model.positions()),
                     s);
  return ids;
}

/// Returns the tokens that end a text.
std::vector<int64_t> ends_of(const CausalModel& model, const Tokenizer& tokenizer, const Site& s) {
  std::vector<int64_t> ends = model.ends();
  if (const auto eos = tokenizer.eos(s)) ends.push_back(*eos);
  return ends;
}

void draw(const Step& step, const std::vector<int64_t>& prompt, std::vector<int64_t> ends,
          const TextOptions& o, int64_t most, Text& text, GeneratedText& out, const Site& s) {
  const auto on_token = [&](int64_t, int64_t id) { return text.take(id, s); };
  Generated g = generate(step, {prompt},
                         {.sampling = o.sampling,
                          .max_new_tokens = most,
                          .stop_tokens = std::move(ends),
                          .generator = o.generator,
                          .on_token = on_token},
                         s);
  out.tokens = std::move(g.tokens[0]);
  out.finish = g.finish[0];
}

/// Leaves a search that has no text yet.
struct Ended {};

void follow_beams(const Step& step, models::KeyValueCache& cache, const std::vector<int64_t>& prompt,
                  const std::vector<int64_t>& ends, const TextOptions& o, int64_t most, Text& text,
                  GeneratedText& out, const Site& s) {
  const auto reorder = [&](const Tensor& rows) {
    if (o.on_text && !o.on_text({})) throw Ended{};
    cache.reorder(rows, s);
  };
  const auto beams = beam_search(
      step, reorder, prompt,
      {.beams = o.beams, .max_new_tokens = most, .length_penalty = o.length_penalty, .stop_tokens = ends}, s);
  if (beams.empty()) return;
  for (const int64_t id : beams[0].tokens) {
    const bool ends_it = std::find(ends.begin(), ends.end(), id) != ends.end();
    if (ends_it) out.finish = Finish::stop_token;
    if (ends_it) return;
    out.tokens.push_back(id);
    if (text.take(id, s)) continue;
    out.finish = Finish::callback;
    return;
  }
}

}  // namespace

GeneratedText generate_text(const CausalModel& model, const Tokenizer& tokenizer, std::string_view prompt,
                            const TextOptions& o, Site s) {
  const std::vector<int64_t> ids = checked_prompt(model, tokenizer, prompt, o, s);
  const no_grad scope;
  const auto before = static_cast<int64_t>(ids.size());
  // The last token's scores are not asked for, so it needs no position of its own.
  const int64_t most = std::min(o.max_new_tokens, model.positions() - before + 1);
  models::KeyValueCache cache = model.cache(o.beams, before + std::max<int64_t>(most - 1, 0), s);
  const Step step = [&](const Tensor& t, int64_t) { return model.next_scores(Arg(t, s), cache); };
  GeneratedText out;
  out.prompt_tokens = before;
  Text text(tokenizer, o);
  std::vector<int64_t> ends = ends_of(model, tokenizer, s);
  if (o.beams > 1) try {
      follow_beams(step, cache, ids, ends, o, most, text, out, s);
    } catch (const Ended&) { out.finish = Finish::callback; }
  else draw(step, ids, std::move(ends), o, most, text, out, s);
  text.finish(s);
  if (text.stopped()) out.finish = Finish::stop_sequence;
  out.text = std::move(text.text);
  return out;
}

}  // namespace lazy::text
