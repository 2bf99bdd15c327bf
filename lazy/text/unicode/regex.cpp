#include "lazy/text/unicode/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "support/error.hpp"

namespace lazy::text::unicode {
namespace {

// Steps that a match may take: what real expressions need is below a thousandth, and this is a fraction of a
// second.
constexpr uint32_t kMostSteps = 10'000'000;
constexpr size_t kStack = 32 << 10, kMostStack = 1 << 20;  // bytes, of compiled expressions

std::string message(int error) {
  std::array<char, 256> text{};
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
  return text.data();
}

/// Returns the pattern with classes as Unicode has them: PCRE2's \s has U+180E, and its \w no marks.
std::string with_unicode_classes(std::string_view pattern) {
  std::string out;
  int depth = 0;  // of brackets
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[') ++depth;
      if (c == ']' && depth > 0 && pattern[i - 1] != '[') --depth;
      if (c == '[' && depth > 1) {
        // A nested bracket is a class of POSIX ([:alpha:]), which ends with its own, or an ordinary
        // character.
        --depth;
        if (i + 1 < pattern.size() && pattern[i + 1] == ':') {
          const size_t end = pattern.find(":]", i);
          if (end != pattern.npos) {
            out.append(pattern, i, end + 2 - i);
            i = end + 1;
            continue;
          }
        }
      }
      out.push_back(c);
      continue;
    }
    const char kind = pattern[++i];
    const char* const word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
    if (kind == 's') out += R"(\p{White_Space})";
    else if (kind == 'S') out += R"(\P{White_Space})";
    else if (kind == 'w' && depth > 0) out += word;
    else if (kind == 'w') out += std::string("[") + word + "]";
    else if (kind == 'W' && depth == 0) out += std::string("[^") + word + "]";
    else (out += c) += kind;
  }
  return out;
}

struct OfThread {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStack, kMostStack, nullptr);
  OfThread() {
    pcre2_set_match_limit(context, kMostSteps);
    pcre2_set_heap_limit(context, kMostStack >> 10);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  OfThread(const OfThread&) = delete;
  ~OfThread() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  Code() = default;
  Code(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern, const Site& s) {
  const std::string translated = with_unicode_classes(pattern);
  int error = 0;
  size_t at = 0;
  auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  if (!code->code)
    throw Error("the regular expression '" + std::string(pattern) + "' can't be compiled: " + message(error) +
                    ", at byte " + std::to_string(at) + " of '" + translated + "'",
                s);
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // without it, it is interpreted
  code_ = std::move(code);
}

std::optional<Regex::Match> Regex::find(std::string_view text, size_t from, const Site& s) const {
  thread_local OfThread own;
  const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int n = pcre2_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, own.data, own.context);
  if (n == PCRE2_ERROR_JIT_STACKLIMIT)
    n = pcre2_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, own.data,
                    own.context);
  if (n == PCRE2_ERROR_NOMATCH) return {};
  if (n < 0)
    throw Error("a regular expression can't be matched at byte " + std::to_string(from) + ": " + message(n),
                s);
  const size_t* const places = pcre2_get_ovector_pointer(own.data);
  return Match{places[0], places[1]};
}

}  // namespace lazy::text::unicode
