// Runs products with groups of small integers on the CPU: shares columns among threads.
#include "backends/cpu/calls/group_dots.hpp"

#include <algorithm>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr double kIntegersOfNanosecond = 25;
constexpr int64_t kPiecesOfThread = 4;  // so that threads end together

/// Calls range(first, last) for all rows of the matrix of integers.
template <class Range>
void share(const GroupDots& d, Range&& range) {
  const double integers = static_cast<double>(d.columns) * static_cast<double>(d.depth);
  const int64_t threads = worth_threads(integers / kIntegersOfNanosecond) ? thread_count() : 1;
  const int64_t pieces = threads == 1 ? 1 : std::min(d.columns, threads * kPiecesOfThread);
  if (pieces <= 1) return range(int64_t{0}, d.columns);
  for_each(pieces, [&](int64_t i) { range(d.columns * i / pieces, d.columns * (i + 1) / pieces); });
}

/// Copies x in blocks, as Work::x_blocks says.
void copy_blocks(const GroupDots& d, int64_t blocks, int8_t* to) {
  for (int64_t r = 0; r < d.rows; ++r, to += blocks * kBlock) {
    const int8_t* const x = d.x_bytes + r * d.depth;
    std::fill_n(to, blocks * kBlock, int8_t{0});
    for (int64_t k = 0; k < d.depth; ++k) {
      const int64_t in_block = k % kBlock, pair = in_block / 32, i = in_block % 32;
      to[k / kBlock * kBlock + i / 16 * (kBlock / 2) + pair * 16 + i % 16] = x[k];
    }
  }
}

class Dots final : public jit::CallKernel {
 public:
  explicit Dots(const Level& level) : level_(level) {}
  size_t workspace(std::span<const jit::Meta> o, std::span<const jit::Meta>) const override {
    const int64_t rows = o[0].shape[0];
    const int64_t bytes = o[0].dtype == int8 ? (o[0].shape[1] + kBlock) : 0;
    return static_cast<size_t>(rows * (o[2].shape[1] * static_cast<int64_t>(sizeof(float)) + bytes));
  }
  void run(const jit::CallRun& r) const override {
    const GroupDots d(r, true);
    if (!d.y) return;
    auto* const sums = reinterpret_cast<float*>(r.workspace);
    const bool shifted = d.zero || d.zero_of_all() != 0;
    if (shifted) level_.sums(d, sums);
    auto* const blocks = reinterpret_cast<int8_t*>(sums + d.rows * d.groups);
    const Work work{d, shifted ? sums : nullptr, d.x ? nullptr : blocks};
    if (!d.x) copy_blocks(d, work.blocks(), blocks);
    share(d, [&](int64_t first, int64_t last) { level_.columns(work, first, last); });
  }
  std::string schedule() const override { return level_.name; }

 private:
  const Level& level_;
};

class Numbers final : public jit::CallKernel {
 public:
  explicit Numbers(const Level& level) : level_(level) {}
  void run(const jit::CallRun& r) const override {
    const GroupDots d(r, false);
    if (d.y) share(d, [&](int64_t first, int64_t last) { level_.write(d, first, last); });
  }
  std::string schedule() const override { return level_.name; }

 private:
  const Level& level_;
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

namespace lazy::cpu_backend {

std::unique_ptr<jit::CallKernel> make_group_dots(Isa isa, bool numbers) {
  if (isa < Isa::avx2) return nullptr;
  const group_dots::Level& level = isa >= Isa::avx512 ? group_dots::kAvx512 : group_dots::kAvx2;
  if (numbers) return std::make_unique<group_dots::Numbers>(level);
  return std::make_unique<group_dots::Dots>(level);
}

}  // namespace lazy::cpu_backend
