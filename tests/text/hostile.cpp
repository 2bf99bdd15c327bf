// Changes files of tokenizers at random: what is loaded then is one, or an error says what is wrong.
#include <cstdlib>
#include <random>

#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

const std::filesystem::path kGolden = LAZY_SOURCE_DIR "/tests/golden/text";

/// Changes some bytes, cuts some out, doubles some, or cuts the file off.
std::string mutated(std::string bytes, std::mt19937_64& r) {
  const auto below = [&](size_t n) { return static_cast<size_t>(r() % std::max<size_t>(n, 1)); };
  for (size_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
    // Half of the changes are near the ends, where settings are.
    const size_t at = below(2)   ? below(bytes.size())
                      : below(2) ? below(std::min<size_t>(bytes.size(), 400))
                                 : bytes.size() - 1 - below(std::min<size_t>(bytes.size(), 400));
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(r()); break;
      case 1: bytes[at] = "0129-\"{}[],:eE."[below(15)]; break;
      case 2: bytes.erase(at, 1 + below(20)); break;
      case 3: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(40))); break;
      case 4: bytes.resize(at); break;
      default: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

struct Outcome {
  size_t loaded = 0, refused = 0;
};

void run(const std::filesystem::path& path, std::mt19937_64& r, int rounds, Outcome& outcome) {
  test::Folder folder;
  const std::string whole = read_file(path), name = folder / path.filename().string();
  for (int i = 0; i < rounds; ++i) {
    write_file(name, mutated(whole, r));
    try {
      const auto t = text::load_tokenizer(name);
      ++outcome.loaded;
      const auto e = t.encode("A text, wörds  it's\n 3.14 日本 <s>");
      for (const auto& span : e.offsets) BOOST_TEST((span.begin >= 0 && span.end <= 40));
      (void)t.decode(e.ids, {.skip_special = false});
    } catch (const Error&) { ++outcome.refused; }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_hostile)

BOOST_AUTO_TEST_CASE(mutated_files_are_refused_or_loaded) {
  const char* const given = std::getenv("LAZY_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 r(seed);
  size_t loaded = 0;
  for (const auto& path : golden_tokenizers(kGolden))
    BOOST_TEST_CONTEXT("LAZY_TEST_SEED=" << seed << ", " << path) {
      Outcome outcome;
      run(path, r, 120, outcome);
      BOOST_TEST(outcome.refused > 10u);
      loaded += outcome.loaded;
    }
  BOOST_TEST(loaded > 30u);
}

BOOST_AUTO_TEST_CASE(truncated_models_are_refused_or_loaded) {
  test::Folder folder;
  const std::string whole = read_file(kGolden / "spm_unigram.model"), name = folder / "t.model";
  size_t refused = 0;
  for (size_t n = 0; n < whole.size(); n += 7) {
    write_file(name, whole.substr(0, n));
    refused += !test::thrown<Error>([&] { text::load_tokenizer(name); }).empty();
  }
  BOOST_TEST(refused > whole.size() / 7 / 2);
}

BOOST_AUTO_TEST_CASE(bounds_are_said) {
  test::Folder folder;
  const std::string name = folder / "tokenizer.json";
  const auto error = [&](const std::string& text) {
    write_file(name, text);
    return test::thrown<Error>([&] { text::load_tokenizer(name); });
  };
  const auto says = [](const std::string& e, const std::string& part) { return e.find(part) != e.npos; };
  BOOST_TEST(says(error(R"({"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":99999999}}})"),
                  "model.vocab.a: expected an id below"));
  BOOST_TEST(says(error(std::string(100000, '[')), "more than 64 deep"));
  std::string many = "[0";
  for (int i = 0; i < 300000; ++i) many += ",0";
  BOOST_TEST(says(error(many + "]"), "values outside of model.vocab"));
  BOOST_TEST(says(error(R"({"model":{"type":"Unigram","unk_id":7,"vocab":[["a",-1.0]]}})"),
                  "model.unk_id: 7 is not in the vocabulary"));
  BOOST_TEST(says(error(R"({"model":{"type":"Unigram","vocab":[["a"]]}})"),
                  "model.vocab: found the end of an entry"));
  BOOST_TEST(says(error("{\"model\": nul}"), "at byte"));
  BOOST_TEST(says(
      error(
          R"({"added_tokens":[{"id":7,"content":"x"}],"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}}})"),
      "added_tokens[0].id: expected 1, the next one, for 'x', found 7"));
}

// Long texts of one word, of spaces and of what is unknown take no longer than their length says.
BOOST_AUTO_TEST_CASE(long_texts_take_linear_time) {
  for (const auto& path : golden_tokenizers(kGolden)) BOOST_TEST_CONTEXT(path) {
      const auto t = text::load_tokenizer(path);
      for (const char* unit : {"a", " ", "ab", "日", "\n", "e\xcc\x81"}) {
        std::string text;
        while (text.size() < 300000) text += unit;
        BOOST_TEST(!t.encode(text).ids.empty() == !t.encode(text.substr(0, 30)).ids.empty());
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
