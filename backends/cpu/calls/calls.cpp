#include "backends/cpu/calls/calls.hpp"

#include "jit/calls/built_in.hpp"

namespace lazy::cpu_backend {

std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec& spec, Isa isa) {
  const jit::CallDefinition* const d = &spec.definition();
  if (d == &jit::calls::kSort) return make_sort(isa);
  if (d == &jit::calls::kSelect) return make_select(isa);
  if (d == &jit::calls::kConcat) return make_concat();
  if (d == &jit::calls::kCholesky) return make_cholesky();
  if (d == &jit::calls::kCompress) return make_compress();
  return nullptr;
}

}  // namespace lazy::cpu_backend
