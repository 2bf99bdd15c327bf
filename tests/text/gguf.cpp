// Reads tokenizers of files in the GGUF format (tests/golden/make_text_gguf.py): they give what those do that
// they were made of.
#include "lazy/pretrained/gguf/gguf.hpp"

#include <cstdlib>
#include <random>

#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"
#include "tests/text/gguf_file.hpp"

using namespace lazy;
using namespace text_test;

namespace {

const std::filesystem::path kGolden = LAZY_SOURCE_DIR "/tests/golden/text";
const std::filesystem::path kGguf = LAZY_SOURCE_DIR "/tests/golden/text_gguf";

bool says(const std::string& e, const std::string& part) { return e.find(part) != e.npos; }

/// Returns a small tokenizer of bytes.
GgufFile small() {
  GgufFile f;
  f.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  f.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<|end|>", "Ġ"});
  f.integers("tokenizer.ggml.token_type", {1, 1, 1, 3, 1});
  f.texts("tokenizer.ggml.merges", {"a b"});
  return f;
}

std::string error_of(const GgufFile& f) {
  const test::Folder folder;
  write_file(folder / "t.gguf", f.bytes());
  return test::thrown<Error>([&] { text::load_tokenizer(folder / "t.gguf"); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_gguf)

BOOST_AUTO_TEST_CASE(they_encode_as_what_they_were_made_of) {
  for (const char* name : {"gpt2", "llama3", "spm_bpe", "spm_plain"}) BOOST_TEST_CONTEXT(name) {
      const auto t = text::load_tokenizer(kGguf / (std::string(name) + ".gguf"));
      const Json cases = Json::parse(read_file(kGolden / (std::string(name) + ".cases.json")));
      size_t compared = 0;
      for (const Json& c : cases) {
        if (!c["in"].is_string()) continue;
        const auto e = t.encode(c["in"].get<std::string>());
        BOOST_TEST(e.ids == c["ids"].get<std::vector<int64_t>>(), boost::test_tools::per_element());
        BOOST_TEST(t.decode(e.ids) == c["text"].get<std::string>());
        ++compared;
      }
      BOOST_TEST(compared >= 20u);
    }
}

BOOST_AUTO_TEST_CASE(special_tokens_are_the_files) {
  const auto llama3 = text::load_tokenizer(kGguf / "llama3.gguf");
  BOOST_TEST(*llama3.bos() == 0);
  BOOST_TEST(*llama3.eos() == 1);
  BOOST_TEST(llama3.encode("<|end_of_text|>").ids == (std::vector<int64_t>{0, 1}),
             boost::test_tools::per_element());
  const auto pairs = text::load_tokenizer(kGguf / "spm_bpe.gguf");
  BOOST_TEST(*pairs.unk() == 0);
  BOOST_TEST(*pairs.eos() == 2);
  BOOST_TEST(pairs.chat_template() == "{{ messages }}");
}

BOOST_AUTO_TEST_CASE(flags_say_how_texts_begin_and_end) {
  const test::Folder folder;
  GgufFile f = small();
  f.integer("tokenizer.ggml.bos_token_id", 3).integer("tokenizer.ggml.eos_token_id", 3);
  f.flag("tokenizer.ggml.add_bos_token", true).flag("tokenizer.ggml.add_eos_token", true);
  write_file(folder / "t.gguf", f.bytes());
  BOOST_TEST(text::load_tokenizer(folder / "t.gguf").encode("ab").ids == (std::vector<int64_t>{3, 2, 3}),
             boost::test_tools::per_element());
}

// A word's digits stand alone; a text is composed first.
BOOST_AUTO_TEST_CASE(other_cuttings) {
  const test::Folder folder;
  GgufFile f = small();
  f.text("tokenizer.ggml.pre", "smollm");
  f.texts("tokenizer.ggml.tokens", {"1", "2", "12", "a", "1a"})
      .texts("tokenizer.ggml.merges", {"1 2", "1 a"});
  f.integers("tokenizer.ggml.token_type", {1, 1, 1, 1, 1});
  write_file(folder / "t.gguf", f.bytes());
  BOOST_TEST(text::load_tokenizer(folder / "t.gguf").encode("12a").ids == (std::vector<int64_t>{0, 1, 3}),
             boost::test_tools::per_element());
  f.text("tokenizer.ggml.pre", "qwen2");
  f.texts("tokenizer.ggml.tokens", {"Ã", "©", "Ã©", "1", "2"}).texts("tokenizer.ggml.merges", {"Ã ©"});
  write_file(folder / "t.gguf", f.bytes());
  const auto qwen = text::load_tokenizer(folder / "t.gguf");
  BOOST_TEST(qwen.encode("e\u0301"
                         "12")
                     .ids == (std::vector<int64_t>{2, 3, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_name_the_key) {
  BOOST_TEST(error_of(small()) == "");
  BOOST_TEST(says(error_of(GgufFile()), "tokenizer.ggml.model: the key is missing"));
  BOOST_TEST(says(error_of(small().text("tokenizer.ggml.model", "bert")),
                  "tokenizer.ggml.model is 'bert', which is not supported; supported: gpt2, llama"));
  BOOST_TEST(
      says(error_of(small().text("tokenizer.ggml.pre", "tekken")),
           "tokenizer.ggml.pre is 'tekken', which is not supported; supported: gpt-2, llama-bpe, qwen2"));
  BOOST_TEST(
      says(error_of(small().integer("tokenizer.ggml.tokens", 3)), "tokenizer.ggml.tokens: expected a list"));
  BOOST_TEST(says(error_of(small().texts("tokenizer.ggml.tokens", {})), "expected tokens, found none"));
  BOOST_TEST(says(error_of(small().texts("tokenizer.ggml.tokens", {"a", "\xff"})),
                  "tokenizer.ggml.tokens[1]: expected text in UTF-8"));
  BOOST_TEST(says(error_of(small().integers("tokenizer.ggml.token_type", {1, 1})),
                  "tokenizer.ggml.token_type: 2 elements for 5 tokens"));
  BOOST_TEST(says(error_of(small().integers("tokenizer.ggml.token_type", {1, 1, 1, 9, 1})),
                  "tokenizer.ggml.token_type[3]: expected 1 to 6, found 9"));
  BOOST_TEST(says(error_of(small().texts("tokenizer.ggml.merges", {"ab"})),
                  "tokenizer.ggml.merges[0]: expected two tokens with a space between, found 'ab'"));
  BOOST_TEST(says(error_of(small().texts("tokenizer.ggml.merges", {"b b"})),
                  "tokenizer.ggml.merges[0]: 'bb' is not in the vocabulary"));
  BOOST_TEST(says(error_of(small().integer("tokenizer.ggml.eos_token_id", 5)),
                  "tokenizer.ggml.eos_token_id: expected an id below 5, found 5"));
  BOOST_TEST(says(error_of(small().text("tokenizer.ggml.model", "llama")),
                  "tokenizer.ggml.scores: the key is missing"));
  BOOST_TEST(says(
      error_of(small().text("tokenizer.ggml.model", "llama").reals("tokenizer.ggml.scores", {0, 0, 0, 0, 0})),
      "there is no piece of the type unknown"));
}

BOOST_AUTO_TEST_CASE(mutated_files_are_refused_or_loaded) {
  const char* const given = std::getenv("LAZY_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 r(seed);
  const test::Folder folder;
  size_t loaded = 0, refused = 0;
  for (const char* name : {"gpt2", "llama3", "spm_bpe"})
    for (int i = 0; i < 200; ++i) BOOST_TEST_CONTEXT("LAZY_TEST_SEED=" << seed << ", " << name) {
        std::string bytes = read_file(kGguf / (std::string(name) + ".gguf"));
        for (uint64_t n = 1 + r() % 2; n > 0; --n) {
          // A quarter of the changes are near the beginning, where lengths and kinds are.
          const size_t at = r() % (r() % 4 ? bytes.size() : std::min<size_t>(bytes.size(), 600));
          if (r() % 16 == 0) bytes.resize(at + 1);
          else
            bytes[at] = static_cast<char>(r() % 2 ? r() : static_cast<uint64_t>(bytes[at]) ^ (1u << r() % 8));
        }
        write_file(folder / "t.gguf", bytes);
        try {
          const auto t = text::load_tokenizer(folder / "t.gguf");
          (void)t.decode(t.encode("A text, wörds  it's\n 3.14 日本 <s>").ids, {.skip_special = false});
          ++loaded;
        } catch (const Error&) { ++refused; }
      }
  BOOST_TEST(loaded > 10u);
  BOOST_TEST(refused > 20u);
}

BOOST_AUTO_TEST_SUITE_END()
