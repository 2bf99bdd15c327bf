// Says whom a rank waited for in an exchange.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace lazy::tool {

/// Describes one rank's part of an exchange.
struct ExchangePart {
  int rank;
  int64_t thread;
  double begin, end;  // microseconds
};

/// Returns the part that came last.
inline const ExchangePart& last_of(const std::vector<ExchangePart>& all) {
  return *std::max_element(all.begin(), all.end(),
                           [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

/// Returns the part that came last before `p`, one of `all`, ended: `p` waited from its own beginning to that
/// one's. Itself, if it waited for none: it came last, or went on, as senders do, before others came.
inline const ExchangePart& awaited_by(const ExchangePart& p, const std::vector<ExchangePart>& all) {
  const ExchangePart* last = &p;
  for (const ExchangePart& other : all)
    if (other.begin > last->begin && other.begin < p.end) last = &other;
  return *last;
}

}  // namespace lazy::tool
