// Rewrites what AVX2 lacks by what it has.
#pragma once
#include "backends/vector/vir.hpp"

namespace lazy::cpu_backend::avx2 {
using vir::Builder;
using vir::Pred;
using vir::Val;

/// Compares integers or floats; the result is an integer of the operands' width, all ones or zeros.
Val compare(Builder&, Pred, Val x, Val y);
/// Returns mask ? yes : no for such masks of the operands' width.
Val choose(Builder&, Val mask, Val yes, Val no);

Val minmax_i64(Builder&, vir::Op, Val x, Val y);
Val imul_i64(Builder&, Val x, Val y);
Val sar_i64(Builder&, Val x, int n);
Val sarv_i64(Builder&, Val x, Val n);
// The last arguments are the promises in vir.hpp (imm 1).
Val scalef(Builder&, Val x, Val n, bool near_one);
enum class GetExp : uint8_t { of_any, of_normal, of_positive };  // imm of Op::getexp
Val getexp(Builder&, Val x, GetExp);
Val getmant(Builder&, Val x, bool refuse_negative);
Val i64_to_f64(Builder&, Val x);
Val f64_to_i64(Builder&, Val x);
Val i64_to_f32(Builder&, Val x);

}  // namespace lazy::cpu_backend::avx2
