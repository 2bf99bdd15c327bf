// Converts a variable's text to its value and back. The functions are pure: no environment, no state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lazy::config {

enum class Kind : uint8_t { boolean, integer, size, choice, text, channels };

/// Parses 0|1|on|off|true|false, in any case.
std::optional<bool> parse_bool(std::string_view);
/// Parses decimal digits with an optional minus, and accepts nothing else.
std::optional<int64_t> parse_integer(std::string_view);
/// Parses a size in bytes: digits, then nothing, B, or K, M, G, T alone or with B or iB (all powers of 1024),
/// in any case.
std::optional<uint64_t> parse_size(std::string_view);
/// Returns the index of the name in "auto_, avx512, ..." (a trailing '_' is not part of a name), in any case.
std::optional<uint64_t> parse_choice(std::string_view, std::string_view enumerators);
/// Parses "flush+,miss" to levels by channel, a byte each.
std::optional<uint64_t> parse_channels(std::string_view);

/// Returns "auto|avx512|avx2": the names with `separator` between them.
std::string choices(std::string_view enumerators, std::string_view separator = "|");
std::string choice_name(uint64_t index, std::string_view enumerators);
std::string channels_text(uint64_t levels);
std::string all_channels(std::string_view separator);

}  // namespace lazy::config
