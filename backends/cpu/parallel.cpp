#include "backends/cpu/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

#include "backends/cpu/features.hpp"
#include "support/config.hpp"

namespace lazy::cpu {
using jit::loop::Stride;
namespace {

constexpr double kNanosecondsWorthAThread = 8000;
constexpr int64_t kVectorGrain = 64;  // chunks of the vector axis start at multiples: whole vectors, whole cache lines

tbb::task_arena& arena() {
  static tbb::task_arena* const a = new tbb::task_arena(thread_count());
  return *a;
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

int thread_count() {
  const int asked = config::get().num_threads;
  return asked > 0 ? asked : usable_processors();
}

Partition::Partition(const jit::loop::LoopKernel& k) : layout_(jit::loop::layout_of(k)), vector_axis_(k.rank - 1), sequential_(k.sequential) {
  for (const auto& o : k.operands) {
    bytes_.push_back(static_cast<uint8_t>(size_of(o.dtype)));
    for (int a = 0; a < k.rank; ++a) step_class_.push_back(static_cast<int8_t>(o.stride[a]));
  }
}

void Partition::set_cost(int instructions, int lanes) {
  // Half a cycle an instruction, a quarter of a nanosecond a cycle; loads and stores beside.
  const double ns = (instructions * 0.5 + 2) * 0.25 / lanes;
  inline_limit_ = std::max<int64_t>(1, static_cast<int64_t>(kNanosecondsWorthAThread / ns));
}

void Partition::restrict(uint64_t* args, int axis, int64_t first, int64_t last) const {
  args[layout_.extent(axis)] = static_cast<uint64_t>(last - first);
  args[layout_.origin(axis)] += static_cast<uint64_t>(first);
  for (int o = 0; o < layout_.operands; ++o) {
    const auto c = static_cast<Stride>(step_class_[static_cast<size_t>(o * layout_.rank + axis)]);
    if (c == Stride::zero) continue;
    const int64_t step = c == Stride::unit ? bytes_[static_cast<size_t>(o)] : static_cast<int64_t>(args[layout_.stride(o, axis)]);
    args[layout_.pointer(o)] += static_cast<uint64_t>(first * step);
  }
}

void Partition::run(Entry entry, uint64_t* args) const {
  const int threads = thread_count();
  // The outermost axis that gives every thread something; failing that the longest one.
  int best = -1;
  int64_t most = 1;
  for (int a = 0; a < layout_.rank && threads > 1; ++a) {
    if (a == sequential_) continue;
    const int64_t pieces = a == vector_axis_ ? length(args, a) / kVectorGrain : length(args, a);
    if (pieces > most) best = a, most = pieces;
    if (pieces >= 4 * threads) break;
  }
  if (best < 0) return entry(args);
  const int64_t n = length(args, best);
  const int64_t grain = best == vector_axis_ ? round_up((n + threads - 1) / threads, kVectorGrain) : (n + threads - 1) / threads;
  const int64_t pieces = (n + grain - 1) / grain;
  if (pieces < 2) return entry(args);
  const auto words = static_cast<size_t>(layout_.words());
  arena().execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<int64_t>& r) {
          constexpr size_t kOnStack = 512;
          uint64_t small[kOnStack];
          std::unique_ptr<uint64_t[]> large;
          uint64_t* mine = small;
          if (words > kOnStack) {
            large = std::make_unique<uint64_t[]>(words);
            mine = large.get();
          }
          for (int64_t p = r.begin(); p < r.end(); ++p) {
            std::copy_n(args, words, mine);
            restrict(mine, best, p * grain, std::min(n, (p + 1) * grain));
            entry(mine);
          }
        },
        tbb::simple_partitioner());
  });
}

std::string Partition::describe() const { return "inline below " + std::to_string(inline_limit_) + " indices"; }

}  // namespace lazy::cpu
