// Decides which layout a kernel gets, and the launches for a box.
#include <algorithm>
#include <bit>

#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/emitter/reductions.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "support/arithmetic.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {
using jit::loop::ArgLayout;
using jit::loop::Form;
using jit::loop::LoopKernel;
using jit::loop::Operand;
using jit::loop::Stride;
namespace {

/// Reductions in at most so many blocks, of at least so many steps, go through shared memory.
constexpr int64_t kFewBlocks = 1024, kLeastStagedRow = 257, kLeastStagedColumn = 65;
/// Products of at most so many rows do, too.
constexpr uint64_t kFewRows = 4;
/// At most so many lines of at least so many steps get a warp each.
constexpr int64_t kFewLines = 4096, kLeastWarpLine = 64;
/// Threads that share the lines of a scatter, where there are fewer lines.
constexpr uint64_t kManyOwners = 1 << 14;

/// Tensor cores are for products of at least so many rows, columns and steps, and of so many multiplications
/// in a matrix. Their large tiles are for where there are enough of these for all multiprocessors.
constexpr int64_t kLeastMma = 8;
constexpr double kWorthTensorCores = 32 * 32 * 32;

Layout layout_of_work(const LoopKernel& k) {
  switch (k.form) {
    case Form::map: return Layout::map;
    case Form::scan: return Layout::lines;
    case Form::scatter: return Layout::scatter;
    case Form::contract: return has_tiles(k) && !is_indexed(k) ? Layout::tiles : Layout::outputs;
    case Form::reduce: break;
  }
  return k.sequential == k.rank - 1 ? Layout::rows : Layout::columns;
}

/// Returns the elements of a 16-byte vector, if all operands lie along the last axis or stay in place there.
int vector_of(const LoopKernel& k) {
  size_t widest = 1;
  bool moves = false;
  for (const Operand& o : k.operands) {
    const Stride s = o.stride[k.rank - 1];
    if (s == Stride::any) return 1;
    if (s == Stride::unit) moves = true, widest = std::max(widest, size_of(o.dtype));
    if (s == Stride::zero && o.output) return 1;
  }
  return moves ? static_cast<int>(16 / widest) : 1;
}

/// Returns an axis along which an input is packed that is not packed along the last; -1 if there is none.
int turned_axis_of(const LoopKernel& k) {
  for (const Operand& o : k.operands)
    for (int a = 0; a + 1 < k.rank; ++a)
      if (!o.output && o.stride[a] == Stride::unit && o.stride[k.rank - 1] == Stride::any) return a;
  return -1;
}

const char* name_of(Layout l) {
  constexpr const char* names[] = {"map", "rows", "columns", "outputs", "tiles", "lines", "scatter"};
  return names[static_cast<int>(l)];
}

/// Returns the name that profilers show: the layout and the last few ops. LoopKernel::name is not used: it is
/// no part of a kernel's identity, by which modules are shared.
std::string function_name(const LoopKernel& k, Layout l) {
  std::vector<std::string> ops;
  for (const auto& r : k.reductions) ops.push_back(jit::name_of(r.op));
  if (k.form == Form::contract) ops.push_back("matmul");
  for (const auto& in : k.body)
    if (in.code == jit::loop::Code::op && in.op != jit::Op::cast) ops.push_back(jit::name_of(in.op));
  std::string s = std::string("lazy_") + name_of(l);
  for (size_t i = ops.size() > 3 ? ops.size() - 3 : 0; i < ops.size(); ++i) s += "_" + ops[i];
  return s;
}

}  // namespace

bool lies_in_vectors(const uint64_t* args, const ArgLayout& layout, const std::vector<Operand>& operands,
                     int operand, int packed) {
  constexpr int64_t kVector = 16;
  const auto stride = [&](int a) { return layout.stride_bytes(args, operands, operand, a); };
  const auto size = static_cast<int64_t>(size_of(operands[static_cast<size_t>(operand)].dtype));
  bool good = stride(packed) == size && args[layout.pointer(operand)] % kVector == 0;
  for (int a = 0; a < layout.rank; ++a)
    good = good && (a == packed || args[layout.extent(a)] == 1 || stride(a) % kVector == 0);
  return good;
}

