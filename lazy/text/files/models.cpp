#include <cmath>

#include "lazy/text/files/components.hpp"
#include "lazy/text/model/bpe.hpp"
#include "lazy/text/model/unigram.hpp"
#include "lazy/text/model/words.hpp"

namespace lazy::text::files {

using namespace model;

void fill(Vocabulary& vocabulary, const Entries& entries, const std::string& path, Problems& problems) {
  Id next = 0;
  for (const auto& [text, number] : entries.vocabulary) {
    const double id = entries.vocabulary_is_list ? next++ : number;
    if (!(id >= 0 && id < static_cast<double>(kMostId) && id == std::floor(id))) {
      problems.add(path + "." + std::string(entries.text(text)),
                   "expected an id below " + std::to_string(kMostId) + ", found " + std::to_string(id));
      return;
    }
    vocabulary.add(entries.text(text), static_cast<Id>(id));
  }
}

bool spaces_begin_tokens(const Vocabulary& vocabulary) {
  constexpr std::string_view kSpace = "\u2581";
  for (Id id = 0; id < vocabulary.end(); ++id) {
    const auto token = vocabulary.token(id);
    if (!token) continue;
    for (size_t at = token->find(kSpace); at != token->npos; at = token->find(kSpace, at + kSpace.size()))
      if (at > 0 && !token->substr(0, at).ends_with(kSpace)) return false;
  }
  return vocabulary.find(kSpace) != kNone;
}

void fill_merges(Model& m, const Entries& entries, const std::string& path, Problems& problems) {
  auto& bpe = static_cast<Bpe&>(m);
  std::string both;
  uint32_t rank = 0;
  for (const auto& [left, right] : entries.merges) {
    const std::string_view a = entries.text(left), b = entries.text(right);
    const Id left_id = bpe.vocabulary.find(a), right_id = bpe.vocabulary.find(b);
    both = a;
    both += b.substr(std::min(b.size(), bpe.prefix.size()));
    const Id id = bpe.vocabulary.find(both);
    if (left_id == kNone || right_id == kNone || id == kNone) {
      const std::string_view missing = left_id == kNone ? a : right_id == kNone ? b : std::string_view(both);
      problems.add(path + "[" + std::to_string(rank) + "]",
                   "'" + std::string(missing.substr(0, 64)) + "' is not in the vocabulary");
      return;
    }
    bpe.merges.add(left_id, right_id, {rank++, id});
  }
}

namespace {

std::unique_ptr<Model> make_bpe(Settings& settings, const Entries& entries) {
  auto m = std::make_unique<Bpe>();
  settings.find("merges");
  if (const Json* dropout = settings.find("dropout"); dropout && !(dropout->is_number() && *dropout == 0))
    settings.wrong("dropout",
                   "is not supported (" + described(*dropout) + "): encoding is the same each time");
  m->has_unknown = settings.find("unk_token") != nullptr;
  m->unknown = settings.text("unk_token", "");
  m->prefix = settings.text("continuing_subword_prefix", "");
  m->suffix = settings.text("end_of_word_suffix", "");
  m->fuses_unknown = settings.flag("fuse_unk", false);
  m->byte_fallback = settings.flag("byte_fallback", false);
  m->ignores_merges = settings.flag("ignore_merges", false);
  fill(m->vocabulary, entries, settings.path("vocab"), settings.problems());
  fill_merges(*m, entries, settings.path("merges"), settings.problems());
  m->prepare();
  return m;
}

std::unique_ptr<Model> make_unigram(Settings& settings, const Entries& entries) {
  auto m = std::make_unique<Unigram>();
  m->byte_fallback = settings.flag("byte_fallback", false);
  fill(m->vocabulary, entries, settings.path("vocab"), settings.problems());
  for (const auto& token : entries.vocabulary) m->scores.push_back(token.number);
  if (settings.find("unk_id")) {
    const uint64_t unknown = settings.number("unk_id");
    if (unknown >= m->scores.size())
      settings.wrong("unk_id", std::to_string(unknown) + " is not in the vocabulary of " +
                                   std::to_string(m->scores.size()) + " tokens");
    else m->unknown = static_cast<Id>(unknown);
  }
  if (!m->prepare())
    settings.wrong("vocab", "its tokens have too many different beginnings, or there are none");
  return m;
}

std::unique_ptr<Model> make_word_piece(Settings& settings, const Entries& entries) {
  auto m = std::make_unique<WordPiece>();
  m->unknown = settings.text("unk_token");
  m->prefix = settings.text("continuing_subword_prefix", "##");
  m->longest_word = settings.number("max_input_chars_per_word", 100);
  fill(m->vocabulary, entries, settings.path("vocab"), settings.problems());
  if (!m->prepare())
    settings.wrong("vocab", "its tokens have too many different beginnings, or there are none");
  return m;
}

/// Returns the type of a model whose file says none, as older ones do.
std::string guessed_type(Settings& settings, const Json& v, const Entries& entries) {
  if (v.contains("merges")) return "BPE";
  if (entries.vocabulary_is_list) return "Unigram";
  if (v.contains("continuing_subword_prefix")) return "WordPiece";
  settings.wrong("type", "is missing");
  return {};
}

}  // namespace

std::unique_ptr<Model> make_model(const Json& v, const Entries& entries, const std::string& path,
                                  const Making& making) {
  Settings settings(v, path, making.problems);
  std::string type = settings.text("type", "");
  if (type.empty() && v.is_object()) type = guessed_type(settings, v, entries);
  if (!settings.find("vocab")) settings.wrong("vocab", "is missing");
  const bool is_list = type == "Unigram";
  if (!entries.vocabulary.empty() && is_list != entries.vocabulary_is_list) {
    settings.wrong("vocab", is_list ? "expected a list of pieces and scores" : "expected an object of ids");
    return nullptr;
  }
  if (type == "BPE") return make_bpe(settings, entries);
  if (type == "Unigram") return make_unigram(settings, entries);
  if (type == "WordPiece") return make_word_piece(settings, entries);
  if (type == "WordLevel") {
    auto m = std::make_unique<WordLevel>();
    m->unknown = settings.text("unk_token");
    fill(m->vocabulary, entries, settings.path("vocab"), settings.problems());
    return m;
  }
  if (!type.empty()) settings.wrong("type", "the model '" + type + "' is not supported");
  return nullptr;
}

}  // namespace lazy::text::files
