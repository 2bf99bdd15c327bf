#include "tools/launch/words.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tools/launch/nearest.hpp"

namespace lazy::tool {
namespace {

constexpr size_t kMostEdits = 2;  // of a word that may be another one, misspelt

/// True if a shell would find a program of this name.
bool is_program(const std::string& word) {
  if (word.find('/') != word.npos) return true;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + word).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

std::string unknown_option(const CLI::App& app, int argc, char** argv, bool until_command) {
  std::vector<std::string> known;
  for (const CLI::Option* o : app.get_options())
    if (o->get_group() != "")  // others are for launchers, not for people
      for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return {};
    if (word.size() < 2 || word[0] != '-') {
      if (until_command) return {};
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (!option)
      return "there is no option " + name.substr(0, 60) + "; the nearest is " + nearest(name, known);
    if (name.size() == word.size() && option->get_items_expected_min() > 0)
      ++i;  // the next word is its value
  }
  return {};
}

std::optional<int> parsed(CLI::App& app, int argc, char** argv) {
  if (const std::string wrong = unknown_option(app, argc, argv, false); !wrong.empty()) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), wrong.c_str());
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) ? 2 : 0; }
  return {};
}

std::string misspelt_command(const std::string& word, const std::vector<std::string>& commands) {
  if (word.empty() || word[0] == '-' || is_program(word)) return {};
  const std::string other = nearest(word, commands);
  if (edits(word.substr(0, 64), other) > kMostEdits) return {};
  return "there is no command " + word.substr(0, 60) +
         ", nor a program of that name; the nearest command is " + other;
}

}  // namespace lazy::tool
