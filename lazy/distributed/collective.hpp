// Runs collectives, on memory of the host's or of a device that carries messages itself. Internal to
// lazy/distributed.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/backend/carrier.hpp"
#include "jit/calls/call.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "lazy/distributed/engines/engine.hpp"

namespace lazy::distributed::detail {

class Communicator;

/// Holds what is in the key of a collective: no rank, so that all ranks have the same programs.
struct CollectiveAttributes {
  uint8_t kind = 0, reduction = 0, phase = 0;
  uint8_t flat = 0;   // 1: what is scattered or gathered is all values one behind the other, cut evenly
  int32_t root = -1;  // of a broadcast; of send and recv the other rank; of a shift how far. In the group
  int32_t ranks = 1, group = 0;

  Kind of() const { return static_cast<Kind>(kind); }
  Phase when() const { return static_cast<Phase>(phase); }
  ReduceOp how() const { return static_cast<ReduceOp>(reduction); }
};
/// Holds what recv() expects, besides.
struct ReceiveAttributes {
  CollectiveAttributes all;
  int32_t dtype = 0, axes = 0;
  int64_t extents[kMaxRank] = {};
};
CollectiveAttributes attributes_of(const jit::CallSpec&);

/// Returns how many elements each rank has of n that are cut evenly: the last one's may be filled up.
inline int64_t even_share(int64_t n, int ranks) { return (n + ranks - 1) / ranks; }

/// Holds one collective of this rank: what it works on lies one behind the other in `work`, of as many bytes
/// as work_bytes() says, first the operands, at the end the results.
class Collective {
 public:
  /// `memory`: whose memory operands, results and work memory are in.
  Collective(const CollectiveAttributes&, std::span<const jit::Meta> operands, const Site&, Communicator&,
             jit::Backend& memory);
  size_t work_bytes() const;
  /// Returns the device that work memory has to be of; null: the host's will do.
  jit::Backend* device() const { return at_.carrier ? &memory_ : nullptr; }
  /// Copies the operands to work memory.
  void pack(const char* const* in, char* work);
  /// Names the work memory of a collective that has nothing to pack.
  void place(char* work);
  /// Exchanges, and combines. Throws CommunicationError.
  void run();
  /// Copies the results from work memory to outputs of these sizes; null: not wanted.
  void unpack(std::span<const jit::Meta> outputs, char* const* out) const;

 private:
  void go();
  void exchange(std::vector<Outgoing> out, std::vector<Incoming> in);
  /// Sends to or receives from the other rank of a pair, on a device.
  void pass();
  static void count(size_t bytes);
  void combine(const std::vector<Outgoing>& out, const char* own, int64_t length, char* to);
  void copy(char* to, const char* from, int64_t elements) const;
  void all_reduce();
  void scatter();
  void gather();
  void broadcast();
  void turn();
  void shift();
  void send();
  void receive();

  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements * width_); }
  int64_t begin_of(int r) const { return count_ * r / ranks_; }
  int64_t length_of(int r) const { return begin_of(r + 1) - begin_of(r); }
  char* work(int64_t element) const { return work_ + bytes(element); }
  int world_rank(int r) const { return members_[static_cast<size_t>(r)]; }

  const CollectiveAttributes attributes_;
  Communicator& all_;
  jit::Backend& memory_;
  const Engine::Place at_;     // without a carrier: the host's memory
  uint64_t packed_ = 0;        // a carrier's mark behind what was packed
  bool carrier_adds_ = false;  // LAZY_COMM_SUMS=any
  int connection_ = -1;        // of the carrier, while it is at this collective
  std::vector<int> members_;   // of the group, by their ranks in it
  int me_ = -1, ranks_ = 1;
  Announcement own_;
  DType type_;
  int64_t width_, given_, count_;  // bytes of an element; elements of all operands; these filled up to be cut
  std::vector<int64_t> sizes_;     // elements of each operand
  char* work_ = nullptr;
};

/// Returns true if the engine carries what is in this device's memory from there.
bool carries_device(const jit::CallSpec&, jit::Backend& device);
/// Returns the bytes of host memory that run_collective() needs beside operands and outputs.
size_t collective_workspace(const jit::CallSpec&, std::span<const jit::Meta> operands);
/// Exchanges the operands with the other ranks, and fills the outputs; or starts to; or waits for what has
/// been started, whose number the first operand is.
void run_collective(const jit::CallRun&);

}  // namespace lazy::distributed::detail
