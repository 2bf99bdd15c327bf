#include "backends/cpu/calls/calls.hpp"

#include "backends/cpu/calls/linalg/linalg.hpp"
#include "jit/built_in/list.hpp"

namespace lazy::cpu_backend {

std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec& spec, Isa isa) {
  const jit::CallDefinition* const d = &spec.definition();
  if (d == &jit::calls::kSort) return make_sort(isa);
  if (d == &jit::calls::kSelect) return make_select(isa);
  if (d == &jit::calls::kConcat) return make_concat();
  if (d == &jit::calls::kCholesky) return make_cholesky();
  if (d == &jit::calls::kCompress) return make_compress();
  if (d == &jit::calls::kLu) return make_lu();
  if (d == &jit::calls::kLuSolve) return make_lu_solve();
  if (d == &jit::calls::kSolve) return make_solve();
  if (d == &jit::calls::kSolveTriangular) return make_solve_triangular();
  if (d == &jit::calls::kQr) return make_qr();
  if (d == &jit::calls::kEigh) return make_eigh();
  if (d == &jit::calls::kSvd) return make_svd();
  if (d == &jit::calls::kEig) return make_eig();
  if (d == &jit::calls::kRecurrent) return make_recurrent(isa, false);
  if (d == &jit::calls::kRecurrentBackward) return make_recurrent(isa, true);
  if (d == &jit::calls::kVarlenAttention) return make_varlen_attention(isa, false);
  if (d == &jit::calls::kVarlenAttentionBackward) return make_varlen_attention(isa, true);
  if (d == &jit::calls::kFft || d == &jit::calls::kFftColumns || d == &jit::calls::kRealFft ||
      d == &jit::calls::kInverseRealFft)
    return make_fft(*d, isa);
  if (d == &jit::calls::kGroupDots) return make_group_dots(isa, false);
  if (d == &jit::calls::kGroupNumbers) return make_group_dots(isa, true);
  return nullptr;
}

}  // namespace lazy::cpu_backend
