// What a run's launches are given: the words of every step (loop::ArgLayout), bound from a frame's nodes.
//
// Words depend on extents, strides, slice positions, addresses and scalars. A program mostly runs again with
// all but the last two as they were: so its words are kept from one run for the next, which then only looks
// at those, an address for each operand and a value for each scalar.
#pragma once
#include <memory>
#include <vector>

#include "jit/backend.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// The words of one program's steps. Belongs to one run at a time (SpareArguments).
class Arguments {
 public:
  explicit Arguments(const Program&);

  /// A run begins. What was bound stays so if only addresses and scalars can differ from the latest run's.
  /// `context`: word kContext.
  void begin(const Frame&, uint64_t context);
  /// Step i's words are there, but for addresses and scalars. False if there is nothing to do.
  bool lay_out(size_t i);
  /// So are these. `address`: of each slot that the step reads or writes.
  bool bind(size_t i, char* const* address);
  /// Those of step i, as bound; of neighbouring steps one after the other.
  const uint64_t* words(size_t i) const { return words_.data() + steps_[i].words; }
  /// The same for a launch that may change them, where nothing is kept for the next run; else null.
  uint64_t* for_once(size_t i) { return keeps_ ? nullptr : words_.data() + steps_[i].words; }
  /// What of step i's is not as it was at the latest told().
  const Change& changed(size_t i) const { return steps_[i].changed; }
  void told(size_t i) { steps_[i].changed = {0, false}; }

  /// What the backend keeps of the launches with these words; null if they are new.
  std::unique_ptr<HeldLaunches> held;

 private:
  struct Bound {
    size_t words = 0, addresses = 0;  // where they begin
    Change changed;
    bool bound = false, empty = false;
  };
  /// A word that is an address: of a slot, or of a leaf's first element (`value`), and so many bytes on.
  struct Address {
    int slot;
    uint32_t value;
    int64_t bytes;
  };
  bool as_before(const Frame&);
  void note(const Frame&);
  bool bind_anew(const Step&, Bound&);
  void bind_operand(const Step&, int operand, uint64_t* words, Address&) const;
  uint64_t now(const Address& a, char* const* address) const {
    return reinterpret_cast<uint64_t>(a.slot < 0 ? f_->values[a.value]->data() : address[a.slot]) +
           static_cast<uint64_t>(a.bytes);
  }

  const Program& p_;
  const bool keeps_;
  const Frame* f_ = nullptr;
  uint64_t context_ = 0;
  std::vector<Bound> steps_;
  std::vector<uint64_t> words_;
  std::vector<Address> addresses_;
  // What all words but addresses and scalars follow from: numbers of these values. The others' shapes follow
  // from theirs and from the key.
  struct Watched {
    uint32_t value;
    bool leaf;
  };
  std::vector<Watched> watched_;
  std::vector<int64_t> numbers_;  // as they were
};

}  // namespace lazy::jit
