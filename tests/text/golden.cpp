// Compares with Hugging Face's tokenizers and SentencePiece's library (tests/golden/make_text.py).
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

const std::string kFolder = LAZY_SOURCE_DIR "/tests/golden/text";

text::Encoding encode(const text::Tokenizer& t, const Json& in) {
  return in.is_array() ? t.encode_pair(in[0].get<std::string>(), in[1].get<std::string>())
                       : t.encode(in.get<std::string>());
}

std::string streamed(const text::Tokenizer& t, const std::vector<int64_t>& ids) {
  text::DecodeStream stream(t, {.skip_special = false});
  std::string out;
  for (const int64_t id : ids) {
    const std::string part = stream.step(id);
    // What is given is whole characters.
    BOOST_TEST((part.empty() || (static_cast<unsigned char>(part[0]) & 0xC0) != 0x80));
    out += part;
  }
  return out + stream.finish();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_golden)

BOOST_AUTO_TEST_CASE(ids_offsets_types_and_text) {
  const auto tokenizers = golden_tokenizers(kFolder);
  BOOST_TEST(tokenizers.size() == 17u);
  for (const auto& path : tokenizers) {
    const auto t = text::load_tokenizer(path);
    const Json cases =
        Json::parse(read_file(std::filesystem::path(kFolder) / (path.stem().string() + ".cases.json")));
    BOOST_TEST(cases.size() >= 20u);
    for (const Json& c : cases) BOOST_TEST_CONTEXT(path.filename() << " " << c["in"]) {
        const text::Encoding e = encode(t, c["in"]);
        BOOST_TEST(e.ids == c["ids"].get<std::vector<int64_t>>(), boost::test_tools::per_element());
        BOOST_TEST(t.decode(e.ids) == c["text"].get<std::string>());
        if (!c.contains("offsets")) continue;
        BOOST_TEST(e.type_ids == c["types"].get<std::vector<int64_t>>(), boost::test_tools::per_element());
        BOOST_TEST((e.special == c["special"].get<std::vector<bool>>()));
        Json offsets = Json::array();
        for (const auto& s : e.offsets) offsets.push_back({s.begin, s.end});
        BOOST_TEST(offsets == c["offsets"]);
        BOOST_TEST(t.decode(e.ids, {.skip_special = false}) == c["all"].get<std::string>());
      }
  }
}

BOOST_AUTO_TEST_CASE(streams_give_what_decoding_all_gives) {
  for (const auto& path : golden_tokenizers(kFolder)) {
    const auto t = text::load_tokenizer(path);
    const Json cases =
        Json::parse(read_file(std::filesystem::path(kFolder) / (path.stem().string() + ".cases.json")));
    for (const Json& c : cases) BOOST_TEST_CONTEXT(path.filename() << " " << c["in"]) {
        const auto ids = encode(t, c["in"]).ids;
        BOOST_TEST(streamed(t, ids) == t.decode(ids, {.skip_special = false}));
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
