// Declares one execution of a program, whose parts are in run.cpp and the files run_*.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "jit/core/bytes.hpp"
#include "jit/plan/program.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "jit/run/arguments.hpp"
#include "jit/run/reserve.hpp"

namespace lazy::jit {

/// Binds a captured graph's nodes to a program's steps and launches them.
class Run {
 public:
  Run(const Program& p, CapturedGraph& f, Backend& backend, Arguments& arguments)
      : p_(p),
        f_(f),
        backend_(backend),
        buffers_(f.buffers),
        address_(f.addresses),
        arguments_(arguments),
        donate_(f.verify == config::Verify::off) {
    buffers_.resize(p.slots.size());
    address_.resize(p.slots.size());
  }
  Run(const Run&) = delete;
  ~Run() {
    for (BufferRef& b : buffers_) b.reset();  // the list stays, for the next run
    f_.overwritten.clear();
    f_.workspaces.clear();
    f_.donors.clear();
  }

  void steps(bool same);
  /// Gives the nodes their values. Nothing can fail any more.
  void publish();

 private:
  using Planned = Arguments::Planned;
  using FoldedOperands = std::vector<std::unique_ptr<FoldedOperand>>;

  // Steps in order (run.cpp).
  /// Gives only these nodes their values, after a failure.
  void publish(const std::vector<Node*>& nodes) noexcept;
  void publish(const Result& r);
  void sequence(size_t first, size_t last, const std::vector<TileGroup>& tile_groups);
  void one(size_t i);
  void launch(size_t i, const FoldedOperands& folds = {});
  /// Throws Fault if a kernel so far set a flag.
  void look_for_faults();
  static void launch_now(const Step& s, uint64_t* words, const FoldedOperands& folds);
  void launch_timed(const Step& s, uint64_t* words, const FoldedOperands& folds);
  bool bind(size_t i) { return arguments_.bind(i, address_.data()); }

  // Calls (run_calls.cpp).
  void call(size_t i);
  /// Notes the values of this step, which must not run again: if the run fails later, they stay.
  void note_it_stands(const Step& s);
  void sort_stands() noexcept;
  char* address_of(const Binding& b) const {
    return b.slot >= 0 ? address_[static_cast<size_t>(b.slot)] : f_.values[b.node]->data();
  }

  // Copies that need not be made, for they are read through (run_copies.cpp).
  /// Returns the operands that the step can read through copies; others are made now.
  FoldedOperands read_through(size_t i);
  /// Returns how step i reads through the copy; null if it can't.
  std::unique_ptr<FoldedOperand> folded(size_t i, const Step::Folds& f);
  void make_copy(uint32_t step);

  // Results that are kept for later runs (run_kept.cpp).
  /// True if step i's results are there from an earlier run, or were made now to be kept. False if they are
  /// to be computed like any others.
  bool take_kept(size_t i);
  /// True if results of a step of the tile group may be there, so that it is not to run block by block.
  bool may_keep_any(const TileGroup& tile_group) const;
  /// True if all that the step reads stays as it is.
  bool reads_unchanging(const Step& s) const;
  const BufferRef& buffer_of(const Binding& b) const {
    return b.slot >= 0 ? buffers_[static_cast<size_t>(b.slot)] : f_.values[b.node]->buffer;
  }
  /// Names what step i computes, in Arguments::kept.
  void name_step(size_t i);
  /// Returns what the launch of step i with `words` would pack, packed already, if that is kept; else null.
  BufferRef packed(const Step& s, const uint64_t* words, const FoldedOperands& folds);
  /// Does so for all steps of a tile group whose blocks read one packed operand, and sets word kPacked of
  /// their `words`. What it returns has the memory.
  std::vector<BufferRef> packed(const TileGroup& tile_group, uint64_t* words);
  /// Allocates memory for what is to be kept; null if there is none: that is no reason to fail.
  BufferRef memory_to_keep(size_t bytes, const Step&) noexcept;

  // Tile groups (run_tile_groups.cpp).
  Planned& planned(const TileGroup& tile_group);
  /// Allocates memory for one block a thread, which the tile groups of a run use in turn.
  void allocate_scratch(const Blocks& blocks);
  /// Runs the tile group by one kernel. False if that is impossible: then nothing has changed.
  bool row_by_row(const TileGroup& tile_group);
  /// Makes what the tile group's steps make that is not inner. True if an address is another than before.
  bool make_outer(const TileGroup& tile_group);
  void release_dead(const TileGroup& tile_group);

