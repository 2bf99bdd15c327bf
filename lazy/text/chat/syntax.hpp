// Holds what a chat template was read as: statements and expressions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lazy/text/chat/value.hpp"

namespace lazy::text::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : uint8_t {
  constant,   // value
  name,       // name
  list,       // parts
  tuple,      // parts
  dict,       // parts: keys and values in turn
  attribute,  // parts[0].name
  item,       // parts[0][parts[1]]
  slice,      // parts[0][parts[1]:parts[2]:parts[3]], each of these null if it is left out
  call,       // parts[0](parts[1...], arguments)
  filter,     // parts[0] | name(parts[1...], arguments)
  test,       // parts[0] is name(parts[1...], arguments)
  negative,   // -parts[0], and so on
  positive,
  not_,
  and_,
  or_,
  binary,    // name: the operator
  compare,   // parts[0] names[0] parts[1] names[1] parts[2] ...
  condition  // parts[0] if parts[1] else parts[2], which is null if it is left out
};

struct Expression {
  ExpressionKind kind;
  size_t at;      // byte of the template
  int depth = 1;  // of parts in parts
  std::string name = {};
  Value value = {};
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::pair<std::string, ExpressionPtr>> arguments = {};  // that are given by name
  std::vector<std::string> names = {};
};

struct Statement;
using Statements = std::vector<Statement>;

enum class StatementKind : uint8_t {
  text,
  print,
  if_,
  for_,
  set,
  set_block,
  macro,
  break_,
  continue_,
  block
};

struct Statement {
  StatementKind kind;
  size_t at;
  std::string text = {};                     // of a text; a macro's name
  ExpressionPtr first = {};                  // printed, the condition, what a loop goes over, what is set
  ExpressionPtr filter = {};                 // of a loop: which items count
  std::vector<std::string> targets = {};     // names of a loop, of set, of a macro's parameters
  std::string attribute = {};                // set a.attribute = ...
  std::vector<ExpressionPtr> defaults = {};  // of the last parameters of a macro
  std::vector<ExpressionPtr> filters = {};   // of set_block: calls of filters, whose parts[0] is null
  Statements body = {}, otherwise = {};
};

/// Bound how deep statements and expressions lie in each other by brackets, and by operators that follow each
/// other.
inline constexpr int kMostNested = 100, kMostLinked = 500;

/// Reads a template. Fault for what it is not.
Statements parse(std::string_view source);

}  // namespace lazy::text::chat
