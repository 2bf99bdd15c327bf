#include "lazy/text/stop_texts.hpp"

#include <algorithm>
#include <utility>

namespace lazy::text {
namespace {

/// Returns how many of a text's last bytes are the first ones of `stop`, fewer than all of it.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n)
    if (text.ends_with(stop.substr(0, n))) return n;
  return 0;
}

}  // namespace

std::string StopTexts::add(std::string_view part) {
  if (found_) return {};
  kept_ += part;
  size_t end = kept_.npos, keeps = 0;
  for (const std::string& text : texts_) {
    end = std::min(end, kept_.find(text));
    keeps = std::max(keeps, begun(kept_, text));
  }
  found_ = end != kept_.npos;
  if (!found_) end = kept_.size() - keeps;
  std::string passed = kept_.substr(0, end);
  kept_.erase(0, found_ ? kept_.size() : end);
  return passed;
}

std::string StopTexts::finish() { return std::exchange(kept_, {}); }

}  // namespace lazy::text
