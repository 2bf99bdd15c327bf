// Reads SentencePiece's models: a message of protocol buffers with pieces, a trainer's and a normalizer's
// settings.
#include "lazy/text/files/sentencepiece.hpp"

#include "lazy/io/wire/reader.hpp"
#include "lazy/text/files/components.hpp"
#include "lazy/text/files/load.hpp"
#include "lazy/text/model/piece_pairs.hpp"
#include "lazy/text/model/unigram.hpp"
#include "lazy/text/pipeline/charsmap.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::files {
namespace {

using lazy::detail::FileBytes;
using wire::Message;

std::string_view text_of(const Message& m, const wire::Field& f, const char* what) {
  const std::string_view text = m.bytes(f, what);
  if (const size_t at = unicode::first_malformed(text); at != text.npos)
    m.file().bad(f.range.begin + at, std::string(what) + ": expected text in UTF-8");
  return text;
}

SpmPiece read_piece(Message m) {
  SpmPiece out;
  const uint64_t at = m.range().begin;
  while (const auto f = m.next()) {
    if (f->number == 1) out.text = text_of(m, *f, "a piece");
    if (f->number == 2) out.score = m.real(*f, "a piece's score");
    if (f->number == 3) out.type = m.integer(*f, "a piece's type");
  }
  check_piece(out, at, [&](uint64_t where, const std::string& what) { m.file().bad(where, what); });
  return out;
}

void read_trainer(Message m, Spm& out) {
  while (const auto f = m.next()) switch (f->number) {
      case 3: out.type = m.integer(*f, "model_type"); break;
      case 24: out.whitespace_is_suffix = m.integer(*f, "treat_whitespace_as_suffix") != 0; break;
      case 35: out.byte_fallback = m.integer(*f, "byte_fallback") != 0; break;
      case 44: out.unknown_surface = text_of(m, *f, "unk_surface"); break;
      case 45: out.unk = text_of(m, *f, "unk_piece"); break;
      case 46: out.bos = text_of(m, *f, "bos_piece"); break;
      case 47: out.eos = text_of(m, *f, "eos_piece"); break;
      case 48: out.pad = text_of(m, *f, "pad_piece"); break;
    }
}

void read_normalizer(Message m, Spm& out) {
  while (const auto f = m.next()) switch (f->number) {
      case 2:
        out.charsmap = m.bytes(*f, "precompiled_charsmap");
        out.charsmap_at = f->range.begin;
        break;
      case 3: out.add_dummy_prefix = m.integer(*f, "add_dummy_prefix") != 0; break;
      case 4: out.remove_extra_whitespaces = m.integer(*f, "remove_extra_whitespaces") != 0; break;
      case 5: out.escape_whitespaces = m.integer(*f, "escape_whitespaces") != 0; break;
    }
}

Spm read_spm(const FileBytes& file) {
  Spm out;
  Message m(file);
  while (const auto f = m.next()) {
    if (f->number == 1) {
      if (out.pieces.size() == model::kMostTokens)
        file.bad(f->range.begin, "more than " + std::to_string(model::kMostTokens) + " pieces");
      out.pieces.push_back(read_piece(Message(m, *f)));
    }
    if (f->number == 2) read_trainer(Message(m, *f), out);
    if (f->number == 3) read_normalizer(Message(m, *f), out);
  }
  if (out.pieces.empty()) file.bad(0, "expected a model of SentencePiece, found no pieces");
  return out;
}

std::unique_ptr<model::Model> make_unigram_of(const Spm& spm, const Bad& bad) {
  auto m = std::make_unique<model::Unigram>();
  m->single_precision = true;
  m->byte_fallback = spm.byte_fallback;
  // A score is of a normal piece; only these are in sums, but for the user's.
  const auto n = spm.pieces.size();
  m->is_unused.resize(n);
  m->is_user_defined.resize(n);
  m->scores.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const SpmPiece& piece = spm.pieces[i];
    m->vocabulary.add(piece.text, static_cast<model::Id>(i));
    m->scores[i] = piece.score;
    m->is_unused[i] = piece.type != kNormal && piece.type != kUserDefined;
    m->is_user_defined[i] = piece.type == kUserDefined;
    if (piece.type == kUnknown) m->unknown = static_cast<model::Id>(i);
  }
  if (!m->prepare()) bad(0, "the pieces have too many different beginnings");
  return m;
}

