#include "support/log_folding.hpp"

#include <algorithm>
#include <cstdlib>

namespace lazy::logging {
namespace {

constexpr size_t kMostKinds = 1024;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Returns the length of the number at `i`, 0 if there is none. A number that belongs to a name, a line or a
/// device ("main.cpp:33", "map_add_3", "cuda:0") is none; that of a value ("v12") is one.
size_t number_at(std::string_view s, size_t i) {
  if (!is_digit(s[i])) return 0;
  if (i > 0) {
    const char before = s[i - 1];
    const bool value = before == 'v' && (i == 1 || !is_word(s[i - 2]));
    if (!value && (is_word(before) || before == ':' || before == '.')) return 0;
  }
  size_t end = i;
  while (end < s.size() && is_digit(s[end])) ++end;
  if (end + 1 < s.size() && s[end] == '.' && is_digit(s[end + 1]))
    for (++end; end < s.size() && is_digit(s[end]);) ++end;
  return end < s.size() && is_word(s[end]) ? 0 : end - i;
}

struct Parts {
  std::vector<std::string_view> around, numbers;
  std::string key;
};

Parts parts_of(std::string_view s) {
  Parts p;
  size_t from = 0;
  for (size_t i = 0; i < s.size();) {
    const size_t n = number_at(s, i);
    if (n == 0) {
      if (is_digit(s[i]))  // of a name: to its end
        while (i + 1 < s.size() && is_word(s[i + 1])) ++i;
      ++i;
      continue;
    }
    p.around.push_back(s.substr(from, i - from));
    p.numbers.push_back(s.substr(i, n));
    i = from = i + n;
  }
  p.around.push_back(s.substr(from));
  for (size_t i = 0; i < p.around.size(); ++i) (p.key += i ? "\x01" : "") += p.around[i];
  return p;
}

}  // namespace

std::string with_prefix(std::string_view prefix, std::string_view text) {
  std::string out;
  out.reserve(prefix.size() + text.size() + 1);
  while (true) {
    const size_t end = text.find('\n');
    ((out += prefix) += text.substr(0, end)) += '\n';
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string Folding::add(std::string_view prefix, std::string_view text) {
  const Parts all = parts_of(text);
  Kind& k = kinds_[std::string(prefix) + all.key];
  if (k.printed < kFew) {
    std::string out = rest();
    if (kinds_.size() > kMostKinds) {
      kinds_.clear();
    } else {
      ++k.printed;
      k.prefix = prefix;
    }
    return out + with_prefix(prefix, text);
  }
  const Parts first = parts_of(text.substr(0, text.find('\n')));
  if (k.counted++ == 0) {
    k.order = ++order_;
    k.around.assign(first.around.begin(), first.around.end());
    k.ranges.clear();
  }
  ++counted_;
  k.ranges.resize(first.numbers.size());
  for (size_t i = 0; i < first.numbers.size(); ++i) {
    Range& r = k.ranges[i];
    const std::string written(first.numbers[i]);
    const double v = std::strtod(written.c_str(), nullptr);
    if (k.counted == 1 || v < r.least) r.least = v, r.least_text = written;
    if (k.counted == 1 || v > r.most) r.most = v, r.most_text = written;
  }
  return {};
}

std::string Folding::text_of(const Kind& k) {
  std::string s = k.prefix + "... and " + std::to_string(k.counted) + " more like it: ";
  for (size_t i = 0; i < k.around.size(); ++i) {
    s += k.around[i];
    if (i == k.ranges.size()) break;
    const Range& r = k.ranges[i];
    s += r.least_text;
    if (r.least_text != r.most_text) (s += " to ") += r.most_text;
  }
  return s + '\n';
}

std::string Folding::rest() {
  if (counted_ == 0) return {};
  std::vector<Kind*> counted;
  for (auto& [key, k] : kinds_)
    if (k.counted) counted.push_back(&k);
  std::sort(counted.begin(), counted.end(), [](const Kind* a, const Kind* b) { return a->order < b->order; });
  std::string out;
  for (Kind* const k : counted) out += text_of(*k), k->counted = 0;
  counted_ = 0;
  return out;
}

}  // namespace lazy::logging
