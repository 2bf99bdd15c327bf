// Writes what the library reports about its work: channels that LAZY_LOG turns on, one line a write(2), to
// standard error or LAZY_LOG_FILE, or to a callback (log_sink.hpp).
//
//   if (logging::enabled(logging::Channel::flush)) logging::print(logging::Channel::flush, "%d nodes, %s", n,
//   cause);
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/config.hpp"

namespace lazy::logging {

enum class Channel : uint8_t { flush, miss, guards, fusion, kernels, cache, memory, device, comm, summary };
inline constexpr int kChannelCount = 10;
inline constexpr int kLevelBits = 4;  // of a channel in config::Values::log
constexpr const char* name_of(Channel c) {
  constexpr const char* names[kChannelCount] = {"flush", "miss",   "guards", "fusion", "kernels",
                                                "cache", "memory", "device", "comm",   "summary"};
  return names[static_cast<int>(c)];
}

inline constexpr int kBrief = 1;   // LAZY_LOG=flush
inline constexpr int kDetail = 2;  // LAZY_LOG=flush+

namespace detail {
bool enabled_slowly(Channel, int level) noexcept;
}

/// True if lines of this channel and level are wanted. Costs one relaxed load when they are not.
inline bool enabled(Channel c, int level = kBrief) noexcept {
  const uint64_t levels = config::detail::values.log.get();
  if (static_cast<int>(levels >> (kLevelBits * static_cast<int>(c)) & 0xf) < level) [[likely]]
    return false;
  return detail::enabled_slowly(c, level);  // until the environment has been read all levels look on
}

/// True if lines are JSON objects (LAZY_LOG_FORMAT).
bool is_json() noexcept;

class Fields;  // support/log_fields.hpp

/// Writes "lazy[channel] text", newline added; each line of a longer text gets the prefix. Texts that repeat
/// but for their numbers are folded (log_folding.hpp), unless the channel has a `+`. In JSON the text is the
/// "message" of one object, beside the fields. Never throws for I/O. Doesn't check that the channel is
/// enabled.
void write(Channel, std::string_view text);
void write(Channel, std::string_view text, const Fields&);
[[gnu::format(printf, 2, 3)]] void print(Channel, const char* format, ...);

/// Writes "lazy: text" to standard error, whatever LAZY_LOG says. For messages that users must see.
void warning(std::string_view text);
/// Writes advice on slow use as a warning, unless LAZY_HINTS=off. For what is said once a line of the user's.
void hint(std::string_view text);
void hint(std::string_view text, const Fields&);
/// Returns the hints that were given, the first few hundred of them.
std::vector<std::string> hints();
/// Writes text unchanged to standard error, in one write(2) where the system takes it all at once.
void write_raw(std::string_view text) noexcept;

}  // namespace lazy::logging
