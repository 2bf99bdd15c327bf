// Computes random bits.
#include "backends/reference/ops.hpp"
#include "support/philox.hpp"

namespace lazy::reference {
namespace {

template <int word>
uint32_t philox_word(uint32_t counter, uint32_t key0, uint32_t key1) {
  return philox({counter, 0, 0, 0}, {key0, key1})[word];
}

}  // namespace

StripFn random_meaning(jit::Op op, DType t) {
  if (t != DType::uint32) return nullptr;
  if (op == jit::Op::philox0) return lanes<philox_word<0>>;
  return op == jit::Op::philox1 ? lanes<philox_word<1>> : nullptr;
}

}  // namespace lazy::reference