Schedule Schedule::of(const LoopKernel& k) {
  Schedule s;
  s.layout = layout_of_work(k);
  s.args_ = jit::loop::layout_of(k);
  s.operands_ = k.operands;
  s.sequential_ = k.sequential;
  s.args_in_memory = s.args_.words() > kMostWords;
  const size_t body_end = k.has_epilogue() ? k.epilogue : k.body.size();
  const int cost = cost_of(k, 0, body_end);
  // Some layouts compute indices outside of the box along with others: any index may occur there.
  const bool indexed = is_indexed(k);
  const int loads = std::max(1, count_loads(k, 0, body_end, k.sequential));
  // This many loads under way in a thread hide the latency of memory; more copies of long code hide nothing
  // more.
  const int copies = std::max(1, 64 / std::max(1, cost));
  const std::string name = function_name(k, s.layout);
  s.functions = {name};
  switch (s.layout) {
    case Layout::map:
      s.vector = indexed ? 1 : vector_of(k);
      while (s.vector > 1 && s.vector * cost > 640) s.vector /= 2;
      s.unroll = std::clamp(4 / loads, 1, std::min(copies, 4));
      if (s.vector > 1) s.functions.push_back(name + "_wide");
      // Long code waits for itself, not for memory.
      if (copies >= 2) s.transposed_axis = turned_axis_of(k);
      if (s.transposed_axis >= 0) s.unroll = kTurnedTile / s.threads;
      break;
    case Layout::rows:
      s.unroll = std::clamp(16 / loads, 2, std::max(2, std::min(copies, 16)));
      s.functions.push_back(name + "_combine");
      break;
    case Layout::columns:
      s.threads = 128;
      s.unroll = std::clamp(8 / loads, 1, std::min(copies, 8));
      s.functions.push_back(name + "_combine");
      break;
    case Layout::outputs: s.unroll = std::clamp(8 / loads, 1, std::min(copies, 8)); break;
    case Layout::tiles: {
      const jit::loop::Contraction& c = k.contraction;
      s.row_axis_ = c.row, s.column_axis_ = k.rank - 1;
      if (fits_tensor_cores(k)) s.left_ = operand_of(k, c.left), s.right_ = operand_of(k, c.right);
      break;
    }
    case Layout::lines:
      s.unroll = std::clamp(8 / loads, 1, std::min(copies, 8));
      if (!indexed) s.functions.push_back(name + "_warp");
      break;
    case Layout::scatter: break;
  }
  if (k.has_epilogue() && staged_loads(k) > 0 && !indexed) {
    s.staged = static_cast<int>(s.functions.size());
    s.functions.push_back(name + "_staged");
  }
  if (s.left_ >= 0) {
    s.mma = static_cast<int>(s.functions.size());
    s.functions.push_back(name + "_mma");
    s.functions.push_back(name + "_mma_small");
  }
  // Long code need not be there once more: it waits for itself, not for memory.
  if (s.layout == Layout::rows && cost <= 16) {
    s.short_rows = static_cast<int>(s.functions.size());
    s.functions.push_back(name + "_short");
  }
  // The accumulators of a row take turns, by the parity of a step.
  if (s.layout == Layout::rows) s.unroll = s.unroll / 2 * 2;
  for (const auto& r : k.reductions) s.part_bytes_ += 8 * static_cast<size_t>(members_of_part(r));
  s.text = std::string(name_of(s.layout)) + ", " + std::to_string(s.threads) + " threads, vectors of " +
           std::to_string(s.vector) + ", " + std::to_string(s.unroll) + " at once, " +
           std::to_string(s.functions.size()) + (s.functions.size() == 1 ? " function" : " functions");
  return s;
}

int64_t Schedule::results(const uint64_t* args) const {
  int64_t n = 1;
  for (int a = 0; a < args_.rank; ++a)
    if (a != sequential_) n *= static_cast<int64_t>(args[args_.extent(a)]);
  return n;
}

