// Sorts rows: elements become unsigned keys in their order, with their index, and are sorted as words.
#include "jit/built_in/sort.hpp"
#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/order/avx512.hpp"
#include "backends/cpu/calls/order/plain.hpp"
#include "backends/cpu/calls/order/rows.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;
using jit::Meta;

template <class M>
class CpuSort final : public jit::CallKernel {
 public:
  size_t workspace(std::span<const Meta> operands, std::span<const Meta>) const override {
    return order::workspace_for(operands[0], order::pieces_for(operands[0]));
  }
  void run(const CallRun& r) const override {
    const Meta& x = r.operands[0];
    if (numel(x.shape) == 0 || (!r.out[0] && !r.out[1])) return;
    const int64_t length = x.shape.back();
    const auto codec = order::codec_of<M>(x.dtype, r.spec.as<jit::calls::SortAttributes>().descending);
    order::each_row<M>(r, codec, [&](auto& orderer, int64_t row) {
      const int64_t first = row * length, bytes = first * codec.table->element_bytes;
      orderer.sort(r.in[0] + bytes, length, r.out[0] ? r.out[0] + bytes : nullptr,
                   r.out[1] ? reinterpret_cast<int64_t*>(r.out[1]) + first : nullptr);
    });
  }
  std::string schedule() const override { return std::string("sort ") + M::kName; }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_sort(Isa isa) {
  if (isa >= Isa::avx512) return std::make_unique<CpuSort<order::Avx512>>();
  return std::make_unique<CpuSort<order::Plain>>();
}

}  // namespace lazy::cpu_backend
