#include "lazy/text/chat/lexer.hpp"

#include <algorithm>
#include <array>

#include "lazy/text/chat/value.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Reads the source from its begin to its end.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : all_(source) {}

  std::vector<Token> run() && {
    while (at_ < all_.size()) outside();
    put(TokenKind::end, "", all_.size());
    return std::move(tokens_);
  }

 private:
  void put(TokenKind kind, std::string text, size_t at) { tokens_.push_back({kind, std::move(text), at}); }
  bool has(std::string_view text, size_t at) const {
    return all_.substr(std::min(at, all_.size())).starts_with(text);
  }
  char at(size_t i) const { return i < all_.size() ? all_[i] : '\0'; }

  /// Reads text up to the next tag, and the tag.
  void outside() {
    const size_t from = at_;
    size_t tag = from;
    do tag = all_.find('{', tag);
    while (tag != all_.npos && at(tag + 1) != '{' && at(tag + 1) != '%' && at(tag + 1) != '#' && ++tag);
    if (tag == all_.npos) tag = all_.size();
    const char kind = at(tag + 1), sign = at(tag + 2);
    std::string_view text = all_.substr(from, tag - from);
    if (tag < all_.size()) text = stripped(text, kind, sign);
    if (!text.empty()) put(TokenKind::text, std::string(text), from);
    at_ = tag;
    if (tag == all_.size()) return;
    at_ += sign == '-' || sign == '+' ? 3 : 2;
    if (kind == '#') return comment(tag);
    if (kind == '%' && raw(tag)) return;
    put(kind == '{' ? TokenKind::open_print : TokenKind::open_block, "", tag);
    inside(kind == '{' ? '}' : '%', tag);
  }

  /// Returns what is left of the text before a tag.
  std::string_view stripped(std::string_view text, char kind, char sign) const {
    if (sign == '-') {
      while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
      return text;
    }
    if (sign == '+' || kind == '{') return text;
    size_t line = text.rfind('\n');
    line = line == text.npos ? 0 : line + 1;
    if (line == 0 && !line_begins_) return text;
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(line), text.end(), is_space)
               ? text.substr(0, line)
               : text;
  }

  /// Goes behind the end of a tag, and what is not written behind it: all space, or the end of the line.
  void close(char sign, size_t end, bool block) {
    at_ = end;
    if (sign == '-') {
      while (at_ < all_.size() && is_space(all_[at_])) ++at_;
    } else if (sign != '+' && block && at(at_) == '\n') {
      ++at_;
    }
    line_begins_ = all_[at_ - 1] == '\n';
  }

  void comment(size_t tag) {
    const size_t end = all_.find("#}", at_);
    if (end == all_.npos) throw Fault{tag, "the comment does not end"};
    const char sign = end > at_ ? all_[end - 1] : '\0';
    close(sign, end + 2, true);
  }

  /// Reads {% raw %} up to {% endraw %}; returns false for other tags.
  bool raw(size_t tag) {
    size_t i = at_;
    if (!word("raw", i)) return false;
    const char first = at(i);
    if (!(first == '-' ? has("-%}", i) : has("%}", i))) return false;
    i += first == '-' ? 3 : 2;
    while (first == '-' && i < all_.size() && is_space(all_[i])) ++i;
    for (size_t end = all_.find("{%", i); end != all_.npos; end = all_.find("{%", end + 1)) {
      const char sign = at(end + 2);
      size_t j = end + (sign == '-' || sign == '+' ? 3 : 2);
      if (!word("endraw", j)) continue;
      const char last = at(j);
      if (!has("%}", j + (last == '-' || last == '+' ? 1 : 0))) continue;
      const std::string_view text = stripped(all_.substr(i, end - i), '%', sign);
      if (!text.empty()) put(TokenKind::text, std::string(text), i);
      close(last, j + (last == '-' || last == '+' ? 3 : 2), true);
      return true;
    }
    throw Fault{tag, "{% raw %} does not end"};
  }

  /// Goes behind space, a word and space; returns false where it does not stand.
  bool word(std::string_view text, size_t& i) const {
    while (i < all_.size() && is_space(all_[i])) ++i;
    if (!has(text, i)) return false;
    i += text.size();
    while (i < all_.size() && is_space(all_[i])) ++i;
    return true;
  }

  /// Reads the tokens of a tag and its end.
  void inside(char closing, size_t tag) {
    std::string brackets;  // that are open
    while (true) {
      while (at_ < all_.size() && is_space(all_[at_])) ++at_;
      if (at_ >= all_.size()) throw Fault{tag, "the tag does not end"};
      if (brackets.empty()) {
        const char sign = all_[at_];
        const size_t end = at_ + ((sign == '-' || (sign == '+' && closing == '%')) ? 1 : 0);
        if (at(end) == closing && at(end + 1) == '}') {
          put(closing == '}' ? TokenKind::close_print : TokenKind::close_block, "", at_);
          return close(end > at_ ? sign : '\0', end + 2, closing == '%');
        }
      }
      const char c = all_[at_];
      if (c == '\'' || c == '"') string(c);
      else if (is_digit(c)) number();
      else if (begins_name(c)) name();
      else operator_or_bracket(brackets);
    }
  }

  void name() {
    const size_t from = at_;
    while (at_ < all_.size() && (begins_name(all_[at_]) || is_digit(all_[at_]))) ++at_;
    put(TokenKind::name, std::string(all_.substr(from, at_ - from)), from);
  }

  void number() {
    const size_t from = at_;
    const auto digits = [&] {
      while (is_digit(at(at_)) || (at(at_) == '_' && is_digit(at(at_ + 1)))) ++at_;
    };
    bool real = false;
    digits();
    if (at(at_) == '.' && is_digit(at(at_ + 1))) real = true, ++at_, digits();
    const size_t exponent = at_ + (at(at_ + 1) == '+' || at(at_ + 1) == '-' ? 2 : 1);
    if ((at(at_) == 'e' || at(at_) == 'E') && is_digit(at(exponent))) real = true, at_ = exponent, digits();
    std::string text(all_.substr(from, at_ - from));
    std::erase(text, '_');
    put(real ? TokenKind::real : TokenKind::integer, std::move(text), from);
  }

  void string(char quote) {
    const size_t from = at_++;
    std::string text;
    while (at(at_) != quote || at_ >= all_.size()) {
      if (at_ >= all_.size()) throw Fault{from, "the string does not end"};
      if (all_[at_] != '\\') text += all_[at_++];
      else escape(text);
    }
    ++at_;
    put(TokenKind::string, std::move(text), from);
  }

  /// Reads a backslash and what it stands for: Python's escapes.
  void escape(std::string& text) {
    const size_t from = at_;
    const char c = at(at_ + 1);
    at_ += 2;
    constexpr std::string_view kNames = "ntrabfv\\'\"", kStandFor = "\n\t\r\a\b\f\v\\'\"";
    if (const size_t i = kNames.find(c); c != '\0' && i != kNames.npos) return void(text += kStandFor[i]);
    if (c == '\n') return;
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      if (is_digit(c)) throw Fault{from, "octal escapes are not supported"};
      text += '\\';  // as it stands
      at_ = from + 1;
      return;
    }
    char32_t code = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const char d = at(at_);
      const int value = is_digit(d)            ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
      if (value < 0) throw Fault{from, "the escape has too few digits"};
      code = code << 4 | static_cast<char32_t>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) throw Fault{from, "the escape is no character"};
    unicode::append(text, code);
  }

  void operator_or_bracket(std::string& brackets) {
    constexpr std::array<std::string_view, 6> kTwo = {"==", "!=", "<=", ">=", "//", "**"};
    const size_t from = at_;
    for (const std::string_view two : kTwo)
      if (has(two, at_)) {
        at_ += 2;
        return put(TokenKind::sign, std::string(two), from);
      }
    const char c = all_[at_];
    if (std::string_view("+-*/%~<>=.,:|()[]{};").find(c) == std::string_view::npos)
      throw Fault{from, std::string("'") + c + "' belongs to no expression"};
    if (c == '(' || c == '[' || c == '{') brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty() || brackets.back() != c)
        throw Fault{from, std::string("'") + c + "' closes nothing"};
      brackets.pop_back();
    }
    ++at_;
    put(TokenKind::sign, std::string(1, c), from);
  }

  std::string_view all_;
  size_t at_ = 0;
  bool line_begins_ = true;  // before what is read next stands the begin of a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace lazy::text::chat
