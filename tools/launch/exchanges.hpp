// Joins what ranks exchanged, in a trace of all of them: who came last, and who waited for that one.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/launch/exchange_part.hpp"

namespace lazy::tool {

class Exchanges {
 public:
  /// Takes an event of a rank's trace, on the common clock; others than exchanges count for the rank's time.
  void add(const nlohmann::json& event, int rank);
  /// Returns arrows, events of a trace, from the beginning of the rank that came last to an exchange to the
  /// end of it on each of those that waited for that one.
  std::vector<nlohmann::json> arrows() const;
  /// Returns for each rank a line: its share of the time in exchanges, how much of that it waited for ranks
  /// that came later, and to how many exchanges it came last by a thousandth of a second or more; then, of
  /// several, which rank the others waited for most. Empty if nothing was exchanged.
  std::string summary() const;

 private:
  struct Span {
    double first = 0, last = 0;  // microseconds
    bool some = false;
  };
  std::unordered_map<int64_t, std::vector<ExchangePart>> parts_;  // by exchange
  std::vector<Span> spans_;                                       // by rank
};

}  // namespace lazy::tool