std::unique_ptr<model::Model> make_pairs_of(const Spm& spm, const Bad& bad) {
  auto m = std::make_unique<model::PiecePairs>();
  m->byte_fallback = spm.byte_fallback;
  for (size_t i = 0; i < spm.pieces.size(); ++i) {
    const SpmPiece& piece = spm.pieces[i];
    m->vocabulary.add(piece.text, static_cast<model::Id>(i));
    m->scores.push_back(piece.score);
    using Kind = model::PiecePairs::Kind;
    m->kinds.push_back(piece.type == kUserDefined ? Kind::user_defined
                       : piece.type == kUnused    ? Kind::unused
                       : piece.type == kNormal    ? Kind::normal
                                                  : Kind::reserved);
    if (piece.type == kUnknown) m->unknown = static_cast<model::Id>(i);
  }
  if (!m->prepare()) bad(0, "the user-defined pieces have too many different beginnings");
  return m;
}

std::unique_ptr<pipeline::SentencePieceNormalizer> make_normalizer_of(const Spm& spm, const Bad& bad) {
  auto n = std::make_unique<pipeline::SentencePieceNormalizer>();
  if (!spm.charsmap.empty())
    if (const std::string wrong = n->map.set(spm.charsmap); !wrong.empty())
      bad(spm.charsmap_at, "precompiled_charsmap: " + wrong);
  n->add_dummy_prefix = spm.add_dummy_prefix;
  n->remove_extra_whitespaces = spm.remove_extra_whitespaces;
  n->escape_whitespaces = spm.escape_whitespaces;
  n->whitespace_is_suffix = spm.whitespace_is_suffix;
  for (const SpmPiece& piece : spm.pieces)
    if (piece.type == kUserDefined) n->user_defined.emplace_back(piece.text);
  if (!n->prepare()) bad(0, "the user-defined pieces have too many different beginnings");
  return n;
}

}  // namespace

void check_piece(const SpmPiece& piece, uint64_t at, const Bad& bad) {
  if (piece.text.empty()) bad(at, "a piece without text");
  if (piece.type < kNormal || piece.type > kByte)
    bad(at, "piece '" + std::string(piece.text) + "' is of type " + std::to_string(piece.type) +
                ", expected 1 to 6");
  if (!(piece.score - piece.score == 0))
    bad(at, "piece '" + std::string(piece.text) + "' has no finite score");
}

std::unique_ptr<Loaded> load_sentencepiece(const FileBytes& file) {
  const Spm spm = read_spm(file);
  if (spm.type != kUnigram && spm.type != kBpe)
    throw Error(std::string(kOp) + ": " + file.name + ": model_type " + std::to_string(spm.type) +
                    " is not supported, only unigram (1) and BPE (2)",
                file.site);
  return make_sentencepiece(spm, file.name,
                            [&](uint64_t at, const std::string& what) { file.bad(at, what); });
}

std::unique_ptr<Loaded> make_sentencepiece(const Spm& spm, std::string file, const Bad& bad) {
  auto out = std::make_unique<Loaded>();
  out->file = std::move(file);
  out->normalizer = make_normalizer_of(spm, bad);
  out->model = spm.type == kBpe ? make_pairs_of(spm, bad) : make_unigram_of(spm, bad);
  // Sums of scores go on from word to word, and are rounded: only joined pieces are the same word by word.
  if (spm.type == kBpe && spaces_begin_tokens(out->model->vocabulary))
    out->pre_tokenizer = std::make_unique<pipeline::BeforeSpaces>();
  std::vector<pipeline::AddedToken> special;
  std::string unknown;
  for (size_t i = 0; i < spm.pieces.size(); ++i) {
    const SpmPiece& piece = spm.pieces[i];
    if (piece.type == kUnknown) unknown = piece.text;
    // Control pieces in a text are text: they are special for decoding alone.
    if (piece.type == kControl)
      special.push_back(
          {.content = std::string(piece.text), .id = static_cast<model::Id>(i), .special = true});
  }
  if (spm.byte_fallback)
    for (const model::Id id : model::byte_tokens(out->model->vocabulary))
      if (id == model::kNone) bad(0, "byte_fallback needs pieces for all 256 bytes");
  if (unknown.empty()) bad(0, "there is no piece of the type unknown");
  out->added.only_for_decoding(std::move(special));
  auto decoder = std::make_unique<pipeline::SentencePieceDecoder>();
  decoder->unknown = unknown;
  decoder->unknown_surface = spm.unknown_surface;
  decoder->drops_first = spm.add_dummy_prefix || spm.remove_extra_whitespaces;
  decoder->has_bytes = spm.byte_fallback;
  decoder->drops_all_first = spm.remove_extra_whitespaces;
  out->decoder = std::move(decoder);
  out->bos = out->id(spm.bos);
  out->eos = out->id(spm.eos);
  out->pad = out->id(spm.pad);
  out->unk = out->id(unknown);
  return out;
}

}  // namespace lazy::text::files
