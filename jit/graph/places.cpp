#include "jit/graph/places.hpp"

#include <string>

#include "support/profile.hpp"

namespace lazy::jit {

std::string_view place_of(const char* purpose) {
  const std::string_view all = purpose ? purpose : "";
  if (!all.starts_with("in ")) return {};
  const std::string_view place = all.substr(0, all.find(": "));
  const bool is_one =
      place.ends_with(", forward") || place.ends_with(", backward") || place.ends_with(", update");
  return is_one ? place : std::string_view();
}

const char* without_place(const char* purpose) {
  const std::string_view place = place_of(purpose);
  if (place.empty()) return purpose;
  return purpose[place.size()] ? purpose + place.size() + 2 : nullptr;
}

const char* in_place(std::string_view place, const char* purpose) {
  if (place.empty() || !place_of(purpose).empty()) return purpose;
  return profile::intern(purpose ? std::string(place) + ": " + purpose : std::string(place));
}

}  // namespace lazy::jit
