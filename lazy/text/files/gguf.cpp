// Reads the tokenizers of files in the GGUF format: lists of tokens, scores, types and merges.
#include "lazy/pretrained/gguf/gguf.hpp"

#include "lazy/text/files/components.hpp"
#include "lazy/text/files/load.hpp"
#include "lazy/text/files/sentencepiece.hpp"
#include "lazy/text/model/bpe.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::files {
namespace {

using namespace pipeline;

/// Reads the keys tokenizer.ggml.*, said without this beginning. Errors name the key.
class TokenizerKeys {
 public:
  TokenizerKeys(const std::filesystem::path& path, const Site& s)
      : file_(gguf::load(path.string(), s)), site_(s) {}
  const Site& site() const { return site_; }
  const std::string& path() const { return file_.path(); }
  bool has(const std::string& key) const { return file_.contains(full(key)); }
  [[noreturn]] void bad(const std::string& key, const std::string& what) const {
    throw IoError(where(key) + ": " + what, site_);
  }
  [[noreturn]] void unsupported(const std::string& key, const std::string& found,
                                const std::string& supported) const {
    throw Error(where(key) + " is '" + found + "', which is not supported; supported: " + supported, site_);
  }
  const gguf::Value& value(const std::string& key) const {
    if (!has(key)) bad(key, "the key is missing");
    return file_.at(full(key), site_);
  }
  /// Returns a list of at most so many elements.
  const gguf::Value& list(const std::string& key, uint64_t most) const {
    const gguf::Value& v = value(key);
    if (!v.is_list()) bad(key, "expected a list");
    if (v.size() > most)
      bad(key, std::to_string(v.size()) + " elements, expected " + std::to_string(most) + " at most");
    return v;
  }
  /// Returns a list of an element for each token.
  const gguf::Value& list_of_tokens(const std::string& key, uint64_t tokens) const {
    const gguf::Value& v = list(key, tokens);
    if (v.size() != tokens)
      bad(key, std::to_string(v.size()) + " elements for " + std::to_string(tokens) + " tokens");
    return v;
  }
  /// Returns a list of texts in UTF-8, views of the file.
  std::vector<std::string_view> texts(const std::string& key, uint64_t most) const {
    auto all = list(key, most).texts(site_);
    for (size_t i = 0; i < all.size(); ++i)
      if (unicode::first_malformed(all[i]) != std::string_view::npos)
        bad(key + "[" + std::to_string(i) + "]", "expected text in UTF-8");
    return all;
  }
  std::string text(const std::string& key) const { return std::string(value(key).text(site_)); }
  bool flag(const std::string& key, bool otherwise) const {
    return has(key) ? value(key).flag(site_) : otherwise;
  }
  /// Returns the id that a key says; none without the key.
  std::optional<int64_t> id(const std::string& key, uint64_t tokens) const {
    if (!has(key)) return {};
    const int64_t v = value(key).integer(site_);
    if (v < 0 || static_cast<uint64_t>(v) >= tokens)
      bad(key, "expected an id below " + std::to_string(tokens) + ", found " + std::to_string(v));
    return v;
  }
  std::string chat_template() const {
    constexpr const char* kKey = "tokenizer.chat_template";
    return file_.contains(kKey) ? std::string(file_.at(kKey, site_).text(site_)) : std::string();
  }