void Schedule::plan(uint64_t* args, std::vector<Launch>& launches, size_t& scratch, int tensor_cores) const {
  scratch = 0;
  const int64_t n = results(args);
  if (n == 0) return;
  switch (layout) {
    case Layout::map: return plan_map(args, launches);
    case Layout::scatter: return plan_scatter(args, launches);
    case Layout::rows:
    case Layout::columns: return plan_reduction(args, launches, scratch);
    case Layout::tiles:
      if (plan_staged_contraction(args, launches)) return;
      if (tensor_cores == 0 || !plan_mma(args, launches, tensor_cores)) plan_tiles(args, launches);
      return;
    case Layout::lines: {
      const uint64_t length = args[args_.extent(sequential_)];
      if (length == 0) return;
      if (functions.size() > 1 && n <= kFewLines && length >= kLeastWarpLine)
        return launches.push_back({1, 32, static_cast<uint32_t>(n), 0});
      [[fallthrough]];
    }
    case Layout::outputs:
      if (layout == Layout::outputs && plan_staged_contraction(args, launches)) return;
      launches.push_back(
          {0, static_cast<uint32_t>(threads), static_cast<uint32_t>(divide_up(n, threads)), 0});
  }
}

void Schedule::plan_scatter(uint64_t* args, std::vector<Launch>& launches) const {
  if (args[args_.extent(sequential_)] == 0) return;
  const auto lines = static_cast<uint64_t>(results(args));
  // Each owner goes through all of the line's indices: no more than fill a device.
  const uint64_t owners = lines >= kManyOwners ? 1 : std::bit_floor(kManyOwners / lines);
  args[ArgLayout::kScratch + 1] = owners;
  launches.push_back({0, static_cast<uint32_t>(threads),
                      static_cast<uint32_t>(divide_up(static_cast<int64_t>(lines * owners), threads)), 0});
}

Schedule::Side Schedule::side_of(const uint64_t* args, int operand, int axis) const {
  const Operand& o = operands_[static_cast<size_t>(operand)];
  const auto size = static_cast<int64_t>(size_of(o.dtype));
  const auto stride = [&](int a) { return args_.stride_bytes(args, operand, a, o.stride[a], size); };
  // Strides that the text takes for granted come first.
  const bool is_turned =
      o.stride[axis] == Stride::unit ||
      (o.stride[sequential_] != Stride::unit && stride(sequential_) != size && stride(axis) == size);
  const int packed = is_turned ? axis : sequential_;
  return {is_turned, lies_in_vectors(args, args_, operands_, operand, packed)};
}

bool Schedule::is_wide(const uint64_t* args) const {
  const int last = args_.rank - 1;
  if (last > 0 && args[args_.extent(last)] % static_cast<uint64_t>(vector) != 0) return false;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    const int at = static_cast<int>(i);
    if (o.stride[last] != Stride::unit) continue;
    const uint64_t bytes = size_of(o.dtype) * static_cast<uint64_t>(vector);
    if (args[args_.pointer(at)] % bytes) return false;
    for (int a = 0; a < last; ++a) {
      if (args[args_.extent(a)] == 1 || o.stride[a] == Stride::zero) continue;
      if (o.stride[a] == Stride::unit || args[args_.stride(at, a)] % bytes) return false;
    }
  }
  return true;
}

void Schedule::plan_map(uint64_t* args, std::vector<Launch>& launches) const {
  if (transposed_axis >= 0) {
    const auto extent = [&](int a) { return args[args_.extent(a)]; };
    const uint64_t columns = extent(args_.rank - 1), rows = extent(transposed_axis);
    // Square, unless there are only a few of one.
    const auto bits = [](uint64_t n) { return n > 1 ? std::bit_width(n - 1) : 0; };
    const int most = std::countr_zero(unsigned{kTurnedTile});
    const int shift = columns < 32 ? bits(columns) : rows < 32 ? most - bits(rows) : most / 2;
    args[ArgLayout::kPlanned] = static_cast<uint64_t>(shift);
    const auto tiles = [](uint64_t n, int shift) { return (n + (uint64_t{1} << shift) - 1) >> shift; };
    const uint64_t others = static_cast<uint64_t>(results(args)) / (rows * columns);
    launches.push_back({0, static_cast<uint32_t>(threads),
                        static_cast<uint32_t>(others * tiles(columns, shift) * tiles(rows, most - shift)),
                        0});
    return;
  }
  const bool wide = vector > 1 && is_wide(args);
  const int64_t items = wide ? std::max<int64_t>(1, results(args) / vector) : results(args);
  launches.push_back({static_cast<uint16_t>(wide), static_cast<uint32_t>(threads),
                      static_cast<uint32_t>(divide_up(items, threads * unroll)), 0});
}

