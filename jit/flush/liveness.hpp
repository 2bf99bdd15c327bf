// Implements adaptive liveness: learns which of the values with handles a program need not store.
//
// C++ programs name their intermediates, so at a flush all of them have handles, though most are never read
// again. Each key with several outputs observes them in its first flushes. Those that always died unread are
// dropped from then on: the flush finds another program, which doesn't store them, and their nodes go back to
// the graph, pending, with their recipes. Using one later is correct, to the bit: it costs another flush, and
// its value is stored from then on.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "jit/graph/observed.hpp"
#include "jit/key/captured_graph.hpp"
#include "support/lock.hpp"

namespace lazy::jit {

/// Learns which values of one key (that with all outputs) are needed. Any thread may call.
class Liveness {
 public:
  Liveness() = default;
  ~Liveness();
  Liveness(const Liveness&) = delete;

  /// Appends the outputs of this captured graph that need not be stored, in order. A value is dropped only if
  /// what its recipe alone would keep alive is no larger than itself, and if that includes no memory of the
  /// user's.
  void choose(CapturedGraph&, std::vector<uint32_t>& dropped);
  /// Begins to observe the nodes of a captured graph, after a successful run from which these values were
  /// dropped. Its nodes are still `flushing`.
  void watch(const CapturedGraph&, const std::vector<uint32_t>& dropped) noexcept;

 private:
  struct Candidate {
    uint32_t value;
    Observed* observed;
  };
  bool seen_before(const std::vector<uint32_t>& dropped);
  void begin(const CapturedGraph&);

  std::atomic<bool> begun_{false}, able_{false};
  std::atomic<uint32_t> sampled_{0}, resting_{0};
  std::vector<Candidate> candidates_;  // fixed once begun
  SpinLock lock_;
  std::vector<uint64_t> chosen_;  // hashes of the sets that were dropped so far: each costs a compile
};

}  // namespace lazy::jit
