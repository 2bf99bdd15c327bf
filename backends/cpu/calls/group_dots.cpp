// Runs products with groups of small integers on the CPU: shares columns among threads.
#include "backends/cpu/calls/group_dots.hpp"

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

class Dots final : public jit::CallKernel {
 public:
  explicit Dots(const Level& level) : level_(level) {}
  size_t workspace(std::span<const jit::Meta> o, std::span<const jit::Meta>) const override {
    return static_cast<size_t>(o[0].shape[0] * o[2].shape[1]) * sizeof(float);
  }
  void run(const jit::CallRun& r) const override {
    const GroupDots d(r, true);
    if (!d.y) return;
    auto* const sums = reinterpret_cast<float*>(r.workspace);
    const bool shifted = d.zero || d.zero_of_all() != 0;
    if (shifted) level_.sums(d, sums);
    const Work work{d, shifted ? sums : nullptr};
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
