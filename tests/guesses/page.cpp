// Writes docs/coming_from.md from coming_from.def.
#include <cstdio>
#include <string>

namespace {

/// Returns text as it stands between backticks in a cell of a table; a comment follows in words.
std::string cell(std::string text) {
  std::string words;
  if (const size_t comment = text.find(" /* "); comment != text.npos) {
    words = " " + text.substr(comment + 4, text.find(" */", comment) - comment - 4);
    text.erase(comment);
  }
  for (size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, 1, '\\');
  return "`" + text + "`" + (words.empty() ? "" : " (" + words.substr(1) + ")");
}

/// Returns the other library's code, with what follows it in parentheses as words.
std::string theirs(std::string text) {
  const size_t words = text.rfind(" (");
  if (words == text.npos || !text.ends_with(")") || text[words + 2] < 'a' || text[words + 2] > 'z') return cell(text);
  return cell(text.substr(0, words)) + text.substr(words);
}

void library(const char* name) { std::printf("\n## From %s\n", name); }
void topic(const char* name, const char* of) { std::printf("\n### %s\n\n| %s | lazy |\n|---|---|\n", name, of); }

}  // namespace

int main() {
  std::puts(
#include "tests/guesses/coming_from_head.inc"
  );
  const char* of = "";
#define LIBRARY(name, suite) library(of = name);
#define TOPIC(name) topic(name, of);
#define ROW(other, ...) std::printf("| %s | %s |\n", theirs(other).c_str(), cell(kCode(#__VA_ARGS__)).c_str());
}
