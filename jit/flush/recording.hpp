// Holds what one call of a function recorded, ready to run again with other values in the places of its
// inputs: captured graph, program and arguments. A run records nothing, builds no key and looks nothing up.
//
// Contract: the values that it is run with are ready and have the dtypes, shapes, devices and strides of
// those that it was captured with. So all that its guards are about is as it was, and only addresses are
// bound. Scalars and slice positions are those of the call that was captured.
//
// Each run that is under way has a captured graph of its own, with a node for each value, which belongs to no
// thread's graph; they are kept for later runs. Results are new nodes. Nothing takes over an input's memory.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "jit/flush/folds.hpp"
#include "jit/flush/program_cache.hpp"
#include "jit/run/arguments.hpp"

namespace lazy::jit {

class Recording {
 public:
  /// Says which input a node is, or is a view of.
  using Inputs = std::unordered_map<const Node*, uint32_t>;

  /// Captures what `outputs` need of what this thread recorded. `inputs` are the nodes whose values change
  /// from run to run, by number, and `views` says of which of them others are views; all other values that
  /// are read are constants. Nothing else than `outputs` has a handle of what was recorded. Throws Error, at
  /// its line, for a call with an effect. Computes nothing.
  Recording(std::span<const Handle> outputs, std::span<const Handle> inputs, const Inputs& views,
            const Site&);
  Recording(const Recording&) = delete;
  ~Recording();

  size_t outputs() const { return outputs_.size(); }
  /// True if the backends that it was captured for are those of the devices still.
  bool fits_backends() const;
  /// Runs it; `results` gets the outputs. Any number of threads may call it at once. Throws what a flush
  /// throws, but an index out of range as a Fault: then recording anew tells which.
  void run(std::span<Node* const> inputs, std::span<Handle> results);

 private:
  /// Says where a value comes from.
  struct Bound {
    uint32_t value;  // of the captured graph, or which output
    uint32_t input;
    int64_t offset;  // elements from the input's first one to the value's
  };
  /// Holds what is recorded on one device, connected.
  struct Part {
    Device device;
    Backend* backend = nullptr;
    std::vector<uint32_t> key;
    std::vector<Handle> nodes;  // by value: what runs copy
    std::vector<Bound> bound;
    ProgramRef program;  // null until the first run has found it
    Site site;           // where it was recorded
    Folds folds;         // that were done, if somebody listened
  };
  /// Says what an output is.
  struct Output {
    enum class Kind : uint8_t { computed, input, constant, same } kind{};
    uint32_t part = 0, value = 0;  // computed
    uint32_t input = 0;            // input, of which it is a view: `node` says how it lies
    int64_t offset = 0;
    uint32_t as = 0;  // same: as this earlier output
    Handle node;
  };
  struct OfRun;
  void add_part(Node*, std::span<const Handle> inputs, const Inputs&, const Site&);
  /// Finds the program of a part that has none.
  static void find(Part&, const CapturedGraph&);
  std::unique_ptr<OfRun> take();
  void put(std::unique_ptr<OfRun>) noexcept;

  std::vector<Part> parts_;
  std::vector<Output> outputs_;
  SpinLock lock_;
  std::vector<std::unique_ptr<OfRun>> idle_;  // what runs that are over have left
  Mutex finding_;                             // guards Part::program while it is null
};

}  // namespace lazy::jit
