// Reads vocabularies that are published as files of their own: vocab.txt, and vocab.json with merges.txt.
#include "lazy/text/files/components.hpp"
#include "lazy/text/files/load.hpp"
#include "lazy/text/model/bpe.hpp"
#include "lazy/text/model/words.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::files {

using namespace pipeline;

namespace {

/// Calls f(line, place) for each line, without what ends it.
template <class F>
void each_line(std::string_view bytes, F&& f) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line = bytes.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line, at);
    at = end + 1;
  }
}

void check_text(const lazy::detail::FileBytes& file) {
  if (const size_t at = unicode::first_malformed(file.bytes); at != file.bytes.npos)
    file.bad(at, "expected text in UTF-8");
}

std::string or_else(std::string text, const char* otherwise) { return text.empty() ? otherwise : text; }

/// Makes added tokens of the special ones that the vocabulary has.
void add_special(Loaded& out, std::initializer_list<std::string> names, const Site& s) {
  std::vector<AddedToken> tokens;
  for (const std::string& name : names)
    if (const model::Id id = out.model->vocabulary.find(name); id != model::kNone)
      tokens.push_back({.content = name, .id = id, .normalized = false, .special = true});
  out.added.set(std::move(tokens), out.normalizer.get(), s);
}

/// Reads lines of two tokens.
void read_merges(const lazy::detail::FileBytes& file, Entries& entries) {
  check_text(file);
  entries.texts += file.bytes;
  const size_t base = entries.texts.size() - file.bytes.size();
  if (entries.texts.size() >= UINT32_MAX) file.bad(0, "the file has more than 4 GiB");
  each_line(file.bytes, [&](std::string_view line, size_t at) {
    if (line.starts_with("#version") || line.empty()) return;
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      file.bad(at,
               "expected two tokens with a space between, found '" + std::string(line.substr(0, 64)) + "'");
    if (entries.merges.size() == model::kMostMerges)
      file.bad(at, "more than " + std::to_string(model::kMostMerges) + " merges");
    const auto begin = static_cast<uint32_t>(base + at);
    entries.merges.push_back(
        {{begin, static_cast<uint32_t>(space)},
         {begin + static_cast<uint32_t>(space) + 1, static_cast<uint32_t>(line.size() - space - 1)}});
  });
}

}  // namespace

std::unique_ptr<Loaded> load_word_pieces(const lazy::detail::FileBytes& file, const Config& config) {
  check_text(file);
  auto out = std::make_unique<Loaded>();
  out->file = file.name;
  auto m = std::make_unique<model::WordPiece>();
  m->unknown = or_else(config.token("unk_token"), "[UNK]");
  uint64_t next = 0;
  each_line(file.bytes, [&](std::string_view line, size_t at) {
    if (next == model::kMostTokens)
      file.bad(at, "more than " + std::to_string(model::kMostTokens) + " tokens");
    m->vocabulary.add(line, static_cast<model::Id>(next++));
  });
  if (!m->prepare()) file.bad(0, "the tokens have too many different beginnings");
  auto normalizer = std::make_unique<BertNormalizer>();
  normalizer->lowercase = config.flag("do_lower_case", true);
  normalizer->strip_accents = config.flag("strip_accents", normalizer->lowercase);
  normalizer->handle_chinese_chars = config.flag("tokenize_chinese_chars", true);
  out->normalizer = std::move(normalizer);
  out->pre_tokenizer = std::make_unique<BertPreTokenizer>();
  out->decoder = std::make_unique<WordPieceDecoder>();
  const std::string cls = or_else(config.token("cls_token"), "[CLS]"),
                    sep = or_else(config.token("sep_token"), "[SEP]");
  const std::string pad = or_else(config.token("pad_token"), "[PAD]"),
                    mask = or_else(config.token("mask_token"), "[MASK]");
  const std::string unknown = m->unknown;
  out->model = std::move(m);
  add_special(*out, {unknown, sep, pad, cls, mask}, file.site);
  out->bos = out->id(cls);
  out->eos = out->id(sep);
  out->pad = out->id(pad);
  out->unk = out->id(unknown);
  if (out->bos && out->eos) {
    auto p = std::make_unique<BertProcessing>();
    p->cls = *out->bos;
    p->sep = *out->eos;
    out->post_processor = std::move(p);
  }
  return out;
}

std::unique_ptr<Loaded> load_byte_pairs(const lazy::detail::FileBytes& vocabulary,
                                        const lazy::detail::FileBytes& merges, const Config& config) {
  Entries entries;
  read_json(vocabulary, &entries, true);
  read_merges(merges, entries);
  Problems problems;
  auto out = std::make_unique<Loaded>();
  out->file = vocabulary.name;
  auto m = std::make_unique<model::Bpe>();
  fill(m->vocabulary, entries, "vocab", problems);
  fill_merges(*m, entries, "merges", problems);
  problems.raise(kOp, vocabulary.name, vocabulary.site);
  m->prepare();
  const bool is_roberta = config.text("tokenizer_class").find("Roberta") != std::string::npos ||
                          config.text("tokenizer_class").find("Bart") != std::string::npos;
  const char* const end = is_roberta ? "</s>" : "<|endoftext|>";
  const std::string unknown = or_else(config.token("unk_token"), is_roberta ? "<unk>" : end);
  m->has_unknown = m->vocabulary.find(unknown) != model::kNone;
  m->unknown = unknown;
  out->model = std::move(m);
  auto pre = std::make_unique<ByteLevel>();
  pre->add_prefix_space = config.flag("add_prefix_space", false);
  const bool prefix = pre->add_prefix_space;
  out->pre_tokenizer = std::move(pre);
  out->decoder = std::make_unique<ByteLevelDecoder>();
  const std::string bos = or_else(config.token("bos_token"), is_roberta ? "<s>" : end);
  const std::string eos = or_else(config.token("eos_token"), end),
                    pad = or_else(config.token("pad_token"), is_roberta ? "<pad>" : "");
  add_special(*out, {bos, eos, unknown, pad}, vocabulary.site);
  out->bos = out->id(bos);
  out->eos = out->id(eos);
  out->unk = out->id(unknown);
  if (!pad.empty()) out->pad = out->id(pad);
  if (is_roberta && out->bos && out->eos) {
    auto p = std::make_unique<RobertaProcessing>();
    p->cls = *out->bos;
    p->sep = *out->eos;
    p->add_prefix_space = prefix;
    out->post_processor = std::move(p);
  } else {
    auto p = std::make_unique<ByteLevelProcessing>();
    p->trim_offsets = false;
    out->post_processor = std::move(p);
  }
  return out;
}

}  // namespace lazy::text::files