 private:
  static std::string full(const std::string& key) { return "tokenizer.ggml." + key; }
  std::string where(const std::string& key) const {
    return std::string(kOp) + ": " + file_.path() + ": " + full(key);
  }
  gguf::File file_;
  Site site_;
};

/// Holds the lists that all models have.
struct Tokens {
  std::vector<std::string_view> texts;
  std::vector<int64_t> types;  // as SentencePiece numbers them
};

Tokens read_tokens(const TokenizerKeys& k) {
  Tokens t{k.texts("tokens", model::kMostTokens), {}};
  if (t.texts.empty()) k.bad("tokens", "expected tokens, found none");
  t.types = k.list_of_tokens("token_type", t.texts.size()).integers(k.site());
  for (size_t i = 0; i < t.types.size(); ++i)
    if (t.types[i] < kNormal || t.types[i] > kByte)
      k.bad("token_type[" + std::to_string(i) + "]", "expected 1 to 6, found " + std::to_string(t.types[i]));
  return t;
}

constexpr uint64_t kMostCharsmap = 1 << 22;  // bytes

/// Returns SentencePiece's model of pairs: what the file says, where its own format has a message.
std::unique_ptr<Loaded> make_llama(const TokenizerKeys& k, const Tokens& tokens) {
  const Bad bad = [&](uint64_t, const std::string& what) { k.bad("tokens", what); };
  const std::vector<double> scores = k.list_of_tokens("scores", tokens.texts.size()).reals(k.site());
  Spm spm;
  spm.type = kBpe;
  for (size_t i = 0; i < tokens.texts.size(); ++i) {
    spm.pieces.push_back({tokens.texts[i], static_cast<float>(scores[i]), tokens.types[i]});
    check_piece(spm.pieces.back(), 0, bad);
    spm.byte_fallback = spm.byte_fallback || tokens.types[i] == kByte;
  }
  spm.add_dummy_prefix = k.flag("add_space_prefix", true);
  spm.remove_extra_whitespaces = k.flag("remove_extra_whitespaces", false);
  std::string charsmap;
  if (k.has("precompiled_charsmap"))
    for (const int64_t byte : k.list("precompiled_charsmap", kMostCharsmap).integers(k.site()))
      charsmap += static_cast<char>(byte);
  spm.charsmap = charsmap;
  return make_sentencepiece(spm, k.path(), bad);
}

// How the tokenizers that tokenizer.ggml.pre names cut a text before bytes are joined.

constexpr const char* kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kQwen2Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

struct Cutting {
  const char* name;
  const char* pattern;   // null: GPT-2's
  bool single_digits;    // each digit stands alone before the pattern is looked for
  bool is_composed;      // texts are put into NFC first
  bool whole_words;      // a word that is a token is taken without joining
  bool begins_with_bos;  // unless the file says otherwise
};
constexpr Cutting kCuttings[] = {{"gpt-2", nullptr, false, false, false, false},
                                 {"llama-bpe", kLlama3Pattern, false, false, true, true},
                                 {"qwen2", kQwen2Pattern, false, true, false, false},
                                 {"smollm", nullptr, true, false, false, false}};

const Cutting& cutting_of(const TokenizerKeys& k) {
  const std::string name = k.text("pre");
  std::string all;
  for (const Cutting& c : kCuttings) {
    if (name == c.name) return c;
    all += (all.empty() ? "" : ", ") + std::string(c.name);
  }
  k.unsupported("pre", name, all);
}

PreTokenizerPtr make_cutting(const Cutting& c, const Site& s) {
  auto all = std::make_unique<PreTokenizerSequence>();
  if (c.single_digits) {
    auto digits = std::make_unique<Digits>();
    digits->individual = true;
    all->all.push_back(std::move(digits));
  }
  if (c.pattern) {
    auto split = std::make_unique<Split>();
    split->pattern.regex.emplace(c.pattern, s);
    split->behavior = Behavior::isolated;
    all->all.push_back(std::move(split));
  }
  auto bytes = std::make_unique<ByteLevel>();
  bytes->add_prefix_space = false;
  bytes->use_regex = c.pattern == nullptr;
  all->all.push_back(std::move(bytes));
  return all;
}

/// Reads merges: two tokens each, with a space between.
Entries read_merges(const TokenizerKeys& k) {
  Entries entries;
  const auto merges = k.texts("merges", model::kMostMerges);
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view m = merges[i];
    const size_t space = m.find(' ', 1);
    if (m.empty() || space == m.npos || space + 1 == m.size())
      k.bad("merges[" + std::to_string(i) + "]",
            "expected two tokens with a space between, found '" + std::string(m.substr(0, 64)) + "'");
    if (entries.texts.size() + m.size() >= UINT32_MAX) k.bad("merges", "they have more than 4 GiB");
    const auto begin = static_cast<uint32_t>(entries.texts.size()), size = static_cast<uint32_t>(m.size()),
               left = static_cast<uint32_t>(space);
    entries.texts += m;
    entries.merges.push_back({{begin, left}, {begin + left + 1, size - left - 1}});
  }
  return entries;
}

/// Returns byte-level BPE. Control and user-defined tokens are found in texts as they are.
std::unique_ptr<Loaded> make_gpt2(const TokenizerKeys& k, const Tokens& tokens, const Cutting& cutting) {
  auto out = std::make_unique<Loaded>();
  out->file = k.path();
  auto m = std::make_unique<model::Bpe>();
  m->ignores_merges = cutting.whole_words;
  std::vector<AddedToken> added;
  for (size_t i = 0; i < tokens.texts.size(); ++i) {
    const auto id = static_cast<model::Id>(i);
    m->vocabulary.add(tokens.texts[i], id);
    if (tokens.types[i] == kControl || tokens.types[i] == kUserDefined)
      added.push_back({.content = std::string(tokens.texts[i]),
                       .id = id,
                       .normalized = false,
                       .special = tokens.types[i] == kControl});
  }
  Problems problems;
  fill_merges(*m, read_merges(k), "tokenizer.ggml.merges", problems);
  problems.raise(kOp, k.path(), k.site());
  m->prepare();
  out->model = std::move(m);
  if (cutting.is_composed) out->normalizer = std::make_unique<UnicodeNormalizer>(unicode::NormalForm::nfc);
  out->pre_tokenizer = make_cutting(cutting, k.site());
  out->decoder = std::make_unique<ByteLevelDecoder>();
  auto p = std::make_unique<ByteLevelProcessing>();
  p->trim_offsets = false;
  out->post_processor = std::move(p);
  for (const AddedToken& t : added)
    if (t.content.empty() || t.content.size() > AddedTokens::kLongest)
      k.bad("tokens[" + std::to_string(t.id) + "]", "has " + std::to_string(t.content.size()) +
                                                        " bytes, expected 1 to " +
                                                        std::to_string(AddedTokens::kLongest));
  if (!out->added.set(std::move(added), out->normalizer.get(), k.site()))
    k.bad("tokens", "there are too many control and user-defined ones");
  return out;
}

}  // namespace

std::unique_ptr<Loaded> load_gguf(const std::filesystem::path& path, const Site& s) {
  const TokenizerKeys k(path, s);
  const std::string kind = k.text("model");
  if (kind != "gpt2" && kind != "llama") k.unsupported("model", kind, "gpt2, llama");
  const bool pairs = kind == "llama";
  const Cutting* const cutting = pairs ? nullptr : &cutting_of(k);
  const Tokens tokens = read_tokens(k);
  std::unique_ptr<Loaded> out = pairs ? make_llama(k, tokens) : make_gpt2(k, tokens, *cutting);
  const auto set = [&](const char* key, std::optional<int64_t>& id) {
    if (const auto said = k.id(key, tokens.texts.size())) id = said;
  };
  set("bos_token_id", out->bos);
  set("eos_token_id", out->eos);
  set("padding_token_id", out->pad);
  set("unknown_token_id", out->unk);
  out->chat_template = k.chat_template();
  add_ends(k.flag("add_bos_token", pairs || cutting->begins_with_bos), k.flag("add_eos_token", false), *out);
  return out;
}

}  // namespace lazy::text::files
