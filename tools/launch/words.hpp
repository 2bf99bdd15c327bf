// Reads the words of a command line.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace lazy::tool {

/// Says what an option is that the command does not have, and which one is nearest; empty: there is none.
/// `until_command`: words from the first one on that is no option are another program's.
std::string unknown_option(const CLI::App& app, int argc, char** argv, bool until_command);
/// Has the app take the words. Returns the exit status where that is all: 0 after --help, 2 after what makes
/// no sense, which standard error says.
std::optional<int> parsed(CLI::App& app, int argc, char** argv);
/// Says that a word which is no program may be meant to be a command; empty: it is none that is near to one.
std::string misspelt_command(const std::string& word, const std::vector<std::string>& commands);

}  // namespace lazy::tool
