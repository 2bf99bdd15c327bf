#include "backends/cpu/emitter/encode.hpp"

#include "support/error.hpp"

namespace lazy::cpu_backend {
using asmjit::Imm;
using asmjit::Operand_;
using vir::Inst;
using vir::Op;
using vir::Type;
namespace Id = x86::Inst;

namespace {

/// Returns vrange's immediate: smaller or larger, with the sign of what was chosen.
int range_kind(vir::OpCode op) { return op == kRangeMax ? 5 : 4; }

/// Returns a comparison's immediate, to which 4 adds its negation.
int predicate(Type operands, vir::Pred p) {
  // the quiet predicates: EQ_OQ NEQ_UQ LT_OQ LE_OQ GT_OQ GE_OQ UNORD_Q ORD_Q
  static constexpr int floats[] = {0x00, 0x04, 0x11, 0x12, 0x1e, 0x1d, 0x03, 0x07};
  static constexpr int integers[] = {0, 4, 1, 2, 6, 5, 0, 0, 1, 2, 6, 5};
  const bool is_float = operands == Type::f32 || operands == Type::f64;
  return (is_float ? floats : integers)[static_cast<int>(p)];
}

/// Returns AVX-512's instruction that compares integers.
uint32_t integer_compare(Type operands, vir::Pred p) {
  const bool is_unsigned = p >= vir::Pred::ult;
  if (vir::is64(operands)) return is_unsigned ? Id::kIdVpcmpuq : Id::kIdVpcmpq;
  return is_unsigned ? Id::kIdVpcmpud : Id::kIdVpcmpd;
}

}  // namespace

Operand_ BlockWriter::source(uint32_t value, int bytes) {
  if (auto m = regs_.memory(value)) return *m;
  return v(regs_.fetch(value), bytes);
}

void BlockWriter::write_one(uint32_t i) {
  now_ = i;
  regs_.begin(i);
  const Inst& in = code_[i];
  const Type t = in.type;
  if (in.op == kStore) return store(i);
  if (in.op == kAssign) return assign(in);
  if (t == Type::mask && (in.op == Op::and_ || in.op == Op::or_ || in.op == Op::xor_ || in.op == Op::andn))
    return mask_logic(in);
  switch (in.op) {
    case Op::fma:
    case Op::fnma:
    case Op::fms: return multiply_add(in);
    case Op::select: return select(in);
    case Op::cmp: return compare(in);
    case Op::narrow: return narrow(in);
    case Op::mask_to_int: return mask_to_int(in);
    case Op::patch: return patch(in);
    case Op::f32_to_f64: return convert(in, Id::kIdVcvtps2pd);
    case Op::f64_to_f32: return convert(in, Id::kIdVcvtpd2ps);
    case Op::i32_to_f32: return convert(in, Id::kIdVcvtdq2ps);
    case Op::f32_to_i32: return convert(in, Id::kIdVcvttps2dq);
    case Op::i32_to_f64: return convert(in, Id::kIdVcvtdq2pd);
    case Op::f64_to_i32: return convert(in, Id::kIdVcvttpd2dq);
    case Op::i64_to_f64: return convert(in, Id::kIdVcvtqq2pd);
    case Op::f64_to_i64: return convert(in, Id::kIdVcvttpd2qq);
    case Op::i64_to_f32: return convert(in, Id::kIdVcvtqq2ps);
    case Op::f32_to_i64: return convert(in, Id::kIdVcvttps2qq);
    case Op::sext: return convert(in, Id::kIdVpmovsxdq);
    case Op::zext: return convert(in, Id::kIdVpmovzxdq);
    case Op::foreign: return write_block_op(in);
    default: return write_row(in);
  }
}

/// Writes a store. It may overwrite what a later one still has to load (an operand written in place), so the
/// first one fetches all of that.
void BlockWriter::store(uint32_t i) {
  if (!stores_begun_) {
    stores_begun_ = true;
    for (uint32_t s = i; s < code_.size(); ++s) {
      if (code_[s].op != kStore || code_[code_[s].a].op != Op::input) continue;
      if (Slot::unpack(code_[code_[s].a].imm).kind != Slot::Kind::load) continue;
      regs_.fetch(code_[s].a);
      regs_.begin(i);  // it may be spilled again, but not read from the operand
    }
  }
  write_store(as_, regs_, where_, Slot::unpack(code_[i].imm), code_[i].a);
  regs_.release_operands();
}

void BlockWriter::write_block_op(const Inst& in) {
  switch (in.op.as<BlockOp>()) {
    case kMasked: return masked(in);
    case kUpperHalf: return upper_half(in);
    case kHalves:
    case kQuarters: return two_halves(in);
    case kTranspose: return transpose(in);
    case kSpread: return spread(in);
    case kCopy: return duplicate(in);
    case kCheck: return check(in);
    case kMaskedCompare: return masked_compare(in);
    case kRareDivide: return patch(in);
    case kLoadAt:
    case kLoadRow: return load_at(in);
    default: return write_row(in);
  }
}

void BlockWriter::write_row(const Inst& in) {
  const Type t = in.type;
  const EncodeRow& row = encode_row(as_.isa, in.op);
  const uint32_t id = row.id[static_cast<int>(t) & 3];
  if (t == Type::mask || id == 0)
    throw CompileError("no " + std::string(name_of(as_.isa)) + " form of vector operation " +
                       std::to_string(in.op.number()) + " on lane type " +
                       std::to_string(static_cast<int>(t)));
  switch (row.form) {
    case EncodeRow::Form::binary:
    case EncodeRow::Form::binary_imm: return binary(in, row);
    case EncodeRow::Form::unary:
      if (in.op == Op::getmant)
        return unary(in, id, 3 | (in.imm ? 3 : 1) << 2);  // interval [0.75, 1.5); sign dropped or refused
      return unary(in, id, -1);
    case EncodeRow::Form::unary_imm:
      // Bit 3 of a rounding suppresses the inexact flag.
      return unary(in, id, in.op == Op::round ? static_cast<int>(in.imm) | 8 : static_cast<int>(in.imm));
    default: throw CompileError("a vector operation without a form");
  }
}

void BlockWriter::binary(const Inst& in, const EncodeRow& row) {
  const uint32_t id = row.id[static_cast<int>(in.type) & 3];
  const int bytes = as_.bytes_of(in.type);
  uint32_t x = in.a, y = in.b;
  if (row.commutes && regs_.memory_only(x) && !regs_.memory_only(y)) std::swap(x, y);
  const int rx = regs_.fetch(x);
  // An instruction that works on pairs or halves of lanes does not broadcast single ones.
  const bool other_lanes = (in.op == kMulLow32 && in.type == Type::i32) || in.op == kMulLow16;
  const Operand_ oy = other_lanes ? Operand_(v(regs_.fetch(y), bytes)) : source(y, bytes);
  regs_.release_operands();
  const int d = regs_.define();
  if (row.form == EncodeRow::Form::binary_imm)
    a_.emit(id, v(d, bytes), v(rx, bytes), oy, Imm(range_kind(in.op)));
  else a_.emit(id, v(d, bytes), v(rx, bytes), oy);
}

/// The result starts as what lanes outside the mask are to have.
void BlockWriter::masked(const Inst& in) {
  const auto op = vir::OpCode::from_number(static_cast<uint8_t>(in.imm));
  const EncodeRow& row = encode_row(as_.isa, op);
  const uint32_t id = row.id[static_cast<int>(in.type) & 3];
  const int bytes = as_.bytes_of(in.type);
  const bool zeroing = code_[in.d].op == Op::constant && code_[in.d].imm == 0;
  const int m = regs_.fetch(in.a), x = regs_.fetch(in.b), keep = zeroing ? -1 : regs_.fetch(in.d);
  const Operand_ y = source(in.c, bytes);
  int d;
  if (zeroing) {
    regs_.release_operands();
    d = regs_.define();
  } else if (in.d != in.c && regs_.dies(in.d)) {
    d = regs_.define_over(in.d);
  } else {
    d = regs_.define();  // none of the sources, all of which are still in registers
    copy(d, keep, bytes);
  }
  if (!zeroing) regs_.release_operands();
  a_.k(mask_register(m));
  if (zeroing) a_.z();
  if (row.form == EncodeRow::Form::binary_imm) a_.emit(id, v(d, bytes), v(x, bytes), y, Imm(range_kind(op)));
  else a_.emit(id, v(d, bytes), v(x, bytes), y);
}

void BlockWriter::unary(const Inst& in, uint32_t id, int immediate) {
  const int bytes = as_.bytes_of(in.type);
  const int r = regs_.fetch(in.a);
  regs_.release_operands();
  const int d = regs_.define();
  if (immediate < 0) a_.emit(id, v(d, bytes), v(r, bytes));
  else a_.emit(id, v(d, bytes), v(r, bytes), Imm(immediate));
}

void BlockWriter::convert(const Inst& in, uint32_t id) {
  const int from = as_.bytes_of(code_[in.a].type), to = as_.bytes_of(in.type);
  const int r = regs_.fetch(in.a);
  regs_.release_operands();
  const int d = regs_.define();
  a_.emit(id, v(d, to), v(r, from));
}

void BlockWriter::narrow(const Inst& in) {
  const int from = as_.bytes_of(Type::i64), to = as_.bytes_of(Type::i32);
  const int r = regs_.fetch(in.a);
  if (as_.avx512()) {
    regs_.release_operands();
    a_.emit(Id::kIdVpmovqd, v(regs_.define(), to), v(r, from));
    return;
  }
  const int t = regs_.scratch();
  a_.vextracti128(v(t, 16).xmm(), v(r, 32).ymm(), 1);
  regs_.release_operands();
  a_.vshufps(v(regs_.define(), 16).xmm(), v(r, 16).xmm(), v(t, 16).xmm(), 0x88);
}

/// Holds x86's three forms, by which of the sources the result takes the place of.
struct FmaIds {
  uint32_t f132, f213, f231;
};
/// Writes x * y + z. At most one source is in memory, `m`: the addend z or the factor y.
struct BlockWriter::MultiplyAdd {
  const FmaIds& id;
  int bytes;
  uint32_t x, y, z;
  int rx, ry, rz;  // registers, -1 for the source in memory
  Operand_ m;
  bool x_dies, y_dies;  // and may be overwritten
};

int BlockWriter::define_over_last_use(uint32_t value) {
  const int d = regs_.define_over(value);
  regs_.release_operands();
  return d;
}

void BlockWriter::multiply_add(const Inst& in) {
  const bool wide = in.type == Type::f64;
  static constexpr FmaIds ids[3][2] = {{{Id::kIdVfmadd132ps, Id::kIdVfmadd213ps, Id::kIdVfmadd231ps},
                                        {Id::kIdVfmadd132pd, Id::kIdVfmadd213pd, Id::kIdVfmadd231pd}},
                                       {{Id::kIdVfnmadd132ps, Id::kIdVfnmadd213ps, Id::kIdVfnmadd231ps},
                                        {Id::kIdVfnmadd132pd, Id::kIdVfnmadd213pd, Id::kIdVfnmadd231pd}},
                                       {{Id::kIdVfmsub132ps, Id::kIdVfmsub213ps, Id::kIdVfmsub231ps},
                                        {Id::kIdVfmsub132pd, Id::kIdVfmsub213pd, Id::kIdVfmsub231pd}}};
  const FmaIds& id = ids[in.op == Op::fma ? 0 : in.op == Op::fnma ? 1 : 2][wide];
  uint32_t x = in.a, y = in.b;
  const uint32_t z = in.c;
  // At most one source is in memory: the addend if it can be, else a factor (as y).
  enum class Where { none, addend, factor } in_memory = Where::none;
  if (regs_.memory_only(z) && z != x && z != y) in_memory = Where::addend;
  else if (regs_.memory_only(y) && y != x && y != z) in_memory = Where::factor;
  else if (regs_.memory_only(x) && x != y && x != z) std::swap(x, y), in_memory = Where::factor;
  int rx = regs_.fetch(x), ry = -1, rz = -1;
  if (in_memory != Where::factor) ry = regs_.fetch(y);
  if (in_memory != Where::addend) rz = regs_.fetch(z);
  Operand_ m{};
  if (in_memory != Where::none) {
    const uint32_t value = in_memory == Where::addend ? z : y;
    if (auto mem = regs_.memory(value)) {
      m = *mem;
    } else {
      (in_memory == Where::addend ? rz : ry) = regs_.fetch(value);
      in_memory = Where::none;
    }
  }
  const bool x_dies = regs_.dies(x) && x != z, y_dies = ry >= 0 && regs_.dies(y) && y != z && y != x;
  const MultiplyAdd f{id, as_.bytes_of(in.type), x, y, z, rx, ry, rz, m, x_dies, y_dies};
  switch (in_memory) {
    case Where::none: return multiply_add_of_registers(f);
    case Where::addend:
      return multiply_add_from_memory(f, {x, rx, x_dies && x != y, id.f213, ry},
                                      {y, ry, y_dies, id.f213, rx});
    case Where::factor:
      return multiply_add_from_memory(f, {z, rz, regs_.dies(z) && z != x, id.f231, rx},
                                      {x, rx, x_dies, id.f132, rz});
  }
}

void BlockWriter::multiply_add_of_registers(const MultiplyAdd& f) {
  if (regs_.dies(f.z) && f.z != f.x && f.z != f.y) {
    const int d = define_over_last_use(f.z);
    a_.emit(f.id.f231, v(d, f.bytes), v(f.rx, f.bytes), v(f.ry, f.bytes));
  } else if (f.x_dies && f.x != f.y) {
    const int d = define_over_last_use(f.x);
    a_.emit(f.id.f213, v(d, f.bytes), v(f.ry, f.bytes), v(f.rz, f.bytes));
  } else if (f.y_dies) {
    const int d = define_over_last_use(f.y);
    a_.emit(f.id.f213, v(d, f.bytes), v(f.rx, f.bytes), v(f.rz, f.bytes));
  } else {
    const int d = regs_.define();  // before giving up the sources: it must not be one of them
    copy(d, f.rz, f.bytes);
    a_.emit(f.id.f231, v(d, f.bytes), v(f.rx, f.bytes), v(f.ry, f.bytes));
    regs_.release_operands();
  }
}

/// Multiplies and adds with one source in memory. The result takes the register of a source that dies, the
/// first one if it can; else a copy of the first one does.
void BlockWriter::multiply_add_from_memory(const MultiplyAdd& f, const Overwritten& first,
                                           const Overwritten& second) {
  const Overwritten& over = second.dies && !first.dies ? second : first;
  int d;
  if (over.dies) {
    d = define_over_last_use(over.value);
  } else {
    d = regs_.define();
    copy(d, over.reg, f.bytes);
  }
  a_.emit(over.id, v(d, f.bytes), v(over.other, f.bytes), f.m);
  if (!over.dies) regs_.release_operands();
}

void BlockWriter::select(const Inst& in) {
  const int bytes = as_.bytes_of(in.type);
  const bool wide = vir::is64(in.type);
  const int m = regs_.fetch(in.a);
  const int no = regs_.fetch(in.c);
  const Operand_ yes = source(in.b, bytes);
  if (as_.avx512()) {
    regs_.release_operands();
    const int d = regs_.define();
    a_.k(mask_register(m)).emit(wide ? Id::kIdVblendmpd : Id::kIdVblendmps, v(d, bytes), v(no, bytes), yes);
  } else {
    regs_.release_operands();
    const int d = regs_.define();
    a_.emit(wide ? Id::kIdVblendvpd : Id::kIdVblendvps, v(d, bytes), v(no, bytes), yes, v(m, bytes));
  }
}

void BlockWriter::compare(const Inst& in) {
  using vir::Pred;
  const Type type = in.compared;
  const int bytes = as_.bytes_of(type);
  const bool is_float = type == Type::f32 || type == Type::f64, wide = vir::is64(type);
  auto pred = static_cast<Pred>(in.imm);
  uint32_t x = in.a, y = in.b;
  if (regs_.memory_only(x) && !regs_.memory_only(y)) {
    static constexpr Pred mirrored[] = {Pred::eq,    Pred::ne,  Pred::gt,  Pred::ge,  Pred::lt,  Pred::le,
                                        Pred::unord, Pred::ord, Pred::ugt, Pred::uge, Pred::ult, Pred::ule};
    std::swap(x, y);
    pred = mirrored[static_cast<int>(pred)];
  }
  if (as_.avx512() || is_float) {
    const int rx = regs_.fetch(x);
    const Operand_ oy = source(y, bytes);
    regs_.release_operands();
    const int d = regs_.define();
    const Operand_ dest = as_.avx512() ? Operand_(mask_register(d)) : Operand_(v(d, bytes));
    if (is_float)
      a_.emit(wide ? Id::kIdVcmppd : Id::kIdVcmpps, dest, v(rx, bytes), oy, Imm(predicate(type, pred)));
    else a_.emit(integer_compare(type, pred), dest, v(rx, bytes), oy, Imm(predicate(type, pred)));
    return;
  }
  // AVX2 integers: only eq and gt exist; the others were rewritten.
  const int rx = regs_.fetch(x);
  const Operand_ oy = source(y, bytes);
  if (pred == Pred::eq || pred == Pred::gt) {
    regs_.release_operands();
    const int d = regs_.define();
    const uint32_t id = pred == Pred::eq ? (wide ? Id::kIdVpcmpeqq : Id::kIdVpcmpeqd)
                                         : (wide ? Id::kIdVpcmpgtq : Id::kIdVpcmpgtd);
    a_.emit(id, v(d, bytes), v(rx, bytes), oy);
    return;
  }
  if (pred != Pred::lt) throw CompileError("an integer comparison that AVX2 lacks");
  const int ry = regs_.fetch(y);
  regs_.release_operands();
  a_.emit(wide ? Id::kIdVpcmpgtq : Id::kIdVpcmpgtd, v(regs_.define(), bytes), v(ry, bytes), v(rx, bytes));
}

/// Writes a comparison whose result is false outside a mask.
void BlockWriter::masked_compare(const Inst& in) {
  const Type type = in.compared;
  const int bytes = as_.bytes_of(type);
  const auto pred = static_cast<vir::Pred>(in.imm % kNegated);
  const int imm = predicate(type, pred) ^ (in.imm >= kNegated ? 4 : 0);
  const int m = regs_.fetch(in.a), x = regs_.fetch(in.b);
  const Operand_ y = source(in.c, bytes);
  regs_.release_operands();
  const x86::KReg d = mask_register(regs_.define());
  const bool is_float = type == Type::f32 || type == Type::f64;
  const uint32_t id = !is_float         ? integer_compare(type, pred)
                      : vir::is64(type) ? Id::kIdVcmppd
                                        : Id::kIdVcmpps;
  a_.k(mask_register(m)).emit(id, d, v(x, bytes), y, Imm(imm));
}

void BlockWriter::mask_logic(const Inst& in) {
  const int x = regs_.fetch(in.a), y = regs_.fetch(in.b);
  regs_.release_operands();
  const int d = regs_.define();
  const uint32_t id = in.op == Op::and_   ? Id::kIdKandw
                      : in.op == Op::or_  ? Id::kIdKorw
                      : in.op == Op::xor_ ? Id::kIdKxorw
                                          : Id::kIdKandnw;
  a_.emit(id, mask_register(d), mask_register(x), mask_register(y));
}

void BlockWriter::mask_to_int(const Inst& in) {  // AVX-512 only: elsewhere masks are integers
  const int bytes = as_.bytes_of(in.type);
  const bool wide = vir::is64(in.type);
  const int m = regs_.fetch(in.a);
  regs_.release_operands();
  const int d = regs_.define();
  a_.emit(wide ? Id::kIdVpmovm2q : Id::kIdVpmovm2d, v(d, bytes), mask_register(m));
  a_.emit(wide ? Id::kIdVpsrlq : Id::kIdVpsrld, v(d, bytes), v(d, bytes), Imm(wide ? 63 : 31));
}

void BlockWriter::upper_half(const Inst& in) {
  const int half = static_cast<int>(in.imm) * (vir::is64(in.type) ? 8 : 4) / 2;
  const int r = regs_.fetch(in.a);
  regs_.release_operands();
  const int d = regs_.define();
  if (half == 32) a_.vextractf64x4(v(d, 32).ymm(), v(r, 64).zmm(), 1);
  else if (half == 16)
    a_.emit(r < 16 && d < 16 ? Id::kIdVextractf128 : Id::kIdVextractf32x4, v(d, 16), v(r, 32), Imm(1));
  else if (half == 8) a_.vpshufd(v(d, 16).xmm(), v(r, 16).xmm(), 0xee);
  else a_.vpshufd(v(d, 16).xmm(), v(r, 16).xmm(), 0x55);
}

void BlockWriter::two_halves(const Inst& in) {
  const int x = regs_.fetch(in.a), y = regs_.fetch(in.b);
  regs_.release_operands();
  const int d = regs_.define();
  const int parts =
      in.op == kHalves ? (in.imm ? 0xee : 0x44) : (in.imm ? 0xdd : 0x88);  // quarters, 2 bits each
  a_.vshuff32x4(v(d, 64).zmm(), v(x, 64).zmm(), v(y, 64).zmm(), parts);
}

void BlockWriter::transpose(const Inst& in) {
  const bool wide = vir::is64(in.type);
  const int width = wide ? 8 : 4, lanes = 64 / width;
  std::vector<uint8_t> table(64, 0);
  for (int l = 0; l < lanes; ++l)
    table[static_cast<size_t>(l * width)] = static_cast<uint8_t>(l % 4 * (lanes / 4) + l / 4);
  const int r = regs_.fetch(in.a), index = regs_.scratch();
  regs_.release_operands();
  const int d = regs_.define();
  a_.vmovups(v(index, 64), as_.table(table, 64));
  a_.emit(wide ? Id::kIdVpermpd : Id::kIdVpermps, v(d, 64), v(index, 64), v(r, 64));
}

void BlockWriter::spread(const Inst& in) {
  const int bytes = as_.bytes_of(in.type);
  const int r = regs_.fetch(in.a);
  regs_.release_operands();
  const int d = regs_.define();
  if (vir::is64(in.type)) a_.emit(Id::kIdVpbroadcastq, v(d, bytes), v(r, 16));
  else a_.emit(Id::kIdVpbroadcastd, v(d, bytes), v(r, 16));
}

void BlockWriter::duplicate(const Inst& in) {
  const int r = regs_.fetch(in.a);
  const int d = regs_.define();  // another register than the source's, which is still in use
  if (in.type == Type::mask && as_.avx512()) a_.kmovw(mask_register(d), mask_register(r));
  else copy(d, r, as_.bytes_of(in.type));
  regs_.release_operands();
}

void BlockWriter::load_at(const Inst& in) {
  const int index = regs_.fetch(in.a);
  const int d = regs_.define();  // another register than the index's, which is still in use
  write_load_at(as_, regs_, where_, Slot::unpack(in.imm), index, in.op == kLoadRow || where_.lane0, d);
  regs_.release_operands();
}

/// Only lanes inside the box count.
void BlockWriter::check(const Inst& in) {
  const int m = regs_.fetch(in.a);
  const asmjit::Label good = a_.newLabel();
  if (as_.avx512()) a_.kmovw(x86::ecx, mask_register(m));
  else if (vir::is64(code_[in.a].type)) a_.emit(Id::kIdVmovmskpd, x86::ecx, v(m, as_.lanes * 8));
  else a_.emit(Id::kIdVmovmskps, x86::ecx, v(m, as_.lanes * 4));
  if (where_.masked && !where_.lane0) {
    a_.mov(x86::edx, x86::dword_ptr(x86::rsp, where_.count));
    a_.bzhi(x86::ecx, x86::ecx, x86::edx);
    a_.test(x86::ecx, x86::ecx);
  } else {
    a_.test(x86::ecx, where_.lane0 ? 1 : (1 << as_.lanes) - 1);
  }
  a_.jz(good);
  a_.mov(x86::rcx, as_.arg(as_.args.scalar(static_cast<int>(in.imm))));
  a_.mov(x86::dword_ptr(x86::rcx), 1);
  a_.bind(good);
  regs_.release_operands();
}

/// Writes Op::patch or kRareDivide.
void BlockWriter::patch(const Inst& in) {
  const int m = regs_.fetch(in.a);
  const int x = regs_.fetch(in.b), y = regs_.fetch(in.c);
  const int keep = regs_.fetch(in.d);
  const int bytes = as_.bytes_of(in.type);
  const int d = regs_.define();  // apart from all sources: the rare case reads them after it was written
  copy(d, keep, bytes);
  Assembly::Cold c{a_.newLabel(),
                   a_.newLabel(),
                   d,
                   x,
                   y,
                   m,
                   in.type,
                   code_[in.b].type,
                   in.op == kRareDivide ? Assembly::Cold::kDivide : static_cast<uint16_t>(in.imm)};
  if (as_.avx512()) a_.kortestw(mask_register(m), mask_register(m));
  else a_.vptest(v(m, bytes), v(m, bytes));
  a_.jnz(c.entry);
  a_.bind(c.back);
  as_.cold.push_back(c);
  regs_.release_operands();
}

void BlockWriter::assign(const Inst& in) {
  const Variable& var = as_.variables[in.imm];
  if (var.reg >= 0 && !regs_.in_register(in.a)) {
    regs_.load_into(in.a, var.reg);
    regs_.release_operands();
    return;
  }
  const int r = regs_.fetch(in.a);
  const int bytes = as_.bytes_of(var.type);
  if (var.reg >= 0) copy(var.reg, r, bytes);
  else if (var.type == Type::mask && as_.avx512()) a_.kmovw(as_.frame(var.frame), mask_register(r));
  else a_.vmovups(as_.frame(var.frame), v(r, bytes));
  regs_.release_operands();
}

}  // namespace lazy::cpu_backend
