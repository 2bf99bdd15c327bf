#include "jit/graph/observed.hpp"

#include "support/metrics.hpp"

namespace lazy::jit::watch {

void need(Node& n) noexcept {
  const uintptr_t before = n.watch.fetch_or(kNeeded, std::memory_order_acquire);
  if (before & kNeeded) return;
  if (before & kRepended) metric::add(MetricCounter::late_values);
  if (Observed* o = observed(before)) o->need();
}

void begin(Node& n, Observed& o) noexcept {
  uintptr_t before = word(n);
  o.add_reference();
  while (before <= kMarks)  // another thread may mark it meanwhile
    if (n.watch.compare_exchange_weak(before, before | reinterpret_cast<uintptr_t>(&o),
                                      std::memory_order_release)) {
      if (before & kNeeded) o.need();
      return;
    }
  o.release();
}

}  // namespace lazy::jit::watch
