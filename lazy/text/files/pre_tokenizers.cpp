#include "lazy/text/files/components.hpp"

namespace lazy::text::files {

using namespace pipeline;

namespace {

Behavior read_behavior(Settings& settings, const char* key, std::optional<std::string> otherwise = {}) {
  const std::string name = settings.text(key, std::move(otherwise));
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  if (!name.empty()) settings.wrong(key, "the behavior '" + name + "' is not supported");
  return Behavior::isolated;
}

PreTokenizerPtr make_metaspace(Settings& settings) {
  auto p = std::make_unique<Metaspace>();
  settings.ignore({"str_rep"});
  p->replacement = read_character(settings, "replacement");
  p->split = settings.flag("split", true);
  const bool adds = settings.flag("add_prefix_space", true);
  const std::string scheme = settings.text("prepend_scheme", adds ? "always" : "never");
  if (scheme == "always") p->prepend = Metaspace::Prepend::always;
  else if (scheme == "first") p->prepend = Metaspace::Prepend::first;
  else if (scheme == "never") p->prepend = Metaspace::Prepend::never;
  else settings.wrong("prepend_scheme", "'" + scheme + "' is not supported");
  if (!adds && scheme != "never")
    settings.wrong("add_prefix_space", "contradicts prepend_scheme '" + scheme + "'");
  return p;
}

PreTokenizerPtr make_byte_level(Settings& settings, bool is_last) {
  auto p = std::make_unique<ByteLevel>();
  settings.ignore({"trim_offsets"});
  p->add_prefix_space = settings.flag("add_prefix_space");
  p->use_regex = settings.flag("use_regex", true);
  p->is_last = is_last;
  return p;
}

PreTokenizerPtr make_split(Settings& settings, const Making& making) {
  auto p = std::make_unique<Split>();
  p->pattern = read_pattern(settings, "pattern", making);
  p->behavior = read_behavior(settings, "behavior");
  p->invert = settings.flag("invert");
  return p;
}

PreTokenizerPtr make_pre_sequence(Settings& settings, bool is_last, const Making& making) {
  auto all = std::make_unique<PreTokenizerSequence>();
  const auto list = read_list(settings, "pretokenizers");
  for (const auto& [path, v] : list)
    if (auto p = make_pre_tokenizer(*v, path, is_last && v == list.back().second, making))
      all->all.push_back(std::move(p));
  return all;
}

}  // namespace

PreTokenizerPtr make_pre_tokenizer(const Json& v, const std::string& path, bool is_last,
                                   const Making& making) {
  Settings settings(v, path, making.problems);
  const std::string type = settings.text("type");
  if (type == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<WhitespaceSplit>();
  if (type == "Metaspace") return make_metaspace(settings);
  if (type == "ByteLevel") return make_byte_level(settings, is_last);
  if (type == "Split") return make_split(settings, making);
  if (type == "Sequence") return make_pre_sequence(settings, is_last, making);
  if (type == "Punctuation") {
    auto p = std::make_unique<Punctuation>();
    p->behavior = read_behavior(settings, "behavior", "Isolated");
    return p;
  }
  if (type == "Digits") {
    auto p = std::make_unique<Digits>();
    p->individual = settings.flag("individual_digits", false);
    return p;
  }
  if (type == "CharDelimiterSplit") {
    auto p = std::make_unique<CharDelimiterSplit>();
    p->delimiter.text = read_character(settings, "delimiter");
    return p;
  }
  if (!type.empty()) settings.wrong("type", "the pre-tokenizer '" + type + "' is not supported");
  return nullptr;
}

}  // namespace lazy::text::files
