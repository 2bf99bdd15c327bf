// Declares a loop kernel as CUDA C++: how its work is laid out on a device, and the text of its module.
//
// A module has one or several functions, each `extern "C" __global__ void f(const Args args)`; a launch of
// the kernel launches some of them, one after the other. `Args` are the words of jit::loop::ArgLayout by
// value (each member 8 bytes wide, named), or, where they are too many for a parameter, a pointer to them in
// device memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// Describes one launch of a function of a module; grids have one dimension.
struct Launch {
  uint16_t function = 0;      // index into Schedule::functions
  uint32_t threads = 1;       // of a block
  uint32_t blocks = 1;        // at most 2^31 - 1
  uint32_t shared_bytes = 0;  // dynamic
};

/// Says how a kernel's work is laid out.
enum class Layout : uint8_t {
  map,      // a thread has some elements, or some vectors of neighbours
  rows,     // a reduction along the last axis: a warp, or part of one, has a block of a row
  columns,  // along another axis: four threads have a block of a column, one for each partial accumulator
  outputs,  // a contraction: a thread has one result
  tiles,    // a contraction of two operands: a block has a tile of results
  lines,    // a scan: a thread has a line
  scatter,  // a thread has a line, or the part of a line's elements that it owns
};

/// A tile of a map with a transposed axis has so many elements, in as many columns and rows as a launch's
/// extents suggest.
inline constexpr int kTurnedTile = 1024;

/// A kernel's parameter space (4 KiB) fits so many words together with those of a launch.
inline constexpr int kMostWords = 480;

/// True if an operand lies in complete 16-byte vectors along axis `packed` in a launch with these arguments:
/// its elements there are neighbours, and every other step that it takes, and its address, a multiple of 16
/// bytes.
bool lies_in_vectors(const uint64_t* args, const jit::loop::ArgLayout&,
                     const std::vector<jit::loop::Operand>&, int operand, int packed);

class Schedule {
 public:
  /// Returns the schedule. The loop IR alone decides it, so that a cubin read from disk is launched as it was
  /// when it was compiled.
  static Schedule of(const jit::loop::LoopKernel&);

  std::vector<std::string> functions;
  /// True if the words don't fit a kernel's parameter space; otherwise they go by value.
  bool args_in_memory = false;
  /// Says for dumps, in one line: form, threads of a block, elements of a thread, functions.
  std::string text;

  /// Plans the launches for a box with these arguments, in order: nothing if it is empty. No parallel extent
  /// is 0, and the product of the parallel extents is below 2^31 (the caller cuts larger boxes); the
  /// sequential one may be anything. `scratch`: bytes of device memory that the launches share; its address
  /// goes into word ArgLayout::kScratch of `args` afterwards, by the caller. May set words kScratch + 1 and
  /// kPlanned. `tensor_cores`: multiprocessors whose tensor cores may add up products, in another order; 0:
  /// in the loop IR's order.
  void plan(uint64_t* args, std::vector<Launch>&, size_t& scratch, int tensor_cores = 0) const;

  // These fields are what emit() reads.
  Layout layout = Layout::map;
  int threads = 256;  // of a block
  int vector = 1;     // elements that one load or store of the wide form takes; 1: there is no wide form
  int unroll = 1;     // vectors, elements or steps whose loads a thread has under way at once
  int staged = -1;    // the function for few results, if there is one
  bool has_staged() const { return staged >= 0 && static_cast<size_t>(staged) < functions.size(); }
  int short_rows = -1;  // of rows: the function for short ones, if there is one
  bool has_short_rows() const {
    return short_rows >= 0 && static_cast<size_t>(short_rows) < functions.size();
  }
  int mma = -1;  // of tiles: the functions for tensor cores, of kMmaTiles, if there are any
  bool has_mma() const { return mma >= 0 && static_cast<size_t>(mma) + 1 < functions.size(); }
  int transposed_axis = -1;  // of a map: along which an operand is packed that is not along the last axis

 private:
  void plan_map(uint64_t* args, std::vector<Launch>&) const;
  void plan_reduction(uint64_t* args, std::vector<Launch>&, size_t& scratch) const;
  void plan_tiles(const uint64_t* args, std::vector<Launch>&) const;
  void plan_scatter(uint64_t* args, std::vector<Launch>&) const;
  /// True if it is a product that is worth it; adds its launch.
  bool plan_mma(uint64_t* args, std::vector<Launch>&, int multiprocessors) const;
  /// True if it is one of few results; adds its launch.
  bool plan_staged_contraction(const uint64_t* args, std::vector<Launch>&) const;
  /// Returns the number of results: the product of the parallel extents.
  int64_t results(const uint64_t* args) const;
  /// True if every operand allows loads and stores of `vector` elements in a launch.
  bool is_wide(const uint64_t* args) const;
  /// Describes a side of a product in a launch: whether neighbours lie along `axis` of the results, not along
  /// the steps, and whether it can be loaded 16 bytes at a time.
  struct Side {
    bool turned, wide;
  };
  Side side_of(const uint64_t* args, int operand, int axis) const;

  jit::loop::ArgLayout args_{};
  std::vector<jit::loop::Operand> operands_;
  int sequential_ = -1, row_axis_ = -1, column_axis_ = -1, left_ = -1, right_ = -1;
  size_t part_bytes_ = 0;  // of one block's results, on their way to the second function
};

/// Describes one of several kernels in a module (jit/ir/rows.hpp).
struct ScheduledMember {
  jit::loop::LoopKernel kernel;
  Schedule schedule;
  jit::loop::ArgLayout args{};
  int offset = 0;              // of its arguments in those of a launch
  std::vector<int16_t> inner;  // by operand, as in FusedRows
};

/// Returns the module's text, which includes nothing.
std::string emit(const jit::loop::LoopKernel&, const Schedule&);

}  // namespace lazy::cuda_backend
