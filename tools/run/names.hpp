// Finds the input or output that a text of the command line is about.
#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/run/model.hpp"

namespace lazy::tool {

/// Says what is wrong with the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns "float32 [batch, 3, 224, 224]"; "?" is an extent of which nothing is said.
std::string describe(const Value&);
/// Returns "'a', 'b', 'c'".
std::string list_names(std::span<const Value>);
/// Returns the value of that name. UsageError, which lists the names and says the nearest one, if there is
/// none; `what` is "input" or "output".
const Value& find(std::span<const Value>, const std::string& name, const char* what);
/// Splits "name=rest" at the first '='. A text without one is about the only value: its name is taken.
/// UsageError if there are several.
std::pair<std::string, std::string> split(std::span<const Value>, const std::string& text, const char* what);
/// True if the text names a value before its first '='.
bool names_one(const std::string& text);
/// True if a file's name ends so, in any case.
bool has_ending(const std::string& path, const char* ending);

}  // namespace lazy::tool
