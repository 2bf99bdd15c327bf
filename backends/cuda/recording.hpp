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

namespace lazy::cuda_backend {

class Gpu;

/// The graphs of one GPU, by the number of the program.
class Graphs {
 public:
  explicit Graphs(Gpu& gpu) : gpu_(gpu) {}
  /// Runs the launches in order: as a graph from the third time on that the program comes with the same
  /// functions, one by one before that.
  void run(uint64_t program, LaunchList& launches);

 private:
  static constexpr size_t kMost = 256;  // programs that are kept
  struct State {
    uint64_t program = 0;
    int runs = 0;
    LaunchList launches;  // as the nodes have them
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
  std::mutex lock_;
  std::list<State> states_;  // those used last first
  std::unordered_map<uint64_t, std::list<State>::iterator> by_program_;
};

/// What the calling thread holds back.
class Recording {
 public:
  /// The calling thread's, of this GPU, or null.
  static Recording* current(const Gpu&);

  Recording(Gpu&, uint64_t program);
  Recording(const Recording&) = delete;
  ~Recording();  // gives memory back; launches that were not finished never happen

  void add(const Launched& l) { launches_.add(l); }
  /// Runs what was held back now, one by one: something that isn't a launch comes next.
  void interrupt();
  void finish();

  void keep(void* block, size_t size) noexcept { freed_.push_back({block, size}); }
  /// A block of that size that this run has given back, or null.
  void* take(size_t size);
  /// Where memory is short: interrupts, and gives back what was kept. False if that is nothing.
  bool release();

 private:
  void give_back() noexcept;

  Gpu& gpu_;
  const uint64_t program_;
  bool interrupted_ = false;
  LaunchList launches_;
  std::vector<std::pair<void*, size_t>> freed_;
};

}  // namespace lazy::cuda_backend
