// What a run's launches are given: the words of every step (loop::ArgLayout), bound from a captured graph's
// nodes.
//
// Words depend on extents, strides, slice positions, addresses and scalars. A program mostly runs again with
// all but the last two as they were: so its words are kept from one run for the next, which then only looks
// at those, an address for each operand and a value for each scalar.
#pragma once
#include <memory>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/plan/program.hpp"
#include "jit/run/arena.hpp"

namespace lazy::jit {

/// The words of one program's steps. Belongs to one run at a time (SpareArguments).
class Arguments {
 public:
  explicit Arguments(const Program&);

  /// A run begins. What was bound stays so if only addresses and scalars can differ from the latest run's.
  /// `context`: word kContext.
  void begin(const CapturedGraph&, uint64_t context);
  /// Step i's words are there, but for addresses and scalars. False if there is nothing to do.
  bool lay_out(size_t i);
  /// So are these. `address`: of each slot that the step reads or writes.
  bool bind(size_t i, char* const* address);
  /// Those of step i, as bound; of neighbouring steps one after the other.
  const uint64_t* words(size_t i) const { return words_.data() + steps_[i].words; }
  /// What of step i's is not as it was at the latest note_captured().
  const Change& changed(size_t i) const { return steps_[i].changed; }
  void note_captured(size_t i) { steps_[i].changed = {0, false}; }

  /// Whether this captured graph's run would find all but addresses and scalars as they were in a run before.
  bool as_before(const CapturedGraph&) const;

  Arena arena;  // of runs with the same extents
  /// What the backend keeps of the launches with these words; null if they are new.
  std::unique_ptr<LaunchGraph> launch_graph;

 private:
  struct Bound {
    uint32_t words = 0, addresses = 0, scalars = 0;  // where they begin
    bool bound = false, empty = false;
    Change changed;
  };
  /// A word that is an address: of a slot, or of an input's first element, and so many bytes on.
  struct Address {
    uint32_t word;
    int slot;
    uint32_t input;
    int64_t bytes;
  };
  /// A word that is a constant's value.
  struct ScalarWord {
    uint32_t word;
    uint32_t constant;
    DType from;
  };
  void note(const CapturedGraph&);
  void bind_anew(const Step&, Bound&);
  /// Where the operand begins, from the address of its slot or input on.
  int64_t bind_operand(const Step&, int operand, uint64_t* words) const;

  const Program& p_;
  const CapturedGraph* f_ = nullptr;
  uint64_t context_ = 0;
  std::vector<Bound> steps_;  // and one more, where their ends are
  std::vector<uint64_t> words_;
  std::vector<Address> addresses_;
  std::vector<ScalarWord> scalars_;
  // What all words but addresses and scalars follow from: numbers of these values. The others' shapes follow
  // from theirs and from the key.
  struct Watched {
    uint32_t value;
    bool input;
  };
  std::vector<Watched> watched_;
  std::vector<int64_t> numbers_;  // as they were; none: not looked at
  uint32_t misses_ = 0;           // in a row
};

}  // namespace lazy::jit
