// Runs products with groups of small integers on the CPU: shares columns among threads.
#include "backends/cpu/calls/group_dots.hpp"

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr double kIntegersOfNanosecond = 25;
constexpr int64_t kPiecesOfThread = 4;  // so that threads end together

class GroupDotsKernel final : public jit::CallKernel {
 public:
  explicit GroupDotsKernel(const Level& level) : level_(level) {}
  size_t workspace(std::span<const jit::Meta> o, std::span<const jit::Meta>) const override {
    return static_cast<size_t>(o[0].shape[0] * o[2].shape[1]) * sizeof(float);
  }
  void run(const jit::CallRun& r) const override {
    const GroupDots d(r);
    if (!d.y || d.rows == 0 || d.columns == 0) return;
    auto* const sums = reinterpret_cast<float*>(r.workspace);
    const bool shifted = d.zero || d.zero_of_all() != 0;
    if (shifted) level_.sums(d, sums);
    const Work work{d, shifted ? sums : nullptr};
    const double integers = static_cast<double>(d.columns) * static_cast<double>(d.depth);
    const int64_t threads = worth_threads(integers / kIntegersOfNanosecond) ? thread_count() : 1;
    const int64_t pieces = threads == 1 ? 1 : std::min(d.columns, threads * kPiecesOfThread);
    if (pieces == 1) return level_.columns(work, 0, d.columns);
    for_each(pieces, [&](int64_t i) {
      level_.columns(work, d.columns * i / pieces, d.columns * (i + 1) / pieces);
    });
  }
  std::string schedule() const override { return level_.name; }

 private:
  const Level& level_;
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

namespace lazy::cpu_backend {

std::unique_ptr<jit::CallKernel> make_group_dots(Isa isa) {
  if (isa >= Isa::avx512) return std::make_unique<group_dots::GroupDotsKernel>(group_dots::kAvx512);
  if (isa == Isa::avx2) return std::make_unique<group_dots::GroupDotsKernel>(group_dots::kAvx2);
  return nullptr;
}

}  // namespace lazy::cpu_backend
