#include "lazy/distributed/latecomers.hpp"

#include <algorithm>
#include <cmath>

#include "support/config.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/text.hpp"

namespace lazy::distributed::detail {

void Latecomers::begins(int rank, int ranks, const char* line) {
  rank_ = rank;
  line_ = line;
  waits_ = true;
  for_.resize(static_cast<size_t>(ranks));
  begin_ = Clock::now();
}

void Latecomers::came(int from) {
  // Later messages of a collective may have been held up by a third rank.
  if (!waits_) return;
  waits_ = false;
  Waited& w = for_.at(static_cast<size_t>(from));
  const auto ns = static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
  w.ns += ns;
  if (ns <= w.longest) return;
  w.longest = ns;
  w.line = line_;
}

void Latecomers::ends() noexcept {
  waits_ = false;
  if (++count_ != next_) return;
  try {
    look();
  } catch (...) {}  // no memory for advice
}

void Latecomers::look() {
  constexpr double kMuch = 0.3, kOfOne = 0.75;  // of the time, and of all waiting
  constexpr uint64_t kLong = 200'000;           // nanoseconds in an exchange
  const uint64_t exchanges = next_ / 2;         // since the look before, or at least so many
  const auto late = std::max_element(for_.begin(), for_.end(),
                                     [](const Waited& a, const Waited& b) { return a.ns < b.ns; });
  const int who = static_cast<int>(late - for_.begin());
  uint64_t all = 0;
  for (const Waited& w : for_) all += w.ns;
  const double time = std::chrono::duration<double, std::nano>(Clock::now() - since_).count() + 1;
  const double share = static_cast<double>(late->ns) / time;
  const bool certain = share >= kMuch && static_cast<double>(late->ns) >= kOfOne * static_cast<double>(all) &&
                       late->ns >= kLong * exchanges;
  // Twice in a row, and by one of those who wait.
  if (certain && late_ == who && rank_ == (who == 0 ? 1 : 0) && config::get().hints != config::Hints::off) {
    logging::hint("rank " + std::to_string(rank_) + " waits for rank " + std::to_string(who) + " for " +
                      std::to_string(std::lround(share * 100)) + "% of its time, longest at " + late->line +
                      ": that rank has more to do, or a slower machine, and all others wait with this one",
                  logging::Fields().add("hint", "late rank").add("rank", who));
    next_ = 0;  // said
    return;
  }
  late_ = certain ? who : -1;
  next_ *= 2;
  for (Waited& w : for_) w = {};
  since_ = Clock::now();
}

}  // namespace lazy::distributed::detail
