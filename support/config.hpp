// Gives the LAZY_* variables as typed values. The environment is read once, at the first use; a value set
// from code takes precedence over the environment's, and that over the default. The variables themselves are
// the rows of config.def.
//
//   if (nodes > config::get().max_graph) ...
//   config::set("LAZY_MAX_GRAPH", "1000");
//
// Usable before main and from any thread: reading is a load of a field, setting is safe beside it.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/config_enums.hpp"
#include "support/site.hpp"

namespace lazy::config {

inline constexpr uint64_t MiB = uint64_t{1} << 20;

/// Holds a scalar that any thread may read while another sets it.
template <class T>
class Setting {
 public:
  constexpr explicit Setting(T v) : value_(v) {}
  T get() const noexcept { return value_.load(std::memory_order_relaxed); }
  operator T() const noexcept { return get(); }
  void store(T v) noexcept { value_.store(v, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

/// Holds a string, likewise. Texts are never freed, so a reference stays valid; equal texts share one
/// address.
template <>
class Setting<std::string> {
 public:
  constexpr Setting() = default;
  const std::string& get() const noexcept { return *value_.load(std::memory_order_acquire); }
  operator const std::string&() const noexcept { return get(); }
  bool empty() const noexcept { return get().empty(); }
  void store(const std::string* v) noexcept { value_.store(v, std::memory_order_release); }

 private:
  std::atomic<const std::string*> value_{nullptr};
};

/// Holds log levels by channel, a byte each; all ones until the environment has been read.
using Levels = Setting<uint64_t>;

struct Values {
#define LAZY_BOOL(field, name, initial, doc) Setting<bool> field{initial};
#define LAZY_INT(field, name, initial, low, high, doc) Setting<int> field{initial};
#define LAZY_SIZE(field, name, initial, low, high, doc) Setting<uint64_t> field{initial};
#define LAZY_ENUM(field, name, type, initial, doc, ...) Setting<type> field{type::initial};
#define LAZY_STRING(field, name, doc) Setting<std::string> field{};
#define LAZY_CHANNELS(field, name, doc) Levels field{~uint64_t{0}};
#include "support/config.def"
};

namespace detail {
extern constinit Values values;
extern constinit std::atomic<bool> ready;
void initialise();
}  // namespace detail

/// Returns the values. The first call reads the environment; under LAZY_STRICT a bad one throws ConfigError,
/// at every call until it is right. Otherwise each bad value costs one line on standard error and its default
/// is used.
inline const Values& get() {
  if (!detail::ready.load(std::memory_order_acquire)) [[unlikely]]
    detail::initialise();
  return detail::values;
}

/// Sets a variable from code, spelled as in the environment; an empty value removes the setting. Throws
/// ConfigError, with the caller's line, on an unknown name or a value that the variable doesn't accept.
void set(std::string_view name, std::string_view value, Site s = Site::current());
/// Reads the environment again. What was set from code stays.
void reload_environment();

/// Sets a variable for a scope and restores the earlier setting from code (or none) at its end.
class Override {
 public:
  Override(std::string_view name, std::string_view value, Site s = Site::current());
  ~Override();
  Override(const Override&) = delete;
  Override& operator=(const Override&) = delete;

 private:
  std::string name_, before_;
};

enum class Origin : uint8_t { default_, environment, code };
const char* name_of(Origin);

struct Entry {
  std::string name, accepts, value, initial, doc;
  Origin origin;
  Site set_at;  // the line that set it, if code did
};
/// Returns every variable with its value now, in the order of config.def.
std::vector<Entry> entries();
/// Returns the line by which code has set the variable; one without a number if it has not.
Site set_at(std::string_view name);
/// Returns a line for each variable: value and origin.
std::string dump();
/// Returns the text that LAZY_CONFIG=help prints.
std::string help();
/// Returns the table of the documentation page.
std::string markdown();

}  // namespace lazy::config
