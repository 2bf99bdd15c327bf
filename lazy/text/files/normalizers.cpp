#include <algorithm>

#include "lazy/text/files/base64.hpp"
#include "lazy/text/files/components.hpp"
#include "lazy/text/pipeline/charsmap.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::files {

using namespace pipeline;

Pattern read_pattern(Settings& settings, const char* key, const Making& making) {
  Pattern out;
  const Json* v = settings.find(key);
  if (!v) {
    settings.wrong(key, "is missing: expected a pattern");
    return out;
  }
  Settings pattern(*v, settings.path(key), settings.problems());
  out.text = pattern.text("String", "");
  const std::string regex = pattern.text("Regex", "");
  if (regex.empty()) return out;
  try {
    out.regex.emplace(regex, Site{});
  } catch (const Error& e) { pattern.wrong("Regex", e.what()); }
  (void)making;
  return out;
}

std::vector<std::pair<std::string, const Json*>> read_list(Settings& settings, const char* key) {
  std::vector<std::pair<std::string, const Json*>> out;
  const Json* v = settings.find(key);
  if (!v || !v->is_array()) {
    settings.wrong(key, "expected a list, found " + (v ? described(*v) : "nothing"));
    return out;
  }
  for (const Json& one : *v)
    out.emplace_back(settings.path(key) + "[" + std::to_string(out.size()) + "]", &one);
  return out;
}

std::string read_character(Settings& settings, const char* key, std::optional<std::string> otherwise) {
  std::string text = settings.text(key, std::move(otherwise));
  if (unicode::count(text) != 1) settings.wrong(key, "expected one character, found '" + text + "'");
  return text;
}

namespace {

NormalizerPtr make_bert(Settings& settings) {
  auto n = std::make_unique<BertNormalizer>();
  n->clean_text = settings.flag("clean_text", true);
  n->handle_chinese_chars = settings.flag("handle_chinese_chars", true);
  n->lowercase = settings.flag("lowercase", true);
  n->strip_accents = settings.flag("strip_accents", n->lowercase);
  return n;
}

NormalizerPtr make_precompiled(Settings& settings) {
  auto n = std::make_unique<Precompiled>();
  const auto bytes = from_base64(settings.text("precompiled_charsmap"));
  const std::string wrong = bytes ? n->map.set(*bytes) : "expected base64";
  if (!wrong.empty()) settings.wrong("precompiled_charsmap", wrong);
  return n;
}

NormalizerPtr make_sequence(Settings& settings, const Making& making) {
  auto all = std::make_unique<NormalizerSequence>();
  for (const auto& [path, v] : read_list(settings, "normalizers"))
    if (auto n = make_normalizer(*v, path, making)) all->all.push_back(std::move(n));
  return all;
}

}  // namespace

NormalizerPtr make_normalizer(const Json& v, const std::string& path, const Making& making) {
  Settings settings(v, path, making.problems);
  const std::string type = settings.text("type");
  if (type == "BertNormalizer") return make_bert(settings);
  if (type == "NFC") return std::make_unique<UnicodeNormalizer>(unicode::NormalForm::nfc);
  if (type == "NFD") return std::make_unique<UnicodeNormalizer>(unicode::NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<UnicodeNormalizer>(unicode::NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<UnicodeNormalizer>(unicode::NormalForm::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Precompiled") return make_precompiled(settings);
  if (type == "Sequence") return make_sequence(settings, making);
  if (type == "Strip") {
    auto n = std::make_unique<Strip>();
    n->left = settings.flag("strip_left", true);
    n->right = settings.flag("strip_right", true);
    return n;
  }
  if (type == "Replace") {
    auto n = std::make_unique<Replace>();
    n->pattern = read_pattern(settings, "pattern", making);
    n->content = settings.text("content");
    return n;
  }
  if (type == "Prepend") {
    auto n = std::make_unique<Prepend>();
    n->text = settings.text("prepend");
    return n;
  }
  if (!type.empty()) settings.wrong("type", "the normalizer '" + type + "' is not supported");
  return nullptr;
}

}  // namespace lazy::text::files
