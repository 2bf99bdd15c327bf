// Looks at a program now and then, after its first run and then each time that it has run twice as often, for
// what makes the user's program slow, and says so once a line (LAZY_HINTS). So a run costs nothing for it,
// but a comparison.
#pragma once
#include "jit/graph/cause.hpp"
#include "jit/plan/program.hpp"
#include "support/profile.hpp"
#include "support/site.hpp"

namespace lazy::jit {

struct CapturedGraph;
class Arguments;

/// True if a program that has run so often is due for a review.
constexpr bool is_reviewed(uint64_t runs) { return (runs & (runs - 1)) == 0; }

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
