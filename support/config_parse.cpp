#include "support/config_parse.hpp"

#include <charconv>
#include <vector>

#include "support/log.hpp"
#include "support/text.hpp"

namespace lazy::config {
namespace {

std::vector<std::string> names_in(std::string_view enumerators) {
  std::vector<std::string> names;
  while (!enumerators.empty()) {
    const size_t comma = enumerators.find(',');
    std::string_view name = text::trimmed(enumerators.substr(0, comma));
    if (name.ends_with('_')) name.remove_suffix(1);
    names.emplace_back(name);
    enumerators = comma == enumerators.npos ? std::string_view{} : enumerators.substr(comma + 1);
  }
  return names;
}

using logging::kLevelBits;

}  // namespace

std::optional<bool> parse_bool(std::string_view s) {
  const std::string v = text::lower_case(s);
  if (v == "1" || v == "on" || v == "true") return true;
  if (v == "0" || v == "off" || v == "false") return false;
  return {};
}

std::optional<int64_t> parse_integer(std::string_view s) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc{} || end != s.data() + s.size()) return {};
  return v;
}

std::optional<uint64_t> parse_size(std::string_view s) {
  uint64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc{}) return {};
  const std::string unit = text::lower_case(s.substr(static_cast<size_t>(end - s.data())));
  if (unit.empty() || unit == "b") return v;
  const size_t power = std::string_view("kmgt").find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return {};
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (v > ~uint64_t{0} >> shift) return {};
  return v << shift;
}

std::optional<uint64_t> parse_choice(std::string_view s, std::string_view enumerators) {
  const std::string v = text::lower_case(s);
  const auto names = names_in(enumerators);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == v) return i;
  // Accepts booleans for a choice that has `off`, too: off, or the enumerator after it.
  if (const auto yes = parse_bool(v); yes && names.size() > 1 && names[0] == "off") return *yes ? 1 : 0;
  return {};
}

std::optional<uint64_t> parse_channels(std::string_view s) {
  uint64_t levels = 0;
  const auto raise = [&levels](int channel, uint64_t level) {
    const int shift = channel * kLevelBits;
    if ((levels >> shift & 0xf) < level) levels = (levels & ~(uint64_t{0xf} << shift)) | level << shift;
  };
  while (true) {
    const size_t comma = s.find(',');
    std::string name = text::lower_case(text::trimmed(s.substr(0, comma)));
    uint64_t level = logging::kBrief;
    if (name.ends_with('+')) name.pop_back(), level = logging::kDetail;
    bool known = false;
    for (int c = 0; c < logging::kChannelCount; ++c)
      if (name == "all" || name == logging::name_of(static_cast<logging::Channel>(c)))
        raise(c, level), known = true;
    if (!known && !(name == "none" && level == logging::kBrief)) return {};
    if (comma == s.npos) return levels;
    s = s.substr(comma + 1);
  }
}

std::string choices(std::string_view enumerators, std::string_view separator) {
  return text::join(names_in(enumerators), separator);
}

std::string choice_name(uint64_t index, std::string_view enumerators) {
  return names_in(enumerators).at(index);
}

std::string channels_text(uint64_t levels) {
  std::vector<std::string> on;
  for (int c = 0; c < logging::kChannelCount; ++c) {
    const uint64_t level = levels >> (c * kLevelBits) & 0xf;
    if (level)
      on.push_back(std::string(logging::name_of(static_cast<logging::Channel>(c))) +
                   (level > logging::kBrief ? "+" : ""));
  }
  return on.empty() ? "none" : text::join(on, ",");
}

std::string all_channels(std::string_view separator) {
  std::vector<std::string> names;
  for (int c = 0; c < logging::kChannelCount; ++c)
    names.emplace_back(logging::name_of(static_cast<logging::Channel>(c)));
  return text::join(names, separator);
}

}  // namespace lazy::config