  // Block by block (block_run.cpp).
  class BlockRun;
  void block_by_block(Planned& plan);

  // Inputs whose memory slots take over (run_donors.cpp).
  bool takes_input(uint32_t slot);
  /// True if any slot may take over an input: mostly all inputs have handles.
  bool any_donor() const;
  /// Decides for all slots at once which inputs they take over, while nothing has been overwritten.
  void find_donors();
  bool takes_all(uint32_t input, size_t bytes) const;
  /// True if all inputs that share the input's memory are this flush's alone and have been read when `step`
  /// overwrites it.
  bool dies_whole(uint32_t input, size_t step, size_t bytes);
  struct SharedInputs;
  const SharedInputs& shared_inputs();
  size_t first_of_tile_group(size_t step) const;
  /// Returns the last step whose indices can be looked at ahead; -1 if there is none.
  int64_t last_ahead() const;
  /// True unless a later step of this run may throw: looks at its indices, the first time.
  bool may_overwrite(size_t step);
  bool look_ahead(size_t step);
  void note_overwritten(uint32_t input);

  // Memory of slots (run_memory.cpp).
  void make(uint32_t slot, size_t step);
  /// Allocates what later steps need: once an input has been overwritten, a failure loses it. `slot`, of
  /// `step`, takes over an input's memory.
  void reserve_after(size_t step, uint32_t slot);
  void reserve_scratch(size_t step, const std::vector<TileGroup>& tile_groups,
                       std::vector<Reserve::Span>& together, std::vector<uint8_t>& scratch);
  void allocate(uint32_t slot);
  BufferRef memory_for(uint32_t slot, size_t bytes);
  void make_arena();
  /// Says that a slot's memory has the value of its line now.
  void name_memory(uint32_t slot) noexcept;
  void donated(size_t bytes, bool initial);
  void initialise(const Step& s);
  /// Frees the memory of a slot after the last step that reads it.
  void release(uint32_t slot) {
    if (!reserve_.is_handed_on(slot)) buffers_[slot].reset();
  }
  /// Returns a slot's bytes; those of work memory as first computed in this run, for the number of threads
  /// may change.
  size_t bytes_of(uint32_t slot) {
    const Slot& s = p_.slots[slot];
    if (s.workspace_of == kNone) [[likely]]
      return lazy::bytes_of(f_.values[s.node]->shape, s.dtype);
    return workspace(slot, [&] { return slot_bytes(p_, slot, f_); });
  }
  /// Returns the bytes of a call's work memory. `ask` computes them, the first time.
  template <class Ask>
  size_t workspace(uint32_t slot, Ask&& ask) {
    f_.workspaces.resize(p_.slots.size(), kUnasked);
    size_t& bytes = f_.workspaces[slot];
    return bytes == kUnasked ? bytes = ask() : bytes;
  }
  static constexpr size_t kUnasked = SIZE_MAX;

  /// Copies the words of a launch, which may change them.
  struct Words {
    Words(const uint64_t* from, size_t n) {
      if (n > few.size()) many.resize(n), data = many.data();
      // Each by itself: a word that was stored a moment ago cannot be loaded as part of a vector yet.
      for (size_t i = 0; i < n; ++i) {
        uint64_t word = from[i];
        asm("" : "+r"(word));
        data[i] = word;
      }
    }
    std::array<uint64_t, 256> few;
    std::vector<uint64_t> many;
    uint64_t* data = few.data();
  };

  const Program& p_;
  CapturedGraph& f_;
  Backend& backend_;
  std::vector<BufferRef>& buffers_;
  std::vector<char*>& address_;  // by slot; that of a donor stays the same
  BufferRef arena_;              // some slots are parts of it
  BufferRef scratch_;
  Arguments& arguments_;
  std::unique_ptr<LaunchCapture> capture_;
  size_t planned_ = 0;  // of Arguments::planned, those that this run has chosen
  uint64_t launches_ = 0;
  const bool donate_;  // false if the verifier reads the inputs again
  bool in_place_ = false;
  bool unseen_faults_ = false;    // fallible kernels ran whose flags have not been read
  std::vector<uint32_t> unmade_;  // copies that the next step may read through
  bool donors_sought_ = false;
  bool looked_ahead_ = false;
  std::shared_ptr<SharedInputs> shared_;  // null until it is asked for
  bool reserved_ = false;
  Reserve reserve_;  // set once an input was overwritten
};

}  // namespace lazy::jit
