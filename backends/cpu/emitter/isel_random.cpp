// Selects random bits as vector code. There is no instruction for the upper half of a product of 32-bit
// lanes, but one for products of even lanes, 64 bits wide. So even and odd lanes are computed apart, each in
// the even lanes of a value; what is in the odd lanes meanwhile doesn't matter.
#include "backends/cpu/emitter/block.hpp"
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Type;
using vir::Val;
namespace {

Val to_even_lanes(Builder& b, Val odd) { return b.push({kShiftPairRight, Type::i32, 32, odd.id}); }
Val to_odd_lanes(Builder& b, Val even) { return b.push({kShiftPairLeft, Type::i32, 32, even.id}); }

struct Words {
  Val first, second;
};

/// Returns words 0 and 1 of the blocks of the even lanes.
Words philox(Builder& b, Val counter, Val key0, Val key1) {
  const Val m0 = b.i32(static_cast<int32_t>(0xd2511f53)), m1 = b.i32(static_cast<int32_t>(0xcd9e8d57)),
            bump0 = b.i32(static_cast<int32_t>(0x9e3779b9)), bump1 = b.i32(static_cast<int32_t>(0xbb67ae85));
  const auto product = [&](Val x, Val y) { return b.push({kMulLow32, Type::i32, 0, x.id, y.id}); };
  Val c0 = counter, c1 = b.i32(0), c2 = c1, c3 = c1;
  for (int round = 0; round < 10; ++round) {
    if (round > 0) key0 = b.iadd(key0, bump0), key1 = b.iadd(key1, bump1);
    const Val p0 = product(c0, m0), p1 = product(c2, m1);
    c0 = b.xor_(to_even_lanes(b, p1), b.xor_(c1, key0));
    c2 = b.xor_(to_even_lanes(b, p0), b.xor_(c3, key1));
    c1 = p1;
    c3 = p0;
  }
  return {c0, c1};
}

/// Returns the words that both ops are made of; those of one kernel are the same instructions, and built
/// once.
Val emit_word(const Selecting& s, Val Words::*word) {
  Builder& b = s.b;
  const Words even = philox(b, s.x, s.y, s.z),
              odd = philox(b, to_even_lanes(b, s.x), to_even_lanes(b, s.y), to_even_lanes(b, s.z));
  return b.or_(to_even_lanes(b, to_odd_lanes(b, even.*word)), to_odd_lanes(b, odd.*word));
}

}  // namespace

Val emit_philox0(const Selecting& s) { return emit_word(s, &Words::first); }
Val emit_philox1(const Selecting& s) { return emit_word(s, &Words::second); }

}  // namespace lazy::cpu_backend
