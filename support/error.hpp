// Defines the exceptions of lazy. Every message ends with the user's file and line; the type says what was
// wrong.
#pragma once
#include <stdexcept>
#include <string>

#include "support/site.hpp"

namespace lazy {

class Error : public std::runtime_error {
 public:
  /// Makes what() return `message`, followed by " (file.cpp:line)" when a site is known.
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& message, const Site& where)
      : std::runtime_error(where.line() ? message + " (" + to_string(where) + ")" : message), where_(where) {}
  /// Returns the user's line; its line() is 0 when there is none.
  const Site& where() const noexcept { return where_; }

 private:
  Site where_{};
};

class ShapeError : public Error {
  using Error::Error;
};  // shapes that don't fit the op or each other
class DtypeError : public Error {
  using Error::Error;
};  // a dtype the op doesn't take, a scalar out of range
class IndexError : public Error {
  using Error::Error;
};  // an axis, index or slice out of range
class DeviceError : public Error {
  using Error::Error;
};  // memory, CPU features, a device that isn't there
class CompileError : public Error {
  using Error::Error;
};  // a kernel that could not be built
class IoError : public Error {
  using Error::Error;
};  // files
class CommunicationError : public Error {
  using Error::Error;
};  // ranks that don't do the same, are gone or are late
class ConfigError : public Error {
  using Error::Error;
};  // a bad LAZY_* value under LAZY_STRICT

/// Returns f(). If f throws an E that names no line, it is thrown again with `where`.
template <class E, class F>
decltype(auto) located(const Site& where, F&& f) {
  try {
    return f();
  } catch (const E& error) {
    if (error.where().line() || !where.line()) throw;
    throw E(error.what(), where);
  }
}

}  // namespace lazy
