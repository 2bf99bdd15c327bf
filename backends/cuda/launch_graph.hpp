// Launches a program that recurs as one CUDA graph: one call in place of one for each kernel.
//
// While a run is captured, the calling thread's launches are delayed, and so is memory that it gives back.
// Invariant: until the graph is in the stream, nobody else gets that memory.
#pragma once
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/cuda/launched.hpp"
#include "jit/backend/backend.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {

class Gpu;

/// Holds what a run launched, step by step.
struct CudaLaunchGraph final : jit::LaunchGraph {
  struct Step {
    const jit::Kernel* kernel;
    size_t count;          // number of the words that it was given
    size_t end;            // index of its last launch in `launches`, plus 1
    size_t scratch_bytes;  // of device memory that its launches borrow, at word kScratch
    bool plain;            // true if its launches have the words that it was given, but for the backend's
  };
  std::vector<Step> steps;
  LaunchList launches;
  uint64_t version = 0;  // number of this state of all launches; 0: they changed since they had one
  config::Sums sums{};   // the setting for which they were planned
};

/// Holds the graphs of one GPU, by the number of the program.
class LaunchGraphs {
 public:
  explicit LaunchGraphs(Gpu& gpu) : gpu_(gpu) {}
  /// Runs the launches in order: as a graph from the third time on that the program comes with the same
  /// functions, one by one before that.
  void run(uint64_t program, const CudaLaunchGraph&);

 private:
  static constexpr size_t kMost = 256;  // programs that are cached
  struct State {
    uint64_t program = 0;
    int runs = 0;
    uint64_t version = 0;  // of the launches in the nodes; 0: not known
    LaunchList launches;   // those in the nodes
    std::vector<api::GraphNode> nodes;
    api::Graph graph = nullptr;
    api::GraphExec exec = nullptr;
  };
  State& state_of(uint64_t program);
  void build(State&);
  /// Returns false if the graph can't take these launches.
  bool update(const State&, const LaunchList&) const;
  void destroy(State&) const;

  Gpu& gpu_;
  Mutex lock_;
  std::list<State> states_;  // those used last first
  std::unordered_map<uint64_t, std::list<State>::iterator> by_program_;
};

/// Returns LAZY_CUDA_SUMS as launches on this GPU go by it: while the calling thread captures, its value when
/// that began.
config::Sums sums_on(const Gpu&);

/// Holds back what the calling thread launches.
class CudaLaunchCapture final : public jit::LaunchCapture {
 public:
  /// Returns the calling thread's capture on this GPU, or null.
  static CudaLaunchCapture* current(const Gpu&);

  CudaLaunchCapture(Gpu&, uint64_t program, CudaLaunchGraph&);
  CudaLaunchCapture(const CudaLaunchCapture&) = delete;
  ~CudaLaunchCapture();  // gives memory back; launches that were not finished never happen

  void launch(const jit::Kernel&, const uint64_t* words, size_t count, const jit::Change&) override;
  void finish() override;
  config::Sums sums() const { return kept_.sums; }

  void add(const Launched&);
  /// Notes that the kernel plans its launches by its words, and by no more of addresses than what they are
  /// modulo kAddressesAlike. So many bytes of device memory are at their word kScratch.
  void note_plan(const jit::Kernel&, size_t scratch_bytes);
  /// Runs the delayed launches, one by one, because something that isn't a launch comes next.
  void interrupt();

  void keep(void* block, size_t size) noexcept;
  /// Returns a block of that size that this run has given back, or null.
  void* take(size_t size);
  /// Interrupts, and gives back delayed blocks, where memory is short. Returns false if there were none.
  bool release();

 private:
  /// Repeats what the kernel launched in the run before, with these words. Returns false if it may launch
  /// something else now.
  bool again(const jit::Kernel&, const uint64_t* words, size_t count, const jit::Change&);
  void keep_step();
  void give_back() noexcept;

  Gpu& gpu_;
  const uint64_t program_;
  CudaLaunchGraph& kept_;
  size_t step_ = 0;      // index into kept_.steps: those before it are this run's
  size_t held_ = 0;      // number of launches of those steps
  size_t launched_ = 0;  // how many of these are in the stream
  bool interrupted_ = false;
  // The kernel that is launching now.
  CudaLaunchGraph::Step open_{};
  const uint64_t* given_ = nullptr;  // null: none is
  LaunchList fresh_;
  size_t fresh_launched_ = 0;
  std::vector<uint64_t> copy_;
  std::vector<std::pair<void*, size_t>> freed_;
};

}  // namespace lazy::cuda_backend
