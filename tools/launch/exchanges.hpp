// Joins what ranks exchanged, in a trace of all of them: who came last, and who waited for that one.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace lazy::tool {

class Exchanges {
 public:
  /// Takes an event of a rank's trace, on the common clock; others than exchanges count for the rank's time.
  void add(const nlohmann::json& event, int rank);
  /// Returns arrows, events of a trace, from the beginning of the rank that came last to an exchange to the
  /// end of it on each of the others.
  std::vector<nlohmann::json> arrows() const;
  /// Returns for each rank a line: its share of the time in exchanges, how much of that it waited for ranks
  /// that came later, and to how many exchanges it came last by a thousandth of a second or more; then, of
  /// several, which rank the others waited for most. Empty if nothing was exchanged.
  std::string summary() const;

 private:
  struct Part {
    int rank;
    int64_t thread;
    double begin, end;  // microseconds
  };
  struct Span {
    double first = 0, last = 0;  // microseconds
    bool some = false;
  };
  static const Part& last_of(const std::vector<Part>&);
  std::unordered_map<int64_t, std::vector<Part>> parts_;  // by exchange
  std::vector<Span> spans_;                               // by rank
};

}  // namespace lazy::tool