bool Schedule::plan_staged_contraction(const uint64_t* args, std::vector<Launch>& launches) const {
  const uint64_t n = args[args_.extent(sequential_)];
  const int64_t blocks = divide_up(results(args), 32);
  if (!has_staged() || blocks > kFewBlocks || n < kLeastStagedColumn || n >> 31) return false;
  // Tiles load a side once for all of their rows.
  if (layout == Layout::tiles && args[args_.extent(row_axis_)] > kFewRows) return false;
  launches.push_back({static_cast<uint16_t>(staged), kStagedThreads, static_cast<uint32_t>(blocks), 0});
  return true;
}

bool Schedule::plan_mma(uint64_t* args, std::vector<Launch>& launches, int multiprocessors) const {
  const auto extent = [&](int axis) { return static_cast<int64_t>(args[args_.extent(axis)]); };
  const int64_t rows = extent(row_axis_), columns = extent(column_axis_), steps = extent(sequential_);
  const int64_t planes = results(args) / (rows * columns);
  if (!has_mma() || rows < kLeastMma || columns < kLeastMma || steps < kLeastMma || steps >> 30) return false;
  if (static_cast<double>(rows * columns) * static_cast<double>(steps) < kWorthTensorCores) return false;
  const Side left = side_of(args, left_, row_axis_), right = side_of(args, right_, column_axis_);
  // The text reads these bits in ProductWriter::mma_side.
  args[ArgLayout::kPlanned] =
      static_cast<uint64_t>(left.wide | right.wide << 1 | left.turned << 2 | right.turned << 3);
  const auto tiles = [&](int64_t tile) { return planes * divide_up(rows, tile) * divide_up(columns, tile); };
  const bool small = !left.wide || !right.wide || tiles(kMmaTiles[0]) < multiprocessors;
  const int tile = kMmaTiles[small];
  launches.push_back({static_cast<uint16_t>(mma + small), static_cast<uint32_t>(tile * 2),
                      static_cast<uint32_t>(tiles(tile)), 0});
  return true;
}

void Schedule::plan_tiles(const uint64_t* args, std::vector<Launch>& launches) const {
  const auto extent = [&](int axis) { return static_cast<int64_t>(args[args_.extent(axis)]); };
  const int64_t rows = extent(row_axis_), columns = extent(column_axis_);
  const int64_t tiles = results(args) / (rows * columns) * divide_up(rows, kTile) * divide_up(columns, kTile);
  launches.push_back({0, static_cast<uint32_t>(threads), static_cast<uint32_t>(tiles), 0});
}

void Schedule::plan_reduction(uint64_t* args, std::vector<Launch>& launches, size_t& scratch) const {
  const bool inner = layout == Layout::rows;
  const int64_t n = static_cast<int64_t>(args[args_.extent(sequential_)]), count = results(args);
  const int64_t blocks = std::max<int64_t>(1, divide_up(n, jit::loop::reduce_block(inner)));
  args[ArgLayout::kScratch + 1] = static_cast<uint64_t>(blocks);
  const int64_t items = count * blocks;
  // Few items don't fill a device by a warp each.
  const int64_t staged_blocks = inner ? items : divide_up(items, 32);
  if (has_short_rows() && n > 0 && n <= kShortRow) {
    launches.push_back({static_cast<uint16_t>(short_rows), static_cast<uint32_t>(threads),
                        static_cast<uint32_t>(divide_up(count, threads)), 0});
  } else if (has_staged() && staged_blocks <= kFewBlocks &&
             n >= (inner ? kLeastStagedRow : kLeastStagedColumn)) {
    launches.push_back(
        {static_cast<uint16_t>(staged), kStagedThreads, static_cast<uint32_t>(staged_blocks), 0});
  } else {
    // Rows that fit a part of a warp get one: the other lanes' accumulators would stay as they start.
    const int shift = n > 16 ? 5 : n > 1 ? std::bit_width(static_cast<uint64_t>(n - 1)) : 0;
    args[ArgLayout::kPlanned] = static_cast<uint64_t>(shift);
    const int64_t items_a_block = inner ? threads >> shift : 32;
    launches.push_back(
        {0, static_cast<uint32_t>(threads), static_cast<uint32_t>(divide_up(items, items_a_block)), 0});
  }
  if (blocks == 1) return;
  scratch = static_cast<size_t>(items) * part_bytes_;
  launches.push_back({1, kCombineThreads, static_cast<uint32_t>(divide_up(count, kCombineThreads / 32)), 0});
}

}  // namespace lazy::cuda_backend
