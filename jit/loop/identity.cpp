// What decides the generated code, as bytes. Every variable-length part is preceded by its length and every
// instruction's length follows from its first bytes, so two kernels that differ never give the same bytes.
#include "jit/loop/ir.hpp"

namespace lazy::jit::loop {
namespace {

class Bytes {
 public:
  template <class E>
  void byte(E v) {
    s_.push_back(static_cast<char>(v));
  }
  void half(size_t v) {
    byte(v & 0xff);
    byte(v >> 8 & 0xff);
  }
  /// Lengths: most are below 128, one byte each.
  void count(size_t v) {
    for (; v >= 0x80; v >>= 7) byte((v & 0x7f) | 0x80);
    byte(v);
  }
  void reserve(size_t n) { s_.reserve(n); }
  std::string take() { return std::move(s_); }

 private:
  std::string s_;
};

void put(Bytes& b, const Operand& o, int rank) {
  b.byte(static_cast<int>(o.dtype) | o.output << 6 | o.wide << 7);
  for (int i = 0; i < rank; i += 4) {
    int packed = 0;
    for (int j = i; j < rank && j < i + 4; ++j) packed |= static_cast<int>(o.stride[j]) << 2 * (j - i);
    b.byte(packed);
  }
}

void put(Bytes& b, const Instr& n) {
  b.byte(static_cast<int>(n.code) << 4 | static_cast<int>(n.type));
  if (n.code == Code::carried) {
    b.half(n.a);
    b.half(n.b);
    return;
  }
  if (n.code != Code::op) return b.half(n.imm);
  b.byte(n.op);
  const ValueId args[] = {n.a, n.b, n.c};
  for (int i = 0; i < row_of(n.op).arity && i < 3; ++i) b.half(args[i]);
}

}  // namespace

std::string identity(const LoopKernel& k) {
  static_assert(kDTypeCount <= 16, "a dtype shares a byte with a code");
  Bytes b;
  b.reserve(16 + 4 * k.operands.size() + 6 * k.body.size() + 6 * k.reductions.size() + 4 * k.stores.size());
  b.byte(k.form);
  b.byte(k.rank);
  b.byte(k.sequential);
  b.half(k.epilogue);
  b.count(k.scalars);
  b.count(k.operands.size());
  for (const Operand& o : k.operands) put(b, o, k.rank);
  b.count(k.body.size());
  for (const Instr& n : k.body) put(b, n);
  b.count(k.repeats.size());
  for (const Repeat& r : k.repeats) {
    b.half(r.first);
    b.half(r.last);
    b.half(r.trips);
    b.half(r.scalar_step);
  }
  b.count(k.reductions.size());
  for (const Reduction& r : k.reductions) {
    b.byte(r.op);
    b.byte(r.type);
    b.half(r.value);
    b.half(r.value2);
  }
  b.count(k.stores.size());
  for (const Store& t : k.stores) {
    b.half(t.operand);
    b.half(t.value);
  }
  return b.take();
}

}  // namespace lazy::jit::loop
