// Defines a compiled program: the steps that serve every flush with one key, under guards. Nothing in it is a
// shape, an address or a scalar's value; those are bound from the captured graph at each run. Immutable once
// built; run by any thread.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/calls/call.hpp"
#include "jit/key/captured_graph.hpp"
#include "jit/plan/work.hpp"
#include "support/tally.hpp"

namespace lazy::jit {
namespace event {
struct Facts;  // jit/observe/profile.cpp
}

/// Describes an index map on the way from a kernel's iteration space to a buffer: a view node, or alignment
/// to a node's shape.
struct PathStep {
  uint32_t parent = 0;  // the step before it, on the kernel's side; path 0 is the identity
  uint32_t node = 0;    // captured graph value: the view, or whose shape is broadcast to
  bool align = false;
};

/// Says where an operand of a kernel comes from.
struct Binding {
  static constexpr int8_t kAbsent = -1;
  uint32_t node = 0;  // captured graph value that has the source's shape (and, for an input, its data)
  int slot = -1;      // buffer of this run, or -1: an input
  uint32_t path = 0;
  DType dtype{};
  bool output = false;
  bool region = false;         // the output is a slice_update's region of its buffer (`path` unused)
  bool packed = false;         // reads or writes packed memory along a path whose strides follow from extents
  bool known_strides = false;  // every axis has stride 0 or the element size: no layout to work out
  bool moves = false;          // if so: the stride along the last axis is the element size
  int8_t dim_of[loop::kMaxAxes] =
      {};  // kernel dimension -> which of the layout's extents other than 1, or kAbsent
};
/// True if both read or write the same buffer.
inline bool same_source(const Binding& a, const Binding& b) {
  return a.slot == b.slot && (a.slot >= 0 || a.node == b.node);
}

struct KernelDim {
  uint32_t node = kNone;  // captured graph value and dimension that has the extent; kNone: extent 1
  int dim = 0;
};

struct ScalarArgument {
  enum class Source : uint8_t {
    constant,  // `node`'s value; node kNone: `value`
    extent,    // of captured graph value `node`'s dimension `dim`, and `value` more
    stride,    // elements from one index to the next of the axis that operand `dim` of the step is read or
               // written at an index of
    fault,     // address of fault number `value`'s flag (Program::faults)
  };
  uint32_t node = kNone;
  DType from{}, type{};  // of a constant: its dtype, and that of the argument
  uint64_t value = 0;
  Source source = Source::constant;
  uint16_t dim = 0;
};

/// Describes the call that a step runs. Step::operands are then where its operands' memory is, without a
/// path, and after them the outputs that someone reads.
struct CallStep {
  const CallSpec* spec = nullptr;  // null: the step is of a loop kernel
  std::shared_ptr<const CallKernel> kernel;
  std::vector<uint32_t> shapes;  // by operand: the captured graph value whose shape it has
  std::vector<int> outputs;      // by output: which of Step::operands, or -1: nobody reads it
  int workspace = -1;            // slot of the call's work memory; -1: none
};

/// Says what is in the memory of a step's output before its kernel runs.
enum class Initial : uint8_t {
  none,     // anything: the kernel writes every element
  copy,     // slice_update, scatter: Step::initial_from
  nothing,  // slice_update of what other updates overwrite elsewhere: anything
};

struct Step {
  std::shared_ptr<const Kernel> kernel;  // null: a call
  CallStep call;
  bool may_throw = false;  // what was computed so far must not be lost: no input is overwritten up to here
  loop::ArgLayout args{};
  std::vector<KernelDim> dims;
  std::vector<uint8_t>
      axis_of;  // kernel dimension -> axis (adjacent dimensions may have been merged into one)
  std::vector<Binding> operands;
  std::vector<ScalarArgument> scalars;
  std::vector<uint32_t> made;  // slots that this step's kernel writes first
  std::vector<uint32_t> dead;  // slots that no later step reads
  int sequential = -1;         // axis
  bool fallible = false;       // its kernel may set a fault's flag
  bool of_inputs = false;  // its results depend on inputs alone, and may be there already (kept_steps.hpp)
  bool relayout = false;   // besides, it only lays an input out anew
  /// Names a step that only copies what one operand of this step reads, which may read through it instead.
  struct Folds {
    uint16_t operand = 0;
    uint32_t step = 0;
  };
  std::vector<Folds> folds;
  uint32_t folded_into = kNone;  // the later step that has it in its list (folded_copies.hpp)
  /// If it only looks at the indices of that step, before inputs are overwritten, else kNone. Such steps are
  /// the program's last ones.
  uint32_t ahead_of = kNone;
  Initial initial = Initial::none;
  Binding initial_from;  // if `initial` is copy
  uint64_t ops = 0;      // elementwise ops fused in
  // These fields are for reports only (jit/plan/names.hpp). The last two are those of the captured graph that
  // it was compiled or loaded for.
  std::string label;          // what kind of kernel: "map_add"
  uint32_t named_by = kNone;  // the captured graph value whose line it goes by: the last op fused in
  std::string text;           // "map_add_main.cpp_14: 3 ops, 2 operands"
  std::string at;             // "path/main.cpp:14"
  int group = -1;             // of the fusion that made it; -1: loaded from disk
  Work work;
};

/// Names an operand of a step, bool, that hides indices of a dimension from the tile group's blocks.
struct Mask {
  uint32_t step = kNone;  // kNone: there is none
  uint16_t operand = 0;
  uint8_t dim = 0;     // of the kernel: the only one besides levels along which the mask moves
  bool hides = false;  // its value where an index is hidden
};

/// Says that a step of a tile group may leave out, block by block, a part of its box: one half, the indices
/// of a dimension past a line that moves with the indices of the tile group's last level, or what its mask
/// hides. What the step would do there is read by nobody, adds nothing, or is known.
struct Skip {
  /// Names a scalar argument of a step that has to be +0, or else -infinity.
  struct Needed {
    uint32_t step = 0;
    uint16_t scalar = 0;
    bool lowest = false;
  };
  uint32_t step = 0;
  uint8_t dim = 0;      // the kernel dimension that is shortened
  bool masked = false;  // what the mask hides is left out; else a half, which `before` to `bias` describe
  int16_t mask = -1;    // operand that has to be where the tile group's mask is; -1: none
  bool before = false;  // indices before the line are left out, else those past it
  int8_t sign = 0;      // the line is `bias` + `sign` * a scalar past the level's index; 0: no scalar
  uint16_t scalar = 0;  // argument of step `scalar_step`
  uint32_t scalar_step = 0;
  int64_t bias = 0;
  int16_t finite = -1;  // operand that must have no infinity and no NaN; -1: none
  int16_t sums = -1;    // output that has sums as they are, so that -0 may have to become +0; -1: none
  std::vector<uint16_t> zeros;  // outputs whose elements there have to be made +0
  std::vector<Needed> needed;
};

/// Describes a run of steps that share outer dimensions ("levels"): parallel in each of them, and every value
/// that one step makes and another reads is read at the index of these at which it was made. So the steps can
/// be done for one block of the outer indices after another, while the block's values are still in the cache;
/// values that no one else needs have memory for one block only. Whether that pays is decided at each run,
/// from the extents.
struct TileGroup {
  /// Lists the buffers that steps read and write.
  struct Source {
    uint32_t node = 0;  // whose shape it has
    int slot = -1;
    DType dtype{};
    uint32_t moves = 0;   // bit l: another index of level l is another part of it
    bool matrix = false;  // the right side of a contraction
  };
  uint32_t first = 0, count = 0;  // steps
  std::vector<KernelDim> levels;  // outermost first
  std::vector<uint8_t> dim_of;    // step of the tile group * levels + level -> kernel dimension
  /// Returns a step's kernel dimensions, by level.
  const uint8_t* dims_of(uint32_t step) const { return dim_of.data() + (step - first) * levels.size(); }
  std::vector<Source> sources;
  std::vector<uint32_t> inner;  // slots that only the tile group needs, in the order in which they are made
  std::vector<Skip> skips;      // by step, of halves and then of the mask; all of them or none
  Mask mask;
  std::shared_ptr<const Kernel>
      rows;  // runs all steps, row by row, where it takes them (jit/plan/tiling/row_groups.hpp)
  std::vector<TileGroup>
      parts;  // tile groups without contractions in it, for when all of it together isn't worth it
};

/// Describes a buffer that one run makes.
struct Slot {
  uint32_t node = 0;  // captured graph value whose shape it has
  DType dtype{};
  bool kept = false;              // becomes a tensor's value
  uint32_t workspace_of = kNone;  // step of the call whose work memory this is; the call decides its size
  int donor_slot = -1;  // a slot that dies in the same step, read at the same index: its memory is taken over
  uint32_t donor_input = kNone;        // likewise an input, if the flush owns it alone
  std::vector<uint32_t> other_inputs;  // inputs that would do as well, if the flush doesn't own that one
};

/// Says what a tensor's value is at the end of a run: a slot or input, as it is or seen through views.
struct Result {
  uint32_t node = 0;  // the captured graph value that gets it
  int slot = -1;
  uint32_t input = kNone;
  uint32_t path = 0;
};

struct Guard {
  enum class Kind : uint8_t {
    contiguous,    // an input lies row-major without gaps
    unit_stride,   // an operand moves by one element along the vector axis (value 1), or does not (value 0)
    broadcast,     // an operand does not move along the vector axis
    collapsible,   // an operand's two adjacent dimensions can be walked as one
    stride_32bit,  // the offsets of one vector's elements fit 32 bits
    extent,        // a dimension has one value (LAZY_DYNAMIC=never)
    scalar,        // a scalar argument has one value (LAZY_DYNAMIC=never)
    position,      // a slice starts or steps as it did (LAZY_DYNAMIC=never)
  };
  Kind kind{};
  uint32_t node = 0;  // input, or the node that has the extent, scalar or position
  uint32_t step = 0;  // layout guards: which operand of which step
  uint16_t operand = 0;
  uint16_t dim = 0;   // kernel dimension, or dimension of the node
  int64_t value = 0;  // what it was when the program was compiled
};
inline constexpr int kGuardKinds = 8;
const char* name_of(Guard::Kind);

class Arguments;  // jit/run/arguments.hpp
struct Program;
/// Holds the arguments of a program's latest run, for the next to take. A run that finds none, because
/// another thread has them, makes new ones.
class SpareArguments {
 public:
  SpareArguments() = default;
  SpareArguments(SpareArguments&& o) noexcept : spare_(o.spare_.exchange(nullptr)) {}
  ~SpareArguments();
  std::unique_ptr<Arguments> take(const Program&) const;
  void put(std::unique_ptr<Arguments>) const noexcept;
  /// Returns what Arguments::as_before does; false if there are none.
  bool as_before(const CapturedGraph&) const;

