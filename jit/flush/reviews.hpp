// Looks at a program now and then, after its first run and then each time that it has run twice as often and
// once more, for what makes the user's program slow, and says so once a line (LAZY_HINTS). So a run costs
// nothing for it, but a comparison.
#pragma once
#include "jit/graph/cause.hpp"
#include "jit/plan/program.hpp"
#include "support/profile.hpp"
#include "support/site.hpp"

namespace lazy::jit {

struct CapturedGraph;
class Arguments;

constexpr bool is_power_of_two(uint64_t n) { return (n & (n - 1)) == 0; }
/// True if a program that has run so often is due for a review: 1, 2, 3, 4, 5, 8, 9, 16, 17... times. What
/// two runs in a row have in common tells a loop from what takes turns.
constexpr bool is_reviewed(uint64_t runs) { return is_power_of_two(runs & ~uint64_t{1}); }

/// Holds what a review goes by: the latest run of the program. The nodes are not published yet.
struct Reviewed {
  const Program& program;
  const CapturedGraph& captured;
  const Arguments& arguments;
  const Node& wanted;
  Cause cause;
  const Site& site;
  profile::Ticks took;  // by this flush, up to here
  uint64_t runs;        // of the program
};
/// Gives the hints that are due.
void review(const Reviewed&) noexcept;

}  // namespace lazy::jit
