// Holds what Jinja and Python bring: filters, tests, methods and functions of chat templates.
#pragma once
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lazy/text/chat/value.hpp"

namespace lazy::text::chat {

/// Bounds what rendering may take: steps, one for each part of an expression and each 16 bytes of text that
/// is made, and bytes of what is written.
inline constexpr size_t kMostSteps = size_t{1} << 23, kMostOutput = size_t{1} << 26;

struct Statement;

/// Holds what can be called: a function, a method of `self`, or a macro.
struct Callable {
  std::string name;
  Value self = {};  // of a method
  bool method = false;
  const Statement* macro = nullptr;  // null: a function or method
};

struct Arguments {
  std::vector<Value> given;
  std::vector<std::pair<std::string, Value>> named = {};
};

/// Counts what rendering takes, and knows where in the template it is.
class Meter {
 public:
  size_t at = 0;        // byte of the template, of what is computed now
  std::time_t now = 0;  // for strftime_now()
  void charge(size_t steps) {
    steps_ += steps;
    if (steps_ > kMostSteps) fail("the template takes more than " + std::to_string(kMostSteps) + " steps");
  }
  /// Returns a text that was made, which counts by its size.
  Value made(std::string s) {
    charge(1 + s.size() / 16);
    return s;
  }
  /// Returns str() of a value. Counts before it is made.
  std::string str(const Value& v) {
    charge(1 + v.size() / 16);
    return chat::str(v);
  }
  [[noreturn]] void fail(const std::string& what) const { throw Fault{at, what}; }

 private:
  size_t steps_ = 0;
};

/// Reads the arguments of a call by position or by name. Fault for what is missing, wrong or left over.
class Reading {
 public:
  Reading(Meter& m, std::string name, Arguments& a) : meter_(m), name_(std::move(name)), arguments_(a) {}
  /// Returns the next one by position, else the one of that name; null if neither is given.
  const Value* next(const char* name);
  const Value& needed(const char* name);
  const std::string& text(const char* name);
  std::string text(const char* name, const std::string& otherwise);
  int64_t whole(const char* name, int64_t otherwise);
  bool flag(const char* name, bool otherwise);
  /// Throws Fault if any argument was not asked for.
  void end();

 private:
  Meter& meter_;
  std::string name_;
  Arguments& arguments_;
  size_t position_ = 0, named_ = 0;
};

/// Returns what a loop goes over. Fault for what is none.
std::vector<Value> items_of(Meter&, const Value&);
/// Returns value.name and value[key], undefined if there is none. Fault for those of what is undefined.
Value attribute(Meter&, const Value&, const std::string& name);
Value item(Meter&, const Value&, const Value& key);
/// Returns value[first:last:step]; bounds that are undefined are left out.
Value slice(Meter&, const Value&, const Value& first, const Value& last, const Value& step);
/// Returns whether a value is in a text, list or dictionary.
bool contains(Meter&, const Value& container, const Value& v);
/// Returns whether a < b. Fault for what has no order.
bool less(Meter&, const Value& a, const Value& b);
Value binary(Meter&, const std::string& op, const Value& a, const Value& b);

Value filter(Meter&, const std::string& name, const Value& x, Arguments&);
bool test(Meter&, const std::string& name, const Value& x, Arguments&);
/// Returns whether values of the type have a method of that name.
bool has_method(const Value& self, const std::string& name);
Value method(Meter&, const Value& self, const std::string& name, Arguments&);
/// Returns whether there is a function of that name.
bool has_function(const std::string& name);
Value function(Meter&, const std::string& name, Arguments&);

// Texts, by characters.

std::string stripped(const std::string&, const std::string* characters, bool left, bool right);
std::string upper(const std::string&);
std::string lower(const std::string&);
std::string capitalized(const std::string&);
std::string titled(const std::string&);
/// Returns the text with `from` replaced by `to`, `most` times from the left unless that is negative.
std::string replaced(Meter&, const std::string&, const std::string& from, const std::string& to,
                     int64_t most);

}  // namespace lazy::text::chat
