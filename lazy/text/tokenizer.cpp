#include "lazy/text/tokenizer.hpp"

#include <algorithm>
#include <mutex>

#include "lazy/ops/creation.hpp"
#include "lazy/text/encoder.hpp"
#include "lazy/text/files/load.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text {

struct Tokenizer::State {
  std::unique_ptr<const files::Loaded> loaded;
  mutable std::mutex mutex;
  mutable pipeline::WordCache cache;  // of the one thread that has the mutex; others go without

  std::vector<pipeline::Row> rows(std::span<const std::string_view> texts, const char* op,
                                  const Site& s) const {
    std::vector<pipeline::Row> out;
    const std::unique_lock lock(mutex, std::try_to_lock);
    pipeline::WordCache own;
    int64_t type = 0;
    for (const std::string_view text : texts)
      out.push_back(tokens_of(*loaded, text, type++, lock.owns_lock() ? cache : own, op, s));
    return out;
  }

  Encoding encoding(std::span<const std::string_view> texts, bool special, std::optional<int64_t> most,
                    const char* op, const Site& s) const {
    auto all = rows(texts, op, s);
    const auto* const post = loaded->post_processor.get();
    auto truncation = loaded->truncation;
    if (most) {
      if (*most < 0)
        throw Error(std::string(op) + ": truncate_to is " + std::to_string(*most) + ", expected 0 or more",
                    s);
      if (!truncation) truncation.emplace();
      truncation->max_length = static_cast<uint64_t>(*most);
    }
    if (truncation) truncate(all, *truncation, special && post ? post->added(texts.size() > 1) : 0, op, s);
    if (post) (*post)(all, special);
    return joined(std::move(all));
  }
};

const Tokenizer::State& Tokenizer::state(const char* op, const Site& s) const {
  if (!state_) throw Error(std::string(op) + ": the tokenizer is empty: load_tokenizer() makes one", s);
  return *state_;
}

Tokenizer load_tokenizer(const std::filesystem::path& path, Site s) {
  auto state = std::make_shared<Tokenizer::State>();
  state->loaded = files::load(path, s);
  Tokenizer out;
  out.state_ = std::move(state);
  return out;
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options, Site s) const {
  return state("encode", s).encoding({&text, 1}, options.special_tokens, {}, "encode", s);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options,
                                Site s) const {
  const std::string_view both[] = {first, second};
  return state("encode_pair", s).encoding(both, options.special_tokens, {}, "encode_pair", s);
}

Batch Tokenizer::encode_batch(std::span<const std::string> texts, const BatchOptions& options, Site s) const {
  const State& self = state("encode_batch", s);
  std::vector<Encoding> rows;
  size_t longest = 0, shortest = SIZE_MAX;
  for (const std::string& text : texts) {
    const std::string_view view = text;
    rows.push_back(self.encoding({&view, 1}, options.special_tokens, options.truncate_to, "encode_batch", s));
    longest = std::max(longest, rows.back().ids.size());
    shortest = std::min(shortest, rows.back().ids.size());
  }
  const auto& padding = self.loaded->padding;
  size_t width = longest;
  if (options.pad && padding) {
    if (padding->fixed > 0) width = std::max<size_t>(longest, padding->fixed);
    if (padding->multiple_of > 0)
      width = (width + padding->multiple_of - 1) / padding->multiple_of * padding->multiple_of;
  }
  int64_t fill = 0;
  if (!rows.empty() && shortest < width) {
    if (!options.pad)
      throw Error("encode_batch: texts of " + std::to_string(shortest) + " to " + std::to_string(longest) +
                      " tokens fit one tensor only with pad = true",
                  s);
    const auto id = options.pad_id ? options.pad_id : padding ? std::optional(padding->id) : self.loaded->pad;
    if (!id) throw Error("encode_batch: the tokenizer has no token to pad with: pad_id says one", s);
    fill = *id;
  }
  const bool left = options.pad_left.value_or(padding && padding->left);
  std::vector<int64_t> ids(rows.size() * width, fill), mask(rows.size() * width, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i].ids;
    const size_t at = i * width + (left ? width - row.size() : 0);
    std::copy(row.begin(), row.end(), ids.begin() + static_cast<ptrdiff_t>(at));
    std::fill_n(mask.begin() + static_cast<ptrdiff_t>(at), row.size(), 1);
  }
  const ShapeArg shape{static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)};
  return {from_span(ids, shape, options.device, s), from_span(mask, shape, options.device, s)};
}

