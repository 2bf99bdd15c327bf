// Declares copies of a template: one for each row of a tile, each vector in flight and each unrolled step,
// sharing what does not differ.
//
// Values are computed as far out as they can be. Stage 0: before all loops (constants and scalars only).
// Stage 1: once per row or chunk, before the innermost loop. Stage 2: in the innermost loop. What a later
// stage reads of an earlier one is a variable, in a register while there are registers to spare, otherwise on
// the frame; constants and broadcast loads may just as well be read again.
//
// A template with rolled loops is cut into sections, in turn outside and inside of one: each is a separate
// block, and what a later one needs is a variable as well. A carried value is the variable that its rolled
// loop assigns last.
#pragma once
#include <functional>

#include "backends/cpu/emitter/isel.hpp"
#include "backends/cpu/emitter/loads.hpp"
#include "support/flat_map.hpp"

namespace lazy::cpu_backend {

/// Counts the copies of each kind that a block holds.
struct Shape {
  int rows = 1, vecs = 1, steps = 1;
};

class Copies {
 public:
  /// Prepares copies. `inner_axis`: the axis of the innermost loop; -1 when all belongs to one block.
  Copies(Assembly&, const Template&, const Addressing&, int inner_axis);

  /// Return the variables of accumulators and results.
  std::function<uint16_t(int accumulator, int row, int vec, int step)> accumulator;
  std::function<uint16_t(int reduction, int row, int vec)> result;
  int first_vec = 0;  // number of a block's first vector, for loads, stores and indices along the vector axis

  Block block(int stage, Shape);
  /// Returns one section of stage 2. The last one stores.
  Block section(int section, Shape);
  int sections() const { return sections_; }
  /// Returns several steps in one block, the pointers advanced between them.
  Block stepped_block(Shape, int advances_after);

  /// Gives registers to the values of earlier stages that stage 2 reads most, as long as `registers` lasts.
  /// True if it pinned any: blocks made before are out of date.
  bool pin(Shape, int registers);
  /// Gives registers to what the rolled loops carry, then to what they read most, as long as `registers`
  /// lasts.
  void pin_rolled_loops(Shape, int registers);
  bool stage_is_empty(int stage) const;
  size_t stage2_size() const;

 private:
  struct Info {
    uint8_t stage = 0;
    uint16_t section = 0;           // odd: in a rolled loop
    bool row = false, vec = false;  // differs between rows, between vectors
    bool live = false, cheap = false;
  };
  /// Describes a copy that may get a register to itself.
  struct Candidate {
    uint32_t v;
    int row, vec;
    uint32_t uses;
  };
  uint64_t key(uint32_t v, int row, int vec) const {
    return uint64_t{v} << 16 | (info_[v].row ? static_cast<uint64_t>(row) << 8 : 0) |
           (info_[v].vec ? static_cast<uint64_t>(vec) : 0);
  }
  uint16_t kept(uint32_t v, int row, int vec);
  uint16_t exit_of(uint32_t carried, int vec);
  bool is_kept(uint32_t v, int row, int vec) const;
  /// Finds each value's copies in a block under construction.
  struct Known {
    Known(size_t values, Shape s) : rows(static_cast<uint32_t>(s.rows)), vecs(static_cast<uint32_t>(s.vecs)) {
      at.resize(values * rows * vecs, ~0u);
    }
    uint32_t& of(uint32_t v, const Info& i, int row, int vec) {
      return at[(v * rows + (i.row ? static_cast<uint32_t>(row) : 0)) * vecs +
                (i.vec ? static_cast<uint32_t>(vec) : 0)];
    }
    Recycled<uint32_t> at;
    uint32_t rows, vecs;
  };
  uint32_t reference(Block&, Known&, uint32_t v, int stage, int row, int vec, int step);
  void emit_value(Block&, Known&, uint32_t v, int stage, int row, int vec, int step);
  void emit_values(Block&, Known&, int stage, Shape, int step);
  void keep(Block&, Known&, int section, int first_vec, int last_vec);
  void store(Block&, Known&, Shape);
  /// Finds for each value of the template when it is computed, and whether its copies differ by row and
  /// vector.
  void find_stages(const Addressing&, int inner_axis);
  void find_stage_of_input(Info&, const vir::Inst&, const Addressing&, int inner_axis) const;
  void mark_live();
  void find_needed_later();
  void find_sections();
  void moves_with(Info&, uint16_t operand, const Addressing&, int inner_axis) const;
  /// Returns the carried value that `v` is next in its rolled loop, or kNone: they share a variable.
  uint32_t becomes(uint32_t v) const;
  void pin_in_order(std::vector<Candidate>&, int registers);
  vir::Inst input(uint32_t v, int row, int vec, int step);

  Assembly& as_;
  const Template& t_;
  Recycled<Info> info_;
  Recycled<uint8_t> needed_later_;                 // read by a later stage
  std::vector<std::vector<uint32_t>> kept_after_;  // by section: values that a later one reads
  int sections_ = 1, current_ = 0;  // their number, and the one that the block under construction is
  Recycled<uint32_t> computed_[3];  // of each stage: values that instructions compute and something reads
  FlatMap<uint16_t> kept_;
};

/// Returns the most vector registers that the block's values occupy at once.
int pressure_of(const Assembly&, const Block&);

}  // namespace lazy::cpu_backend
