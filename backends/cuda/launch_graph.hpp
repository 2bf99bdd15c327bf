// Launches of a program that recurs, as one CUDA graph: one call in place of one for each kernel.
//
// While a run is recorded the calling thread's launches are held back, and so is memory that it gives back:
// until the graph is in the stream nobody else may have it.
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

/// What a run launched, step by step.
struct CudaLaunchGraph final : jit::LaunchGraph {
  struct Step {
    const jit::Kernel* kernel;
    size_t count;          // words that it was given
    size_t end;            // of its launches
    size_t scratch_bytes;  // that its launches borrow, at word kScratch
    bool plain;            // its launches have the words that it was given, but for a backend's own
  };
  std::vector<Step> steps;
  LaunchList launches;
  uint64_t version = 0;  // of what all launches are; 0: changed since there was one
  config::Sums sums{};   // that they were planned for
};

/// The graphs of one GPU, by the number of the program.
class LaunchGraphs {
 public:
  explicit LaunchGraphs(Gpu& gpu) : gpu_(gpu) {}
  /// Runs the launches in order: as a graph from the third time on that the program comes with the same
  /// functions, one by one before that.
  void run(uint64_t program, const CudaLaunchGraph&);

 private:
  static constexpr size_t kMost = 256;  // programs that are kept
  struct State {
    uint64_t program = 0;
    int runs = 0;
    uint64_t version = 0;  // of what the nodes have; 0: not known
    LaunchList launches;   // as the nodes have them
    std::vector<api::GraphNode> nodes;
    api::Graph graph = nullptr;
    api::GraphExec exec = nullptr;
  };
  State& state_of(uint64_t program);
  void build(State&);
  /// False if the graph can't take these launches.
  bool update(const State&, const LaunchList&) const;
  void destroy(State&) const;

  Gpu& gpu_;
  Mutex lock_;
  std::list<State> states_;  // those used last first
  std::unordered_map<uint64_t, std::list<State>::iterator> by_program_;
};

/// LAZY_CUDA_SUMS, as launches on this GPU go by it: where the calling thread records, as it was when that
/// began.
config::Sums sums_on(const Gpu&);

/// What the calling thread holds back.
class CudaLaunchCapture final : public jit::LaunchCapture {
 public:
  /// The calling thread's, of this GPU, or null.
  static CudaLaunchCapture* current(const Gpu&);

  CudaLaunchCapture(Gpu&, uint64_t program, CudaLaunchGraph&);
  CudaLaunchCapture(const CudaLaunchCapture&) = delete;
  ~CudaLaunchCapture();  // gives memory back; launches that were not finished never happen

  void launch(const jit::Kernel&, const uint64_t* words, size_t count, const jit::Change&) override;
  void finish() override;
  config::Sums sums() const { return kept_.sums; }

  void add(const Launched&);
  /// The kernel plans its launches by its words, and of their addresses by no more than what they are modulo
  /// kAddressesAlike; so much device memory is at their word kScratch.
  void note_plan(const jit::Kernel&, size_t scratch_bytes);
  /// Runs what was held back now, one by one: something that isn't a launch comes next.
  void interrupt();

  void keep(void* block, size_t size) noexcept;
  /// A block of that size that this run has given back, or null.
  void* take(size_t size);
  /// Where memory is short: interrupts, and gives back what was kept. False if that is nothing.
  bool release();

 private:
  /// What the kernel launched in the run before, with these words. False if that may be something else now.
  bool again(const jit::Kernel&, const uint64_t* words, size_t count, const jit::Change&);
  void keep_step();
  void give_back() noexcept;

  Gpu& gpu_;
  const uint64_t program_;
  CudaLaunchGraph& kept_;
  size_t step_ = 0;      // of kept_: those before it are this run's
  size_t held_ = 0;      // launches of those steps
  size_t launched_ = 0;  // of them, in the stream
  bool interrupted_ = false;
  // The kernel that is launching.
  CudaLaunchGraph::Step open_{};
  const uint64_t* given_ = nullptr;  // null: none is
  LaunchList fresh_;
  size_t fresh_launched_ = 0;
  std::vector<uint64_t> copy_;
  std::vector<std::pair<void*, size_t>> freed_;
};

}  // namespace lazy::cuda_backend
