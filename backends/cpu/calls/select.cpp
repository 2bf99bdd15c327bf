// Selects from rows: of a long one only the elements between two of a sample are sorted; of others, those
// parts that have a wanted place.
#include <algorithm>
#include <vector>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/order/avx512.hpp"
#include "backends/cpu/calls/order/plain.hpp"
#include "backends/cpu/calls/order/rows.hpp"
#include "jit/built_in/select.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;
using jit::Meta;

template <class M>
class CpuSelect final : public jit::CallKernel {
 public:
  size_t workspace(std::span<const Meta> operands, std::span<const Meta>) const override {
    return order::workspace_for(operands[0], order::pieces_for(operands[0]));
  }
  void run(const CallRun& r) const override {
    const Meta& x = r.operands[0];
    const int64_t length = x.shape.back(), count = r.operands[1].shape[0];
    if (numel(x.shape) == 0 || count == 0 || (!r.out[0] && !r.out[1])) return;
    const std::vector<int64_t> places = jit::calls::places_of(r);
    std::vector<int64_t> wanted = places;
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const auto codec = order::codec_of<M>(x.dtype, r.spec.as<jit::calls::SelectAttributes>().descending);
    const int64_t bytes = codec.table->element_bytes;
    order::each_row<M>(r, codec, [&](auto& orderer, int64_t row) {
      orderer.select(r.in[0] + row * length * bytes, length, {wanted.data(), wanted.data() + wanted.size()},
                     places.data(), count, r.out[0] ? r.out[0] + row * count * bytes : nullptr,
                     r.out[1] ? reinterpret_cast<int64_t*>(r.out[1]) + row * count : nullptr);
    });
  }
  std::string schedule() const override { return std::string("select ") + M::kName; }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_select(Isa isa) {
  if (isa >= Isa::avx512) return std::make_unique<CpuSelect<order::Avx512>>();
  return std::make_unique<CpuSelect<order::Plain>>();
}

}  // namespace lazy::cpu_backend
