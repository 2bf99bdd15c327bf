// Binds the arguments of a run's launches, the words of every step (loop::ArgLayout), to a captured graph's
// nodes.
//
// Words depend on extents, strides, slice positions, addresses and scalars. A program mostly runs again with
// all but addresses and scalars as they were. So its words are cached for the next run, which then binds an
// address for each operand and a value for each scalar, and nothing else.
#pragma once
#include <memory>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/plan/faults.hpp"
#include "jit/plan/program.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "jit/run/arena.hpp"

namespace lazy::jit {

/// Holds the words of one program's steps. Belongs to one run at a time (SpareArguments).
class Arguments {
 public:
  explicit Arguments(const Program&);

  /// Begins a run. Words stay bound if only addresses and scalars can differ from the latest run's. `context`
  /// becomes word kContext of each step. `same`: as_before() is known to be true.
  void begin(const CapturedGraph&, uint64_t context, bool same);
  /// Binds step i's words, except addresses and scalars. Returns false if the step has nothing to do because
  /// a parallel axis has extent 0.
  bool lay_out(size_t i);
  /// Binds step i's addresses and scalars. `address`, indexed by slot, has those that the step reads or
  /// writes. Returns false if the step has nothing to do.
  bool bind(size_t i, char* const* address);
  /// Returns step i's words as bound. Words of neighbouring steps follow each other.
  const uint64_t* words(size_t i) const { return words_.data() + steps_[i].words; }
  /// Returns which of step i's words have changed since the latest note_captured().
  const Change& changed(size_t i) const { return steps_[i].changed; }
  void note_captured(size_t i) { steps_[i].changed = {0, false}; }

  /// True if a run of this captured graph would find everything except addresses and scalars as in the latest
  /// run.
  bool as_before(const CapturedGraph&) const;

  /// Adds what a run reads of it.
  void add_lines(Lines&) const;

  /// Work memory of a question for a kept result (kept_results.hpp).
  struct Kept {
    std::vector<uint64_t> words, beside;
    std::vector<BufferRef> made;
  };
  Kept kept;
  /// Holds the blocks chosen for a tile group. The number of threads may change at any time, so a run reads
  /// it once, and chooses anew.
  struct Planned {
    const TileGroup* tile_group = nullptr;
    Blocks blocks;
  };
  std::vector<std::unique_ptr<Planned>> planned;  // the first ones belong to the run
  FaultFlags faults;
  Arena arena;  // places of small values, while extents stay the same
  /// The launches with these words, captured by the backend; null if the words are new.
  std::unique_ptr<LaunchGraph> launch_graph;

 private:
  struct Bound {
    // Indices of the step's first entries in words_, addresses_, scalars_.
    uint32_t words = 0, addresses = 0, scalars = 0;
    // All except addresses and scalars is in place; a parallel axis has extent 0.
    bool bound = false, empty = false;
    Change changed;  // since note_captured()
  };
  /// Describes a word that is an address: `bytes` after the begin of a slot or of an input's first element.
  struct Address {
    uint32_t word;   // index into words_
    int slot;        // -1: the address is that of `input`
    uint32_t input;  // value number
    int64_t bytes;
  };
  /// Describes a word that is a constant's value.
  struct ScalarWord {
    uint32_t word;      // index into words_
    uint32_t constant;  // value number
    DType from;         // the constant's dtype; the argument may have another
  };
  void note(const CapturedGraph&);
  void bind_anew(const Step&, Bound&);
  /// Returns the word of a scalar argument that is not a constant's value.
  uint64_t derived(const Step&, const ScalarArgument&) const;
  /// Writes the operand's strides into the step's `words`. Returns where its first element is, in bytes after
  /// the begin of its slot or input.
  int64_t bind_operand(const Step&, int operand, uint64_t* words) const;

  const Program& p_;
  const CapturedGraph* f_ = nullptr;
  uint64_t context_ = 0;
  std::vector<Bound> steps_;  // one per step, and one more that marks the last one's end
  std::vector<uint64_t> words_;
  std::vector<Address> addresses_;
  std::vector<ScalarWord> scalars_;
  // Identifies the values from whose extents, positions and (of an input) strides all words except addresses
  // and scalars follow. Other values' shapes follow from these and from the key.
  struct Watched {
    uint32_t value;
    bool input;
  };
  std::vector<Watched> watched_;
  std::vector<int64_t> numbers_;  // numbers of the watched values in the latest run; empty: not noted
  uint32_t misses_ = 0;           // runs in a row that found other numbers
};

}  // namespace lazy::jit
