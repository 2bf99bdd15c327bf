#include "backends/vector/vir.hpp"

#include <cstddef>
#include <utility>

namespace lazy::vir {
using std::size_t;
namespace {

// True if operands may be exchanged. Not so for float add and mul: of two NaN operands the first one's
// payload survives.
bool commutes(const Inst& i) {
  switch (i.op) {
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::iadd:
    case Op::imul:
    case Op::imin:
    case Op::imax:
    case Op::umin:
    case Op::umax: return true;
    case Op::cmp: return i.imm == static_cast<uint64_t>(Pred::eq) || i.imm == static_cast<uint64_t>(Pred::ne);
    default: return false;
  }
}

uint64_t hash_of(const Inst& i) {
  uint64_t h = i.imm * 0x9e3779b97f4a7c15ull + (static_cast<uint64_t>(i.compared) << 16 |
                                                uint64_t{i.op.number()} << 8 | static_cast<uint64_t>(i.type));
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull + (static_cast<uint64_t>(i.a) << 32 | i.b);
  h = (h ^ (h >> 32)) * 0x94d049bb133111ebull + (static_cast<uint64_t>(i.c) << 32 | i.d);
  return h ^ (h >> 31);
}

bool same(const Inst& x, const Inst& y) {
  return x.op == y.op && x.type == y.type && x.compared == y.compared && x.imm == y.imm && x.a == y.a &&
         x.b == y.b && x.c == y.c && x.d == y.d;
}

constexpr uint32_t kEmpty = ~0u;

}  // namespace

Val Builder::push(const Inst& wanted) {
  Inst inst = wanted;
  if (commutes(inst) && inst.a > inst.b) std::swap(inst.a, inst.b);
  if (2 * (code.size() + 1) > table_.size()) grow();
  const size_t mask = table_.size() - 1;
  size_t at = hash_of(inst) & mask;
  for (; table_[at] != kEmpty; at = (at + 1) & mask)
    if (same(code[table_[at]], inst)) return {table_[at], inst.type};
  const auto id = static_cast<uint32_t>(code.size());
  table_[at] = id;
  code.push_back(inst);
  return {id, inst.type};
}

void Builder::grow() {
  size_t size = 128;
  while (size < 4 * (code.size() + 1)) size *= 2;
  table_.assign(size, kEmpty);
  for (uint32_t id = 0; id < code.size(); id++) {
    size_t at = hash_of(code[id]) & (size - 1);
    while (table_[at] != kEmpty) at = (at + 1) & (size - 1);
    table_[at] = id;
  }
}

}  // namespace lazy::vir
