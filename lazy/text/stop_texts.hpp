// Finds texts that end what is written. Internal to lazy/text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lazy::text {

/// Passes a text on that comes in parts, up to the first of some texts. What may be the beginning of one is
/// kept back until it is known.
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  /// Returns what can be passed on now.
  std::string add(std::string_view part);
  /// Returns what was kept back, at the end.
  std::string finish();
  /// Returns whether one of the texts has come.
  bool found() const { return found_; }

 private:
  std::vector<std::string> texts_;
  std::string kept_;
  bool found_ = false;
};

}  // namespace lazy::text
