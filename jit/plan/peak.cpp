#include "jit/plan/peak.hpp"

namespace lazy::jit {

uint64_t peak_bytes(const Program& p, const CapturedGraph& f) {
  std::vector<uint64_t> owns(p.slots.size(), 0);
  uint64_t live = 0, peak = 0;
  for (const Step& s : p.steps) {
    for (const uint32_t slot : s.made) {
      const Slot& what = p.slots[slot];
      if (what.donor_slot >= 0) {
        owns[slot] = std::exchange(owns[static_cast<size_t>(what.donor_slot)], 0);
      } else if (what.donor_input == kNone) {
        owns[slot] = slot_bytes(p, slot, f);
        live += owns[slot];
      }
    }
    peak = std::max(peak, live);
    for (const uint32_t slot : s.dead) live -= std::exchange(owns[slot], 0);
  }
  return peak;
}

}  // namespace lazy::jit
