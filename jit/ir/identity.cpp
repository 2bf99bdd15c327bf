// Writes what decides the generated code, as bytes. Every variable-length part is preceded by its length and
// every instruction's length follows from its first bytes, so two kernels that differ never give the same
// bytes.
#include "jit/ir/ir.hpp"

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
  /// Writes a length: most are below 128, one byte each.
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
  static_assert(kDTypeCount <= 64, "a dtype shares a byte with the accuracy");
  b.byte(n.code);
  b.byte(static_cast<int>(n.type) | static_cast<int>(n.accuracy) << 6);
  if (n.code == Code::carried) {
    b.half(n.a);
    b.half(n.b);
    return;
  }
  if (n.code != Code::op) {
    b.half(n.imm);
    if (n.code == Code::load_at || n.code == Code::check) b.half(n.a);
    return;
  }
  b.byte(n.op);
  const ValueId args[] = {n.a, n.b, n.c};
  for (int i = 0; i < row_of(n.op).arity && i < 3; ++i) b.half(args[i]);
}

/// Reads the bytes back. What is missing reads as zero, and ok() says so.
class Source {
 public:
  explicit Source(std::string_view s) : s_(s) {}
  size_t byte() {
    if (s_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto b = static_cast<uint8_t>(s_.front());
    s_.remove_prefix(1);
    return b;
  }
  template <class E>
  void byte(E& to) {
    to = static_cast<E>(byte());
  }
  uint16_t half() {
    const size_t low = byte();
    return static_cast<uint16_t>(low | byte() << 8);
  }
  /// Reads the number of parts that take at least a byte each, so there are no more of them than bytes are
  /// left.
  size_t count() {
    size_t n = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      const size_t b = byte();
      n |= (b & 0x7f) << shift;
      if (b < 0x80) break;
    }
    if (n > s_.size()) ok_ = false;
    return ok_ ? n : 0;
  }
  bool done() const { return ok_ && s_.empty(); }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }

 private:
  std::string_view s_;
  bool ok_ = true;
};

void get(Source& b, Operand& o, int rank) {
  const size_t what = b.byte();
  o.dtype = static_cast<DType>(what & 0x3f);
  o.output = what >> 6 & 1;
  o.wide = what >> 7;
  for (int i = 0; i < rank; i += 4) {
    const size_t packed = b.byte();
    for (int j = i; j < rank && j < i + 4; ++j) o.stride[j] = static_cast<Stride>(packed >> 2 * (j - i) & 3);
  }
}

void get(Source& b, Instr& n) {
  b.byte(n.code);
  const size_t type = b.byte();
  n.type = static_cast<DType>(type & 0x3f);
  n.accuracy = static_cast<Accuracy>(type >> 6);
  if (n.code == Code::carried) {
    n.a = b.half();
    n.b = b.half();
    return;
  }
  if (n.code != Code::op) {
    n.imm = b.half();
    if (n.code == Code::load_at || n.code == Code::check) n.a = b.half();
    return;
  }
  const size_t op = b.byte();
  if (op >= static_cast<size_t>(kOpCount)) return b.fail();
  n.op = static_cast<Op>(op);
  ValueId* const args[] = {&n.a, &n.b, &n.c};
  for (int i = 0; i < row_of(n.op).arity && i < 3; ++i) *args[i] = b.half();
}

}  // namespace

std::optional<LoopKernel> from_identity(std::string_view bytes) {
  Source b(bytes);
  LoopKernel k;
  b.byte(k.form);
  b.byte(k.rank);
  b.byte(k.sequential);
  k.epilogue = b.half();
  k.scalars = b.half();
  if (k.rank > kMaxAxes) return {};
  const auto each = [&](auto& parts, auto&& read) {
    parts.resize(b.count());
    for (auto& part : parts) read(part);
  };
  each(k.operands, [&](Operand& o) { get(b, o, k.rank); });
  each(k.body, [&](Instr& n) { get(b, n); });
  each(k.rolled_loops, [&](RolledLoop& r) {
    r.first = b.half();
    r.last = b.half();
    r.trips = b.half();
    r.scalar_step = b.half();
  });
  each(k.reductions, [&](Reduction& r) {
    b.byte(r.op);
    b.byte(r.type);
    r.value = b.half();
  });
  if (k.form == Form::contract && b.ok()) {
    Contraction& c = k.contraction;
    b.byte(c.type);
    b.byte(c.row);
    for (Side* s : {&c.left, &c.right}) {
      s->value = b.half();
      if (s->value < k.body.size()) *s = side_of(k, s->value);
    }
  }
  each(k.stores, [&](Store& t) {
    t.operand = b.half();
    t.value = b.half();
    if (k.form != Form::scatter) return;
    t.at = b.half();
    b.byte(t.combine);
  });
  if (!b.done()) return {};
  return k;
}

std::string identity(const LoopKernel& k) {
  static_assert(kDTypeCount <= 64, "a dtype shares a byte with two flags");
  Bytes b;
  b.reserve(24 + 4 * k.operands.size() + 7 * k.body.size() + 4 * k.reductions.size() + 4 * k.stores.size());
  b.byte(k.form);
  b.byte(k.rank);
  b.byte(k.sequential);
  b.half(k.epilogue);
  b.half(k.scalars);
  b.count(k.operands.size());
  for (const Operand& o : k.operands) put(b, o, k.rank);
  b.count(k.body.size());
  for (const Instr& n : k.body) put(b, n);
  b.count(k.rolled_loops.size());
  for (const RolledLoop& r : k.rolled_loops) {
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
  }
  if (k.form == Form::contract) {
    b.byte(k.contraction.type);
    b.byte(k.contraction.row);
    b.half(k.contraction.left.value);
    b.half(k.contraction.right.value);
  }
  b.count(k.stores.size());
  for (const Store& t : k.stores) {
    b.half(t.operand);
    b.half(t.value);
    if (k.form != Form::scatter) continue;
    b.half(t.at);
    b.byte(t.combine);
  }
  return b.take();
}

}  // namespace lazy::jit::loop
