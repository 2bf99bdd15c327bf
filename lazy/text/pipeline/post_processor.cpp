#include "lazy/text/pipeline/post_processor.hpp"

#include <algorithm>
#include <numeric>

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {
namespace {

/// Puts special tokens before a row and behind it; -1: none.
void surround(Row& row, int64_t before, int64_t behind, int64_t type_id) {
  Row out;
  out.text = row.text;
  if (before >= 0) out.add_special(before, type_id);
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(out.tokens.ids, row.tokens.ids);
  append(out.tokens.offsets, row.tokens.offsets);
  append(out.tokens.type_ids, row.tokens.type_ids);
  append(out.tokens.special, row.tokens.special);
  if (!row.spaces_before.empty()) {
    append(out.spaces_before, row.spaces_before);
    append(out.spaces_behind, row.spaces_behind);
  }
  if (behind >= 0) out.add_special(behind, type_id);
  row = std::move(out);
}

/// Moves the ends of offsets over the spaces that the tokens begin and end with.
void trim(Row& row, bool add_prefix_space) {
  for (size_t i = 0; i < row.spaces_before.size(); ++i) {
    Span& at = row.tokens.offsets[i];
    uint32_t before = row.spaces_before[i];
    // One before the text may be the tokenizer's own, which stands for nothing.
    if ((i == 0 || at.begin == 0) && add_prefix_space && before == 1) before = 0;
    for (; before > 0 && at.begin < at.end; --before)
      at.begin += unicode::length_of(row.text[static_cast<size_t>(at.begin)]);
    at.begin = std::min(at.begin, at.end);
    uint32_t behind = row.spaces_behind[i];
    auto end = static_cast<size_t>(at.end);
    for (; behind > 0 && end > static_cast<size_t>(at.begin); --behind) unicode::previous(row.text, end);
    at.end = std::max(static_cast<int64_t>(end), at.begin);
  }
}

void set_types(Row& row, int64_t type_id) {
  std::fill(row.tokens.type_ids.begin(), row.tokens.type_ids.end(), type_id);
}

}  // namespace

void Row::add_special(int64_t id, int64_t type_id) {
  tokens.ids.push_back(id);
  tokens.offsets.emplace_back();
  tokens.type_ids.push_back(type_id);
  tokens.special.push_back(true);
  spaces_before.push_back(0);
  spaces_behind.push_back(0);
}

void BertProcessing::operator()(std::vector<Row>& rows, bool special_tokens) const {
  if (!special_tokens) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    set_types(rows[i], static_cast<int64_t>(i));
    surround(rows[i], i == 0 ? cls : -1, sep, static_cast<int64_t>(i));
  }
}

void RobertaProcessing::operator()(std::vector<Row>& rows, bool special_tokens) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (trim_offsets) trim(rows[i], add_prefix_space);
    set_types(rows[i], 0);
    if (special_tokens) surround(rows[i], i == 0 ? cls : sep, sep, 0);
  }
}

void ByteLevelProcessing::operator()(std::vector<Row>& rows, bool) const {
  if (trim_offsets)
    for (Row& row : rows) trim(row, add_prefix_space);
}

void TemplateProcessing::operator()(std::vector<Row>& rows, bool special_tokens) const {
  std::vector<Row> out;
  for (const Part& part : rows.size() > 1 ? pair : single) {
    Row row;
    if (part.sequence >= 0) {
      row = rows[static_cast<size_t>(part.sequence)];
      set_types(row, part.type_id);
    } else if (special_tokens) {
      for (const int64_t id : part.ids) row.add_special(id, part.type_id);
    } else {
      continue;
    }
    out.push_back(std::move(row));
  }
  rows = std::move(out);
}

size_t TemplateProcessing::added(bool is_pair) const {
  size_t n = 0;
  for (const Part& part : is_pair ? pair : single) n += part.ids.size();
  return n;
}

size_t PostProcessorSequence::added(bool pair) const {
  return std::accumulate(all.begin(), all.end(), size_t{0},
                         [&](size_t n, const auto& p) { return n + p->added(pair); });
}
bool PostProcessorSequence::needs_spaces() const {
  return std::any_of(all.begin(), all.end(), [](const auto& p) { return p->needs_spaces(); });
}

}  // namespace lazy::text::pipeline
