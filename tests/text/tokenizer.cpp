// Tests what a program asks of a tokenizer: batches, special tokens, files of other forms, errors.
#include "lazy/text/tokenizer.hpp"

#include <thread>

#include "lazy/text/chat_template.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

const std::filesystem::path kGolden = LAZY_SOURCE_DIR "/tests/golden/text";

text::Tokenizer words(test::Folder& folder, const std::string& extra = "") {
  write_file(folder / "tokenizer.json",
             R"({"version":"1.0","added_tokens":[{"id":0,"content":"[PAD]","special":true}],
    "pre_tokenizer":{"type":"WhitespaceSplit"},)" +
                 extra + R"(
    "model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"a":2,"b":3,"c":4}}})");
  return text::load_tokenizer(folder.path());
}

bool says(const std::string& error, const std::string& part) { return error.find(part) != error.npos; }

template <class F>
std::string error_of(F&& f) {
  return test::thrown<Error>(std::forward<F>(f));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_tokenizer)

BOOST_AUTO_TEST_CASE(batches_are_padded) {
  test::Folder folder;
  const auto t = words(folder);
  const std::vector<std::string> texts{"a b c", "a", ""};
  const auto [ids, mask] = t.encode_batch(texts);
  BOOST_TEST((ids.shape() == Shape{3, 3}));
  BOOST_TEST(numbers(ids) == (std::vector<int64_t>{2, 3, 4, 2, 0, 0, 0, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(numbers(mask) == (std::vector<int64_t>{1, 1, 1, 1, 0, 0, 0, 0, 0}),
             boost::test_tools::per_element());
  const auto left = t.encode_batch(texts, {.truncate_to = 2, .pad_left = true, .pad_id = 9});
  BOOST_TEST(numbers(left.ids) == (std::vector<int64_t>{2, 3, 9, 2, 9, 9}), boost::test_tools::per_element());
  BOOST_TEST(numbers(left.attention_mask) == (std::vector<int64_t>{1, 1, 0, 1, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(says(error_of([&] { t.encode_batch(texts, {.pad = false}); }), "texts of 0 to 3 tokens"));
  BOOST_TEST((t.encode_batch({}).ids.shape() == Shape{0, 0}));
}

BOOST_AUTO_TEST_CASE(the_file_truncates_and_pads) {
  test::Folder folder;
  const auto t =
      words(folder, R"("truncation":{"max_length":2,"strategy":"LongestFirst","stride":0,"direction":"Left"},
    "padding":{"strategy":{"Fixed":4},"direction":"Left","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"},)");
  BOOST_TEST(t.encode("a b c").ids == (std::vector<int64_t>{3, 4}), boost::test_tools::per_element());
  BOOST_TEST(
      numbers(t.encode_batch(std::vector<std::string>{"a b c"}).ids) == (std::vector<int64_t>{0, 0, 3, 4}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tokens_have_names) {
  test::Folder folder;
  const auto t = words(folder);
  BOOST_TEST(t.vocab_size() == 5);
  BOOST_TEST(t.id("b").value() == 3);
  BOOST_TEST(!t.id("d"));
  BOOST_TEST(t.token(4).value() == "c");
  BOOST_TEST(!t.token(5));
  BOOST_TEST(!t.token(-1));
  BOOST_TEST(t.pad().value() == 0);
  BOOST_TEST(t.is_special(0));
  BOOST_TEST(!t.is_special(1));
  BOOST_TEST(!t.bos());
  BOOST_TEST(t.decode(std::vector<int64_t>{0, 2, 99, 3}) == "a b");
  BOOST_TEST(t.decode(std::vector<int64_t>{0, 2}, {.skip_special = false}) == "[PAD] a");
}

BOOST_AUTO_TEST_CASE(chat_templates_lie_in_several_places) {
  test::Folder folder;
  const auto config = [&](const std::string& of_template) {
    write_file(folder / "tokenizer_config.json",
               R"({"bos_token":"a","eos_token":"b","pad_token":null,"chat_template":)" + of_template + "}");
  };
  const auto prompt = [&] { return text::ChatTemplate(words(folder)).apply({{"user", "hi"}}); };
  config(R"("{{ bos_token + messages[0].content + eos_token }}{{ pad_token is defined }}")");
  BOOST_TEST(prompt() == "ahibFalse");
  config(R"([{"name":"tool_use","template":"x"},{"name":"default","template":"y"}])");
  BOOST_TEST(prompt() == "y");
  write_file(folder / "chat_template.jinja", "z{{ messages | length }}\n");
  BOOST_TEST(prompt() == "z1");
  test::Folder none;
  BOOST_TEST(says(error_of([&] { text::ChatTemplate(words(none)); }), "the tokenizer has no chat template"));
}

BOOST_AUTO_TEST_CASE(a_config_names_special_tokens) {
  test::Folder folder;
  write_file(
      folder / "tokenizer_config.json",
      R"({"bos_token":{"content":"a","lstrip":false},"eos_token":"b","pad_token":null,"chat_template":"{{x}}"})");
  const auto t = words(folder);
  BOOST_TEST(t.bos().value() == 2);
  BOOST_TEST(t.eos().value() == 3);
  BOOST_TEST(!t.pad());
  BOOST_TEST(t.chat_template() == "{{x}}");
  BOOST_TEST(says(error_of([&] {
                    t.encode_batch(std::vector<std::string>{"a", "a b"});
                  }),
                  "no token to pad with"));
}

// The same vocabulary and merges, read from files of their own.
BOOST_AUTO_TEST_CASE(vocabularies_in_files_of_their_own) {
  test::Folder folder;
  const Json gpt2 = Json::parse(read_file(kGolden / "gpt2.json"));
  write_file(folder / "vocab.json", gpt2["model"]["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const Json& m : gpt2["model"]["merges"])
    merges += m[0].get<std::string>() + " " + m[1].get<std::string>() + "\n";
  write_file(folder / "merges.txt", merges);
  const auto a = text::load_tokenizer(folder.path()), b = text::load_tokenizer(kGolden / "gpt2.json");
  const std::string text = "A text of wörds,  it's <|endoftext|> 3.14\n";
  BOOST_TEST(a.encode(text).ids == b.encode(text).ids, boost::test_tools::per_element());
  BOOST_TEST(a.eos().value() == b.id("<|endoftext|>").value());

  const Json bert = Json::parse(read_file(kGolden / "bert.json"));
  std::vector<std::string> tokens(bert["model"]["vocab"].size());
  for (const auto& [token, id] : bert["model"]["vocab"].items()) tokens[id.get<size_t>()] = token;
  std::string lines;
  for (const std::string& token : tokens) lines += token + "\n";
  write_file(folder / "vocab.txt", lines);
  const auto c = text::load_tokenizer(folder / "vocab.txt"), d = text::load_tokenizer(kGolden / "bert.json");
  BOOST_TEST(c.encode("A Text of wörds [MASK]").ids == d.encode("A Text of wörds [MASK]").ids,
             boost::test_tools::per_element());
  BOOST_TEST(c.decode(c.encode("words, as text").ids) == d.decode(d.encode("words, as text").ids));
}

BOOST_AUTO_TEST_CASE(errors_say_what_was_found) {
  test::Folder folder;
  const auto t = words(folder);
  BOOST_TEST(
      says(error_of([&] { t.encode("ab\xff"); }), "expected text in UTF-8, found other bytes at byte 2"));
  BOOST_TEST(says(error_of([&] { text::Tokenizer().encode("a"); }), "encode: the tokenizer is empty"));
  BOOST_TEST(says(error_of([&] { text::load_tokenizer(folder / "nothing.bin"); }),
                  "expected a folder, tokenizer.json"));
  test::Folder empty;
  BOOST_TEST(
      says(error_of([&] { text::load_tokenizer(empty.path()); }), "the folder has none of tokenizer.json"));
  BOOST_TEST(says(error_of([&] { text::load_tokenizer(empty / "tokenizer.json"); }), "tokenizer.json"));
}

BOOST_AUTO_TEST_CASE(all_that_is_not_supported_is_listed) {
  test::Folder folder;
  write_file(
      folder / "tokenizer.json",
      R"({"version":"1.0","normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Foo"}]},
    "pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Sideways","invert":false},
    "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}}],"pair":[],"special_tokens":{}},
    "decoder":{"type":"Fuse","new_key":1},
    "model":{"type":"BPE","dropout":0.1,"vocab":{"a":0,"b":1},"merges":["a b"]}})");
  const std::string error = error_of([&] { text::load_tokenizer(folder.path()); });
  for (const char* part :
       {"normalizer.normalizers[1].type: the normalizer 'Foo' is not supported",
        "pre_tokenizer.pattern.Regex: ", "pre_tokenizer.behavior: the behavior 'Sideways' is not supported",
        "post_processor.single[0].SpecialToken.id: '[X]'", "decoder.new_key: the key is not supported",
        "model.dropout: is not supported (0.1)", "model.merges[0]: 'ab' is not in the vocabulary"})
    BOOST_TEST(says(error, part), error << "\nlacks " << part);
}

// An expression that backtracks without end throws instead.
BOOST_AUTO_TEST_CASE(expressions_are_bounded) {
  test::Folder folder;
  write_file(
      folder / "tokenizer.json",
      R"json({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(x+x+)+(?:y|z)"},"behavior":"Isolated","invert":false},
    "model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}}})json");
  const auto t = text::load_tokenizer(folder.path());
  BOOST_TEST(says(error_of([&] { t.encode(std::string(1000, 'x')); }), "can't be matched at byte 0"));
}

BOOST_AUTO_TEST_CASE(several_threads_encode) {
  const auto t = text::load_tokenizer(kGolden / "llama3.json");
  const std::string text = read_file(kGolden / ".." / "make_text.py");
  const auto expected = t.encode(text).ids;
  std::vector<std::thread> threads;
  std::vector<int> equal(4);
  for (int& e : equal)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) e += t.encode(text).ids == expected;
    });
  for (auto& thread : threads) thread.join();
  for (const int e : equal) BOOST_TEST(e == 10);
}

BOOST_AUTO_TEST_SUITE_END()
