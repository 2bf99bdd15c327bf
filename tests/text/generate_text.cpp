// Tests texts that models write: small ones of random weights, and one of which transformers says what it
// writes.
#include "lazy/text/generate_text.hpp"

#include "lazy/lazy.hpp"
#include "lazy/text/stop_texts.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

const std::filesystem::path kGolden = LAZY_SOURCE_DIR "/tests/golden";

const text::Tokenizer& tokenizer() {
  static const auto& t = *new text::Tokenizer(text::load_tokenizer(kGolden / "text" / "gpt2.json"));
  return t;
}

models::GPT2 small_gpt2(int64_t positions = 64) {
  manual_seed(3);
  models::GPT2 m({.vocab_size = 450, .n_positions = positions, .n_embd = 16, .n_layer = 2, .n_head = 2});
  // Larger weights than models begin with: their scores differ more.
  m.transformer.wte.weight = (m.transformer.wte.weight * 40.0).detach();
  m.transformer.wpe.weight = (m.transformer.wpe.weight * 40.0).detach();
  m.eval();
  return m;
}

const text::Sampling kGreedy{.greedy = true};

bool says(const std::string& e, const char* part) { return e.find(part) != e.npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(text_generate_text)

BOOST_AUTO_TEST_CASE(a_file_writes_what_transformers_writes) {
  const std::string path = kGolden / "text_gguf" / "llama.gguf";
  pretrained::Model model = pretrained::load(path);
  const auto t = text::load_tokenizer(path);
  const Json golden = Json::parse(read_file(kGolden / "text_gguf" / "llama.json"));
  const auto out = text::generate_text(model, t, golden["prompt"].get<std::string>(),
                                       {.sampling = kGreedy, .max_new_tokens = 24});
  BOOST_TEST(out.tokens == golden["tokens"].get<std::vector<int64_t>>(), boost::test_tools::per_element());
  BOOST_TEST(out.text == golden["text"].get<std::string>());
  BOOST_TEST(out.prompt_tokens == static_cast<int64_t>(golden["ids"].size()));
  BOOST_TEST((out.finish == text::Finish::length));
}

BOOST_AUTO_TEST_CASE(a_token_takes_one_flush_and_what_comes_is_the_text) {
  const models::GPT2 model = small_gpt2();
  std::string joined;
  std::vector<Metrics> seen;
  const auto on_text = [&](std::string_view added) {
    joined += added;
    seen.push_back(metrics());
    return true;
  };
  const auto out = text::generate_text(model, tokenizer(), "A tensor",
                                       {.sampling = kGreedy, .max_new_tokens = 30, .on_text = on_text});
  BOOST_TEST(out.tokens.size() == 30u);
  BOOST_TEST(joined == out.text);
  BOOST_TEST(out.text == tokenizer().decode(out.tokens));
  BOOST_TEST(seen.size() >= 30u);
  for (size_t i = 6; i < 30; ++i) {
    BOOST_TEST(seen[i].flushes - seen[i - 1].flushes == 1u, "token " << i);
    BOOST_TEST(seen[i].program_misses == seen[i - 1].program_misses, "token " << i);
  }
  // What all tokens give at once.
  const no_grad scope;
  std::vector<int64_t> all = tokenizer().encode("A tensor").ids;
  const size_t before = all.size();
  for (int i = 0; i < 30; ++i)
    all.push_back(
        argmax(model(from_span(all, {1, static_cast<int64_t>(all.size())}))(0, -1)).item<int64_t>());
  BOOST_TEST(out.tokens == std::vector<int64_t>(all.begin() + static_cast<ptrdiff_t>(before), all.end()),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(texts_end_it) {
  const std::string path = kGolden / "text_gguf" / "llama.gguf";
  pretrained::Model model = pretrained::load(path);
  const auto t = text::load_tokenizer(path);
  const Json golden = Json::parse(read_file(kGolden / "text_gguf" / "llama.json"));
  const std::string whole = golden["text"].get<std::string>();
  const size_t at = whole.find("ithith");
  BOOST_TEST_REQUIRE(at != whole.npos);
  std::string joined;
  const auto out =
      text::generate_text(model, t, golden["prompt"].get<std::string>(),
                          {.sampling = kGreedy,
                           .max_new_tokens = 24,
                           .stop = {"nowhere in it", "thit"},
                           .on_text = [&](std::string_view more) { return joined += more, true; }});
  BOOST_TEST(out.text == whole.substr(0, at + 1));
  BOOST_TEST(joined == out.text);
  BOOST_TEST((out.finish == text::Finish::stop_sequence));
  BOOST_TEST(out.tokens.size() < 24u);
}

BOOST_AUTO_TEST_CASE(tokens_of_the_config_end_it) {
  pretrained::Model model = pretrained::load(kGolden / "text_gguf" / "llama.gguf");
  const text::CausalModel causal(model);
  BOOST_TEST(causal.ends() == (std::vector<int64_t>{2}), boost::test_tools::per_element());
  BOOST_TEST(causal.positions() == 64);
}

BOOST_AUTO_TEST_CASE(callers_end_it) {
  const models::GPT2 model = small_gpt2();
  int calls = 0;
  const auto out = text::generate_text(model, tokenizer(), "A tensor",
                                       {.on_text = [&](std::string_view) { return ++calls < 5; }});
  BOOST_TEST((out.finish == text::Finish::callback));
  BOOST_TEST(out.tokens.size() == 5u);
  calls = 0;
  const auto beams = text::generate_text(
      model, tokenizer(), "A tensor", {.beams = 2, .on_text = [&](std::string_view) { return ++calls < 5; }});
  BOOST_TEST((beams.finish == text::Finish::callback));
  BOOST_TEST(beams.text == "");
  BOOST_TEST(calls == 5);
}

BOOST_AUTO_TEST_CASE(positions_end_it) {
  const models::GPT2 model = small_gpt2(16);
  const auto out = text::generate_text(model, tokenizer(), "A tensor", {.max_new_tokens = 100});
  if (out.finish == text::Finish::length)
    BOOST_TEST(static_cast<int64_t>(out.tokens.size()) + out.prompt_tokens == 17);
  std::string longest;
  for (int i = 0; i < 40; ++i) longest += " tensor";
  BOOST_TEST(says(test::thrown<ShapeError>([&] { text::generate_text(model, tokenizer(), longest); }),
                  "and the model positions for 16"));
}

BOOST_AUTO_TEST_CASE(beams_write_the_best) {
  const models::GPT2 model = small_gpt2();
  const no_grad scope;
  models::GPT2Cache cache = model.cache(3, 40);
  const auto beams =
      text::beam_search([&](const Tensor& ids, int64_t) { return model(ids, cache); },
                        [&](const Tensor& rows) { cache.reorder(rows); }, tokenizer().encode("A tensor").ids,
                        {.beams = 3, .max_new_tokens = 12, .stop_tokens = {0}});
  std::vector<int64_t> best = beams[0].tokens;
  if (best.back() == 0) best.pop_back();
  const auto out = text::generate_text(model, tokenizer(), "A tensor", {.max_new_tokens = 12, .beams = 3});
  BOOST_TEST(out.tokens == best, boost::test_tools::per_element());
  BOOST_TEST(out.text == tokenizer().decode(best));
}

BOOST_AUTO_TEST_CASE(parts_of_a_stop_are_kept_back) {
  const std::string whole = "abcaababcb\nnabcd";
  for (size_t size = 1; size <= whole.size(); ++size) {
    text::StopTexts stops({"abcb\nx", "abcd", "zz"});
    std::string passed;
    for (size_t at = 0; at < whole.size(); at += size) passed += stops.add(whole.substr(at, size));
    passed += stops.finish();
    BOOST_TEST(passed == "abcaababcb\nn");
    BOOST_TEST(stops.found());
  }
  text::StopTexts none({"abcd"});
  std::string passed = none.add("xabc");
  BOOST_TEST(passed == "x");
  BOOST_TEST(none.finish() == "abc");
  BOOST_TEST(!none.found());
}

BOOST_AUTO_TEST_CASE(errors_of_texts) {
  const models::GPT2 model = small_gpt2();
  const auto error = [&](const std::string& prompt, const text::TextOptions& o = {}) {
    return test::thrown<Error>([&] { text::generate_text(model, tokenizer(), prompt, o); });
  };
  BOOST_TEST(says(error("a", {.stop = {""}}), "a text of stop is empty"));
  BOOST_TEST(says(error("a", {.beams = 0}), "beams is 0"));
  BOOST_TEST(says(error("a", {.max_new_tokens = -1}), "max_new_tokens is -1"));
  const models::GPT2 other({.vocab_size = 40, .n_positions = 8, .n_embd = 8, .n_layer = 1, .n_head = 2});
  BOOST_TEST(says(test::thrown<Error>([&] { text::generate_text(other, tokenizer(), "A tensor"); }),
                  "they don't belong together"));
  pretrained::Model bert = pretrained::load(kGolden / "pretrained" / "bert_texts");
  BOOST_TEST(says(test::thrown<Error>([&] { text::CausalModel d(bert); }), "does not write texts"));
}

BOOST_AUTO_TEST_SUITE_END()
