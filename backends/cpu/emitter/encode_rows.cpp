// Lists the x86 instruction of each vector operation, level by level. Columns: f32, f64, i32, i64.
#include <array>

#include "backends/cpu/emitter/encode.hpp"

#include "support/lock.hpp"

namespace lazy::cpu_backend {
using vir::Op;
namespace Id = x86::Inst;
using Form = EncodeRow::Form;
namespace {

using Rows = std::array<EncodeRow, 256>;

void common(Rows& r) {
  const auto set = [&](vir::OpCode op, Form form, bool commutes, std::array<uint32_t, 4> id) {
    EncodeRow& row = r[op.number()];
    row.form = form;
    row.commutes = commutes;
    for (int i = 0; i < 4; ++i) row.id[i] = id[static_cast<size_t>(i)];
  };
  // Float operations keep their order: with two NaN operands the first one's payload is the result.
  set(Op::add, Form::binary, false, {Id::kIdVaddps, Id::kIdVaddpd});
  set(Op::sub, Form::binary, false, {Id::kIdVsubps, Id::kIdVsubpd});
  set(Op::mul, Form::binary, false, {Id::kIdVmulps, Id::kIdVmulpd});
  set(Op::div, Form::binary, false, {Id::kIdVdivps, Id::kIdVdivpd});
  set(Op::min, Form::binary, false, {Id::kIdVminps, Id::kIdVminpd});
  set(Op::max, Form::binary, false, {Id::kIdVmaxps, Id::kIdVmaxpd});
  set(Op::sqrt, Form::unary, false, {Id::kIdVsqrtps, Id::kIdVsqrtpd});
  set(Op::iadd, Form::binary, true, {0, 0, Id::kIdVpaddd, Id::kIdVpaddq});
  set(Op::isub, Form::binary, false, {0, 0, Id::kIdVpsubd, Id::kIdVpsubq});
  set(Op::shl, Form::unary_imm, false, {0, 0, Id::kIdVpslld, Id::kIdVpsllq});
  set(Op::shr, Form::unary_imm, false, {0, 0, Id::kIdVpsrld, Id::kIdVpsrlq});
  set(Op::shlv, Form::binary, false, {0, 0, Id::kIdVpsllvd, Id::kIdVpsllvq});
  set(Op::shrv, Form::binary, false, {0, 0, Id::kIdVpsrlvd, Id::kIdVpsrlvq});
  set(kMulLow32, Form::binary, true, {0, 0, Id::kIdVpmuludq, Id::kIdVpmuludq});
  set(kMulLow16, Form::binary, true, {0, 0, Id::kIdVpmullw, 0});
  set(kShiftPairRight, Form::unary_imm, false, {0, 0, Id::kIdVpsrlq, 0});
  set(kShiftPairLeft, Form::unary_imm, false, {0, 0, Id::kIdVpsllq, 0});
}

Rows make_avx512() {
  Rows r;
  common(r);
  const auto set = [&](vir::OpCode op, Form form, bool commutes, std::array<uint32_t, 4> id) {
    r[op.number()] = {form, commutes, {id[0], id[1], id[2], id[3]}};
  };
  set(Op::round, Form::unary_imm, false, {Id::kIdVrndscaleps, Id::kIdVrndscalepd});
  set(kRangeMax, Form::binary_imm, false, {Id::kIdVrangeps, Id::kIdVrangepd});
  set(kRangeMin, Form::binary_imm, false, {Id::kIdVrangeps, Id::kIdVrangepd});
  set(Op::scalef, Form::binary, false, {Id::kIdVscalefps, Id::kIdVscalefpd});
  set(Op::getexp, Form::unary, false, {Id::kIdVgetexpps, Id::kIdVgetexppd});
  set(Op::getmant, Form::unary, false, {Id::kIdVgetmantps, Id::kIdVgetmantpd});
  set(Op::and_, Form::binary, true, {Id::kIdVpandd, Id::kIdVpandq, Id::kIdVpandd, Id::kIdVpandq});
  set(Op::or_, Form::binary, true, {Id::kIdVpord, Id::kIdVporq, Id::kIdVpord, Id::kIdVporq});
  set(Op::xor_, Form::binary, true, {Id::kIdVpxord, Id::kIdVpxorq, Id::kIdVpxord, Id::kIdVpxorq});
  set(Op::andn, Form::binary, false, {Id::kIdVpandnd, Id::kIdVpandnq, Id::kIdVpandnd, Id::kIdVpandnq});
  set(Op::imul, Form::binary, true, {0, 0, Id::kIdVpmulld, Id::kIdVpmullq});
  set(Op::imin, Form::binary, true, {0, 0, Id::kIdVpminsd, Id::kIdVpminsq});
  set(Op::imax, Form::binary, true, {0, 0, Id::kIdVpmaxsd, Id::kIdVpmaxsq});
  set(Op::umin, Form::binary, true, {0, 0, Id::kIdVpminud, Id::kIdVpminuq});
  set(Op::umax, Form::binary, true, {0, 0, Id::kIdVpmaxud, Id::kIdVpmaxuq});
  set(Op::sar, Form::unary_imm, false, {0, 0, Id::kIdVpsrad, Id::kIdVpsraq});
  set(Op::sarv, Form::binary, false, {0, 0, Id::kIdVpsravd, Id::kIdVpsravq});
  return r;
}

Rows make_avx2() {
  Rows r;
  common(r);
  const auto set = [&](vir::OpCode op, Form form, bool commutes, std::array<uint32_t, 4> id) {
    r[op.number()] = {form, commutes, {id[0], id[1], id[2], id[3]}};
  };
  set(Op::round, Form::unary_imm, false, {Id::kIdVroundps, Id::kIdVroundpd});
  set(Op::and_, Form::binary, true, {Id::kIdVandps, Id::kIdVandpd, Id::kIdVpand, Id::kIdVpand});
  set(Op::or_, Form::binary, true, {Id::kIdVorps, Id::kIdVorpd, Id::kIdVpor, Id::kIdVpor});
  set(Op::xor_, Form::binary, true, {Id::kIdVxorps, Id::kIdVxorpd, Id::kIdVpxor, Id::kIdVpxor});
  set(Op::andn, Form::binary, false, {Id::kIdVandnps, Id::kIdVandnpd, Id::kIdVpandn, Id::kIdVpandn});
  set(Op::imul, Form::binary, true, {0, 0, Id::kIdVpmulld, 0});
  set(Op::imin, Form::binary, true, {0, 0, Id::kIdVpminsd, 0});
  set(Op::imax, Form::binary, true, {0, 0, Id::kIdVpmaxsd, 0});
  set(Op::umin, Form::binary, true, {0, 0, Id::kIdVpminud, 0});
  set(Op::umax, Form::binary, true, {0, 0, Id::kIdVpmaxud, 0});
  set(Op::sar, Form::unary_imm, false, {0, 0, Id::kIdVpsrad, 0});
  set(Op::sarv, Form::binary, false, {0, 0, Id::kIdVpsravd, 0});
  return r;
}

}  // namespace

const EncodeRow& encode_row(Isa isa, vir::OpCode op) {
  static constinit Once<const Rows> avx512, avx2;
  return (isa >= Isa::avx512 ? avx512.get(make_avx512) : avx2.get(make_avx2))[op.number()];
}

}  // namespace lazy::cpu_backend