 private:
  mutable std::atomic<Arguments*> spare_{nullptr};
};

/// Holds what the reviews of a program (jit/flush/reviews.hpp) keep for the next one; 0 before the first.
struct ReviewTimes {
  std::atomic<uint64_t> at_ns{0}, at_ticks{0}, took{0};  // when it was, and ticks that the flush took
  std::atomic<uint64_t> strided_input{0};                // where such an input was
  ReviewTimes() = default;
  ReviewTimes(const ReviewTimes&) {}
  ReviewTimes& operator=(const ReviewTimes&) { return *this; }
};

struct Program {
  static uint64_t next_number();
  std::vector<Step> steps;
  std::vector<TileGroup> tile_groups;  // in order, disjoint
  std::vector<Slot> slots;
  std::vector<Result> results;
  std::vector<PathStep> paths{PathStep{}};
  std::vector<Guard> guards;
  std::vector<uint32_t> faults;  // by number: the captured graph value whose index was out of range
  std::string variant;           // "generic", "strict", "fixed": for reports
  uint64_t nodes = 0;            // number of recorded ops that it computes
  size_t code_bytes = 0;
  uint64_t compile_ns = 0;
  bool from_disk = false;
  uint64_t number = next_number();  // no two of this process have the same
  Tally runs;
  mutable ReviewTimes reviews;
  SpareArguments arguments;
  mutable const event::Facts* facts =
      nullptr;  // for LAZY_PROFILE, once it needs them (jit/observe/profile.cpp)
};

/// Returns a program's tile groups, each before its parts; pointers to const ones if `p` is const.
template <class P>
auto tile_groups_in(P& p) {
  std::vector<decltype(p.tile_groups.data())> all;
  const auto add = [&](const auto& self, auto& tile_groups) -> void {
    for (auto& tile_group : tile_groups) {
      all.push_back(&tile_group);
      self(self, tile_group.parts);
    }
  };
  add(add, p.tile_groups);
  return all;
}

/// Holds strides in elements of an operand along the step's kernel dimensions, and the offset of its first
/// element.
struct OperandLayout {
  int64_t stride[loop::kMaxAxes];
  int64_t offset = 0;
};
void operand_layout(const Program&, const Step&, const Binding&, const CapturedGraph&, OperandLayout&);
int64_t extent_of(const KernelDim&, const CapturedGraph&);
/// Returns the elements from an index to the next of the axis that an operand is read or written at.
int64_t indexed_stride(const Program&, const Binding&, const CapturedGraph&);

/// True if the offsets of a vector's elements (up to 64 of them, bytes) fit 32 bits. `stride` in elements.
bool fits_32bit(int64_t stride, DType);

/// Returns the first guard that does not hold, or null. `actual` gets what was found instead of the guard's
/// value.
const Guard* failed_guard(const Program&, const CapturedGraph&, int64_t& actual);
/// Returns a text such as "operand 2 of kernel 0 (v3) is contiguous: expected yes, found no".
std::string describe(const Guard&, int64_t actual);
/// Returns the value that the guard is about.
uint32_t subject_of(const Guard&, const Program&);
/// Returns what the guard requires, such as "contiguous: v0 is row-major without gaps".
std::string describe(const Guard&);

/// Returns the bytes of a slot's memory in a run of this captured graph.
size_t slot_bytes(const Program&, uint32_t slot, const CapturedGraph&);

}  // namespace lazy::jit