std::string Tokenizer::decode(std::span<const int64_t> ids, const DecodeOptions& options, Site s) const {
  const files::Loaded& t = *state("decode", s).loaded;
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int64_t id : ids) {
    const auto text = t.token(id);
    if (!text) continue;
    const auto* const added = t.added.of(*text);
    if (options.skip_special && added && added->special) continue;
    tokens.emplace_back(added && !added->decoded.empty() ? std::string_view(added->decoded) : *text);
  }
  if (tokens.empty()) return {};
  const char* const between = t.decoder ? "" : " ";
  if (t.decoder) (*t.decoder)(tokens, s);
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += between;
    out += tokens[i];
  }
  return out;
}

int64_t Tokenizer::vocab_size(Site s) const {
  const files::Loaded& t = *state("vocab_size", s).loaded;
  auto end = static_cast<int64_t>(t.model->vocabulary.end());
  for (const auto& token : t.added.all()) end = std::max<int64_t>(end, int64_t{token.id} + 1);
  return end;
}

std::optional<int64_t> Tokenizer::id(std::string_view token, Site s) const {
  return state("id", s).loaded->id(token);
}

std::optional<std::string> Tokenizer::token(int64_t id, Site s) const {
  const auto text = state("token", s).loaded->token(id);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

bool Tokenizer::is_special(int64_t id, Site s) const {
  const files::Loaded& t = *state("is_special", s).loaded;
  const auto text = t.token(id);
  const auto* const added = text ? t.added.of(*text) : nullptr;
  return added && added->special;
}

std::optional<int64_t> Tokenizer::bos(Site s) const { return state("bos", s).loaded->bos; }
std::optional<int64_t> Tokenizer::eos(Site s) const { return state("eos", s).loaded->eos; }
std::optional<int64_t> Tokenizer::pad(Site s) const { return state("pad", s).loaded->pad; }
std::optional<int64_t> Tokenizer::unk(Site s) const { return state("unk", s).loaded->unk; }
std::string Tokenizer::chat_template(Site s) const { return state("chat_template", s).loaded->chat_template; }

DecodeStream::DecodeStream(Tokenizer tokenizer, const DecodeOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

std::string DecodeStream::step(int64_t id, Site s) {
  if (options_.skip_special && tokenizer_.is_special(id, s)) return {};
  ids_.push_back(id);
  std::string text = tokenizer_.decode(ids_, options_, s);
  // A character that is not complete yet is decoded to U+FFFD: what may change is not returned.
  if (text.size() <= returned_.size() || text.ends_with("\uFFFD")) return {};
  std::string added = text.substr(returned_.size());
  // Only what was added last is decoded again with the next token, unless that has no text by itself: what
  // stands at the start of a text may be decoded otherwise than within one.
  const std::vector<int64_t> last(ids_.begin() + static_cast<ptrdiff_t>(done_), ids_.end());
  std::string alone = tokenizer_.decode(last, options_, s);
  if (alone.empty()) {
    returned_ = std::move(text);
  } else {
    ids_ = last;
    returned_ = std::move(alone);
  }
  done_ = ids_.size();
  return added;
}

std::string DecodeStream::finish(Site s) {
  std::string text = tokenizer_.decode(ids_, options_, s);
  std::string added = text.size() > returned_.size() ? text.substr(returned_.size()) : std::string();
  ids_.clear();
  returned_.clear();
  done_ = 0;
  return added;
}

}  // namespace lazy::text
