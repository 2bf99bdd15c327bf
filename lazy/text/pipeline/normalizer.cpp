#include "lazy/text/pipeline/normalizer.hpp"

#include <algorithm>

#include "lazy/text/pipeline/bytes.hpp"
#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {
namespace {

using unicode::Change;

/// Collects characters of which some are left out: a kept one takes over those that follow it.
class Kept {
 public:
  void keep(char32_t c) { changes.push_back({c, 0}); }
  void drop() {
    if (changes.empty()) ++skipped;
    else --changes.back().change;
  }
  std::vector<Change> changes;
  size_t skipped = 0;  // characters that are left out before the first
};

/// Leaves out the characters that `keeps` is false for.
template <class F>
void filter(Aligned& text, F&& keeps) {
  const std::string& bytes = text.bytes();
  Kept kept;
  kept.changes.reserve(bytes.size());
  bool all = true;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = unicode::next(bytes, at);
    if (keeps(c)) {
      kept.keep(c);
    } else {
      kept.drop();
      all = false;
    }
  }
  if (!all) text.transform(kept.changes, kept.skipped);
}

/// Puts f's character in the place of each.
template <class F>
void map(Aligned& text, F&& f) {
  const std::string& bytes = text.bytes();
  std::vector<Change> changes;
  changes.reserve(bytes.size());
  bool same = true;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = unicode::next(bytes, at);
    changes.push_back({f(c), 0});
    same &= changes.back().character == c;
  }
  if (!same) text.transform(changes);
}

void lower_case(Aligned& text) {
  if (unicode::is_ascii(text.bytes())) {
    for (char& c : text.same_length())
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return;
  }
  const std::string& bytes = text.bytes();
  std::vector<Change> changes;
  changes.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const unicode::Lower l = unicode::lower(unicode::next(bytes, at));
    changes.push_back({l.first, 0});
    if (l.second) changes.push_back({l.second, 1});
  }
  text.transform(changes);
}

void normal_form(Aligned& text, unicode::NormalForm form) {
  if (!unicode::is_surely_normal(form, text.bytes()))
    text.transform(unicode::normal_form(form, text.bytes()));
}

void space_ideographs(Aligned& text) {
  const std::string& bytes = text.bytes();
  std::vector<Change> changes;
  changes.reserve(bytes.size());
  bool any = false;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = unicode::next(bytes, at);
    if (!unicode::is_ideograph(c)) {
      changes.push_back({c, 0});
      continue;
    }
    any = true;
    changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
  }
  if (any) text.transform(changes);
}

}  // namespace

/// Does all of it for a text of ASCII without characters that are left out. Returns false for others.
bool BertNormalizer::in_place(Aligned& text) const {
  for (const char c : text.bytes()) {
    const auto b = static_cast<unsigned char>(c);
    if (b >= 0x7F || (b < 0x20 && clean_text && b != '\t' && b != '\n' && b != '\r')) return false;
  }
  for (char& c : text.same_length()) {
    if (clean_text && c < 0x20) c = ' ';
    if (lowercase && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return true;
}

void BertNormalizer::operator()(Aligned& text, const Site&) const {
  if (in_place(text)) return;
  if (clean_text) {
    filter(text, [](char32_t c) {
      return c == '\t' || c == '\n' || c == '\r' || !(c == unicode::kReplacement || unicode::is_other(c));
    });
    map(text, [](char32_t c) { return unicode::is_whitespace(c) ? U' ' : c; });
  }
  if (handle_chinese_chars) space_ideographs(text);
  if (strip_accents) {
    normal_form(text, unicode::NormalForm::nfd);
    filter(text, [](char32_t c) { return !unicode::is_nonspacing_mark(c); });
  }
  if (lowercase) lower_case(text);
}

void UnicodeNormalizer::operator()(Aligned& text, const Site&) const { normal_form(text, form); }
void Lowercase::operator()(Aligned& text, const Site&) const { lower_case(text); }
void StripAccents::operator()(Aligned& text, const Site&) const {
  filter(text, [](char32_t c) { return !unicode::is_mark(c); });
}

void Strip::operator()(Aligned& text, const Site&) const {
  const std::string& bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  for (size_t at = 0; left && at < bytes.size() && unicode::is_whitespace(unicode::next(bytes, at));)
    begin = at;
  for (size_t at = end; right && at > begin && unicode::is_whitespace(unicode::previous(bytes, at));)
    end = at;
  if (begin == 0 && end == bytes.size()) return;
  Aligned out;
  out.append(text, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
  text = std::move(out);
}

void replace(Aligned& text, const Pattern& pattern, std::string_view content, const Site& s) {
  Aligned out;
  size_t done = 0;
  bool any = false;
  pattern.each(text.bytes(), s, [&](size_t begin, size_t end) {
    if (!any) out.reserve(text.bytes().size());
    any = true;
    out.append(text, static_cast<uint32_t>(done), static_cast<uint32_t>(begin));
    out.append(content, text, static_cast<int64_t>(end) - 1);
    done = end;
  });
  if (!any) return;
  out.append(text, static_cast<uint32_t>(done), static_cast<uint32_t>(text.bytes().size()));
  text = std::move(out);
}

void Replace::operator()(Aligned& text, const Site& s) const { replace(text, pattern, content, s); }

void prepend(Aligned& text, std::string_view before) {
  if (text.bytes().empty()) return;
  Aligned out;
  out.append(before, text, 0);
  out.append(text, 0, static_cast<uint32_t>(text.bytes().size()));
  text = std::move(out);
}

void Prepend::operator()(Aligned& text, const Site&) const { prepend(text, this->text); }

void Nmt::operator()(Aligned& text, const Site&) const {
  filter(text, [](char32_t c) {
    return !((c >= 1 && c <= 8) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
             c == 0x9F);
  });
  map(text, [](char32_t c) {
    const bool space = c == 9 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == unicode::kReplacement;
    return space ? U' ' : c;
  });
}

void ByteLevelNormalizer::operator()(Aligned& text, const Site&) const {
  std::vector<Change> changes;
  changes.reserve(text.bytes().size());
  for (const char b : text.bytes())
    changes.push_back({kByteAlphabet[static_cast<unsigned char>(b)], unicode::continues(b) ? 1 : 0});
  text.transform(changes);
}

}  // namespace lazy::text::pipeline
