#include <algorithm>

#include "lazy/text/files/components.hpp"
#include "lazy/text/files/load.hpp"
#include "lazy/text/model/bpe.hpp"

namespace lazy::text::files {
namespace {

using pipeline::AddedToken;

Truncation read_truncation(const Json& v, Problems& problems) {
  Settings settings(v, "truncation", problems);
  settings.ignore({"stride"});  // says how parts that are left out overlap: there are none
  Truncation out;
  out.max_length = settings.number("max_length");
  out.left = settings.text("direction", "Right") == "Left";
  const std::string strategy = settings.text("strategy", "LongestFirst");
  if (strategy == "OnlyFirst") out.strategy = Truncation::Strategy::only_first;
  else if (strategy == "OnlySecond") out.strategy = Truncation::Strategy::only_second;
  else if (strategy != "LongestFirst") settings.wrong("strategy", "'" + strategy + "' is not supported");
  return out;
}

Padding read_padding(const Json& v, Problems& problems) {
  constexpr uint64_t kMost = 1 << 24;  // tokens of a row
  Settings settings(v, "padding", problems);
  settings.ignore({"pad_token"});
  Padding out;
  out.left = settings.text("direction", "Right") == "Left";
  out.multiple_of = settings.number("pad_to_multiple_of", 0);
  out.id = static_cast<int64_t>(std::min(settings.number("pad_id"), model::kMostId));
  out.type_id = static_cast<int64_t>(std::min(settings.number("pad_type_id", 0), model::kMostId));
  if (const Json* strategy = settings.find("strategy"); strategy && strategy->is_object()) {
    Settings inner(*strategy, "padding.strategy", problems);
    out.fixed = inner.number("Fixed");
  } else if (strategy && *strategy != "BatchLongest") {
    settings.wrong("strategy", described(*strategy) + " is not supported");
  }
  if (out.fixed > kMost) settings.wrong("strategy", "rows of more than " + std::to_string(kMost) + " tokens");
  if (out.multiple_of > kMost)
    settings.wrong("pad_to_multiple_of", "rows of more than " + std::to_string(kMost) + " tokens");
  return out;
}

/// Reads added tokens. Ids are those of the vocabulary, or follow it: others are problems.
std::vector<AddedToken> read_added(Settings& settings, const model::Vocabulary& vocabulary) {
  std::vector<AddedToken> out;
  int64_t largest = -1;
  const auto size = static_cast<int64_t>(vocabulary.size());
  for (const auto& [path, v] : read_list(settings, "added_tokens")) {
    Settings one(*v, path, settings.problems());
    AddedToken token;
    token.content = one.text("content");
    token.single_word = one.flag("single_word", false);
    token.lstrip = one.flag("lstrip", false);
    token.rstrip = one.flag("rstrip", false);
    token.special = one.flag("special", false);
    token.normalized = one.flag("normalized", !token.special);
    const uint64_t id = one.number("id");
    if (token.content.empty()) continue;
    const model::Id known = vocabulary.find(token.content);
    const int64_t expected = known != model::kNone                            ? known
                             : largest >= size || (largest >= 0 && size == 0) ? largest + 1
                                                                              : size;
    if (id != static_cast<uint64_t>(expected) || id >= model::kMostId) {
      one.wrong("id", "expected " + std::to_string(expected) +
                          (known != model::kNone ? ", which '" : ", the next one, for '") + token.content +
                          (known != model::kNone ? "' has in the vocabulary" : "'") + ", found " +
                          std::to_string(id));
      continue;
    }
    token.id = static_cast<model::Id>(id);
    largest = std::max(largest, expected);
    out.push_back(std::move(token));
  }
  // Of two that a text matches equally the special one is taken.
  std::stable_partition(out.begin(), out.end(), [](const AddedToken& t) { return t.special; });
  return out;
}

void read_parts(Settings& settings, Loaded& out, const Making& making) {
  if (const Json* v = settings.find("normalizer")) out.normalizer = make_normalizer(*v, "normalizer", making);
  if (const Json* v = settings.find("pre_tokenizer"))
    out.pre_tokenizer = make_pre_tokenizer(*v, "pre_tokenizer", true, making);
  if (const Json* v = settings.find("post_processor"))
    out.post_processor = make_post_processor(*v, "post_processor", making);
  if (const Json* v = settings.find("decoder")) out.decoder = make_decoder(*v, "decoder", making);
  if (const Json* v = settings.find("truncation")) out.truncation = read_truncation(*v, making.problems);
  if (const Json* v = settings.find("padding")) out.padding = read_padding(*v, making.problems);
}

/// Looks for the names that special tokens commonly have.
void guess_special(Loaded& out) {
  const auto first = [&](std::initializer_list<const char*> names) -> std::optional<int64_t> {
    for (const char* name : names)
      if (const auto* token = out.added.of(name); token && token->special) return token->id;
    return {};
  };
  out.bos = first({"<s>", "[CLS]", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "<|endoftext|>"});
  out.eos = first({"</s>", "[SEP]", "<|end_of_text|>", "<eos>", "<|endoftext|>"});
  out.pad = first({"<pad>", "[PAD]", "<|pad|>"});
  out.unk = first({"<unk>", "[UNK]"});
  if (out.padding) out.pad = out.padding->id;
}

}  // namespace

std::unique_ptr<Loaded> load_json(const lazy::detail::FileBytes& file) {
  Entries entries;
  const Json document = read_json(file, &entries);
  Problems problems;
  auto out = std::make_unique<Loaded>();
  out->file = file.name;
  {
    Settings settings(document, "", problems);
    const Making making{problems, file.site};
    if (const std::string version = settings.text("version", "1.0"); version != "1.0")
      settings.wrong("version", "expected 1.0, found '" + version + "'");
    read_parts(settings, *out, making);
    if (const Json* v = settings.find("model")) out->model = make_model(*v, entries, "model", making);
    else settings.wrong("model", "is missing");
    if (out->model && settings.find("added_tokens") &&
        !out->added.set(read_added(settings, out->model->vocabulary), out->normalizer.get(), file.site))
      settings.wrong("added_tokens", "they are too long, or too many");
  }
  problems.raise(kOp, file.name, file.site);
  if (const auto* bpe = dynamic_cast<const model::Bpe*>(out->model.get());
      bpe && !out->pre_tokenizer && bpe->can_go_by_words() && spaces_begin_tokens(bpe->vocabulary))
    out->pre_tokenizer = std::make_unique<pipeline::BeforeSpaces>();
  guess_special(*out);
  return out;
}

}  // namespace lazy::text::files
