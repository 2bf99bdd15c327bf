#include "backends/vector/vir_interpret.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/vector/helpers.hpp"
#include "support/lock.hpp"

namespace lazy::vir {
namespace {

#define LAZY_INLINE [[gnu::always_inline]] inline

template <class F>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  using Int = int32_t;
  static constexpr int kMantissa = 23, kBias = 127;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  using Int = int64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
};
template <class F>
using BitsOf = typename Format<F>::Bits;
template <class F>
using IntOf = typename Format<F>::Int;

template <class F>
LAZY_INLINE F power_of_two(IntOf<F> e) {
  return std::bit_cast<F>(static_cast<BitsOf<F>>(e + Format<F>::kBias) << Format<F>::kMantissa);
}
template <class F>
constexpr BitsOf<F> kMagnitude = ~BitsOf<F>{0} >> 1;
template <class F>
constexpr BitsOf<F> kInfinity = BitsOf<F>{2 * Format<F>::kBias + 1} << Format<F>::kMantissa;
template <class F>
constexpr BitsOf<F> kOne = BitsOf<F>{Format<F>::kBias} << Format<F>::kMantissa;

/// Returns |a| made normal (times 2^64 if it was not), as bits, and its exponent without the scaling. a:
/// finite, not 0.
template <class F>
LAZY_INLINE BitsOf<F> normalised(F a, IntOf<F>& exponent) {
  const BitsOf<F> raw = std::bit_cast<BitsOf<F>>(a) & kMagnitude<F>;
  const bool tiny = raw < (BitsOf<F>{1} << Format<F>::kMantissa);
  const F scaled = std::bit_cast<F>(raw) * power_of_two<F>(64);
  const BitsOf<F> bits = tiny ? std::bit_cast<BitsOf<F>>(scaled) : raw;
  exponent = static_cast<IntOf<F>>(bits >> Format<F>::kMantissa) - Format<F>::kBias - (tiny ? 64 : 0);
  return bits;
}
template <class F>
LAZY_INLINE BitsOf<F> significand(BitsOf<F> bits) {  // in [1, 2)
  return (bits & ((BitsOf<F>{1} << Format<F>::kMantissa) - 1)) | kOne<F>;
}

template <class F>
LAZY_INLINE F getexp(F a) {
  IntOf<F> e;
  normalised(a, e);
  const BitsOf<F> raw = std::bit_cast<BitsOf<F>>(a) & kMagnitude<F>;
  const F inf = std::numeric_limits<F>::infinity();
  const F special = a == 0 ? -inf : std::bit_cast<F>(raw) + F{0};
  return raw == 0 || raw >= kInfinity<F> ? (a != a ? a + a : special) : static_cast<F>(e);
}
template <class F>
LAZY_INLINE F getmant(F a) {
  IntOf<F> e;
  const F m = std::bit_cast<F>(significand<F>(normalised(a, e)));
  return m >= F(1.5) ? m * F(0.5) : m;
}
// Computes exactly in all steps but the last: the significand times 2^e with e well inside the normal range,
// then the rest.
template <class F>
LAZY_INLINE F scalef(F a, F b) {
  constexpr int kSafe =
      Format<F>::kBias - 1 - (sizeof(F) == 4 ? 60 : 200);  // lowest exponent before the last step
  constexpr int kReach = Format<F>::kBias + Format<F>::kMantissa + 3;
  IntOf<F> e;
  const BitsOf<F> bits = normalised(a, e);
  const F sign = std::bit_cast<F>((std::bit_cast<BitsOf<F>>(a) & ~kMagnitude<F>) | kOne<F>);
  F n = std::floor(b);
  n = n < F(-4000) ? F(-4000) : n > F(4000) ? F(4000) : n == n ? n : F(0);
  IntOf<F> to = e + static_cast<IntOf<F>>(n);
  to = to < -kReach ? -kReach : to > kReach ? kReach : to;
  IntOf<F> first = to < -kSafe ? -kSafe : to > Format<F>::kBias ? Format<F>::kBias : to;
  const F scaled =
      std::bit_cast<F>(significand<F>(bits)) * sign * power_of_two<F>(first) * power_of_two<F>(to - first);
  const BitsOf<F> raw = std::bit_cast<BitsOf<F>>(a) & kMagnitude<F>;
  return raw == 0 || raw >= kInfinity<F> ? a + a : scaled;
}

template <class I, class F>
LAZY_INLINE I to_integer(F a) {
  constexpr F limit = F(std::numeric_limits<I>::max() / 2 + 1) * 2;
  const bool fits = a < limit && (sizeof(I) == 4 && sizeof(F) == 8 ? a > -limit - 1 : a >= -limit);
  return fits ? static_cast<I>(fits ? a : F{0}) : std::numeric_limits<I>::min();
}

template <class F>
LAZY_INLINE F rounded(F a, Rounding r) {
  switch (r) {
    case Rounding::even: return std::nearbyint(a);
    case Rounding::floor: return std::floor(a);
    case Rounding::ceil: return std::ceil(a);
    case Rounding::trunc: return std::trunc(a);
  }
  return a;
}

/// Points to the lanes of one instruction and of its operands.
struct Lanes {
  void* out;
  const void *a, *b, *c, *d;
  size_t n;

  template <class R, class A, class F>
  LAZY_INLINE void map(F f) const {
    auto* __restrict o = static_cast<R*>(out);
    auto* x = static_cast<const A*>(a);
    for (size_t i = 0; i < n; i++) o[i] = f(x[i]);
  }
  template <class R, class A, class F>
  LAZY_INLINE void map2(F f) const {
    auto* __restrict o = static_cast<R*>(out);
    auto *x = static_cast<const A*>(a), *y = static_cast<const A*>(b);
    for (size_t i = 0; i < n; i++) o[i] = f(x[i], y[i]);
  }
  template <class R, class A, class F>
  LAZY_INLINE void map3(F f) const {
    auto* __restrict o = static_cast<R*>(out);
    auto *x = static_cast<const A*>(a), *y = static_cast<const A*>(b), *z = static_cast<const A*>(c);
    for (size_t i = 0; i < n; i++) o[i] = f(x[i], y[i], z[i]);
  }
  template <class T>
  LAZY_INLINE void choose() const {
    auto* __restrict o = static_cast<T*>(out);
    auto* m = static_cast<const uint8_t*>(a);
    auto *x = static_cast<const T*>(b), *y = static_cast<const T*>(c);
    for (size_t i = 0; i < n; i++) o[i] = m[i] ? x[i] : y[i];
  }
};

template <class F>
LAZY_INLINE void float_op(const Inst& i, const Lanes& l) {
  switch (i.op) {
    case Op::add: return l.map2<F, F>([](F x, F y) { return x + y; });
    case Op::sub: return l.map2<F, F>([](F x, F y) { return x - y; });
    case Op::mul: return l.map2<F, F>([](F x, F y) { return x * y; });
    case Op::div: return l.map2<F, F>([](F x, F y) { return x / y; });
    case Op::sqrt: return l.map<F, F>([](F x) { return std::sqrt(x); });
    case Op::fma: return l.map3<F, F>([](F x, F y, F z) { return std::fma(x, y, z); });
    case Op::fnma: return l.map3<F, F>([](F x, F y, F z) { return std::fma(-x, y, z); });
    case Op::fms: return l.map3<F, F>([](F x, F y, F z) { return std::fma(x, y, -z); });
    case Op::min: return l.map2<F, F>([](F x, F y) { return x < y ? x : y; });
    case Op::max: return l.map2<F, F>([](F x, F y) { return x > y ? x : y; });
    case Op::round:
      switch (static_cast<Rounding>(i.imm)) {
        case Rounding::even: return l.map<F, F>([](F x) { return rounded(x, Rounding::even); });
        case Rounding::floor: return l.map<F, F>([](F x) { return rounded(x, Rounding::floor); });
        case Rounding::ceil: return l.map<F, F>([](F x) { return rounded(x, Rounding::ceil); });
        case Rounding::trunc: return l.map<F, F>([](F x) { return rounded(x, Rounding::trunc); });
      }
      return;
    case Op::scalef: return l.map2<F, F>([](F x, F y) { return scalef(x, y); });
    case Op::getexp: return l.map<F, F>([](F x) { return getexp(x); });
    case Op::getmant:
      if (i.imm)
        return l.map<F, F>([](F x) { return x < 0 ? -std::numeric_limits<F>::quiet_NaN() : getmant(x); });
      return l.map<F, F>([](F x) { return getmant(x); });
    default: return;
  }
}

template <class U>
LAZY_INLINE void bit_op(const Inst& i, const Lanes& l) {
  switch (i.op) {
    case Op::and_: return l.map2<U, U>([](U x, U y) -> U { return x & y; });
    case Op::or_: return l.map2<U, U>([](U x, U y) -> U { return x | y; });
    case Op::xor_: return l.map2<U, U>([](U x, U y) -> U { return x ^ y; });
    case Op::andn: return l.map2<U, U>([](U x, U y) -> U { return ~x & y; });
    case Op::select: return l.choose<U>();
    default: return;
  }
}

template <class S>
LAZY_INLINE void int_op(const Inst& i, const Lanes& l) {
  using U = std::make_unsigned_t<S>;
  constexpr U width = sizeof(S) * 8;
  const int n = static_cast<int>(i.imm);
  switch (i.op) {
    case Op::iadd: return l.map2<U, U>([](U x, U y) { return x + y; });
    case Op::isub: return l.map2<U, U>([](U x, U y) { return x - y; });
    case Op::imul: return l.map2<U, U>([](U x, U y) { return x * y; });
    case Op::imin: return l.map2<S, S>([](S x, S y) { return x < y ? x : y; });
    case Op::imax: return l.map2<S, S>([](S x, S y) { return x > y ? x : y; });
    case Op::umin: return l.map2<U, U>([](U x, U y) { return x < y ? x : y; });
    case Op::umax: return l.map2<U, U>([](U x, U y) { return x > y ? x : y; });
    case Op::shl: return l.map<U, U>([n](U x) { return x << n; });
    case Op::shr: return l.map<U, U>([n](U x) { return x >> n; });
    case Op::sar: return l.map<S, S>([n](S x) { return x >> n; });
    case Op::shlv: return l.map2<U, U>([](U x, U y) { return y < width ? x << (y & (width - 1)) : U{0}; });
    case Op::shrv: return l.map2<U, U>([](U x, U y) { return y < width ? x >> (y & (width - 1)) : U{0}; });
    case Op::sarv:
      return l.map2<U, U>([](U x, U y) {
        return static_cast<U>(static_cast<S>(x) >> (y < width ? y & (width - 1) : width - 1));
      });
    default: return;
  }
}

template <class T>
LAZY_INLINE void compare(Pred p, const Lanes& l) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using R = uint8_t;
  switch (p) {
    case Pred::eq: return l.map2<R, T>([](T x, T y) -> R { return x == y; });
    case Pred::ne: return l.map2<R, T>([](T x, T y) -> R { return x != y; });
    case Pred::lt: return l.map2<R, T>([](T x, T y) -> R { return x < y; });
    case Pred::le: return l.map2<R, T>([](T x, T y) -> R { return x <= y; });
    case Pred::gt: return l.map2<R, T>([](T x, T y) -> R { return x > y; });
    case Pred::ge: return l.map2<R, T>([](T x, T y) -> R { return x >= y; });
    case Pred::unord: return l.map2<R, T>([](T x, T y) -> R { return x != x || y != y; });
    case Pred::ord: return l.map2<R, T>([](T x, T y) -> R { return x == x && y == y; });
    case Pred::ult: return l.map2<R, U>([](U x, U y) -> R { return x < y; });
    case Pred::ule: return l.map2<R, U>([](U x, U y) -> R { return x <= y; });
    case Pred::ugt: return l.map2<R, U>([](U x, U y) -> R { return x > y; });
    case Pred::uge: return l.map2<R, U>([](U x, U y) -> R { return x >= y; });
  }
}

void call_helper(const Inst& i, Type x_type, Type y_type, const Lanes& l) {
  const size_t xs = lane_bytes(x_type), ys = lane_bytes(y_type), os = lane_bytes(i.type);
  std::memcpy(l.out, l.d, l.n * os);
  auto* mask = static_cast<const uint8_t*>(l.a);
  std::vector<uint64_t> x(l.n), y(l.n), out(l.n);
  auto lane = [](auto& v, size_t at, size_t size) { return reinterpret_cast<char*>(v.data()) + at * size; };
  size_t count = 0;
  for (size_t k = 0; k < l.n; k++)
    if (mask[k]) {
      std::memcpy(lane(x, count, xs), static_cast<const char*>(l.b) + k * xs, xs);
      std::memcpy(lane(y, count, ys), static_cast<const char*>(l.c) + k * ys, ys);
      count++;
    }
  if (!count) return;
  kHelpers[i.imm](x.data(), y.data(), out.data(), static_cast<int>(count));
  count = 0;
  for (size_t k = 0; k < l.n; k++)
    if (mask[k]) std::memcpy(static_cast<char*>(l.out) + k * os, lane(out, count++, os), os);
}

/// Runs one instruction other than a constant, input or patch. `from`: the type of operand a.
LAZY_INLINE void step_body(const Inst& i, Type from, const Lanes& l) {
  switch (i.op) {
    case Op::constant:
    case Op::input:
    case Op::foreign:
    case Op::patch: return;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::sqrt:
    case Op::fma:
    case Op::fnma:
    case Op::fms:
    case Op::min:
    case Op::max:
    case Op::round:
    case Op::scalef:
    case Op::getexp:
    case Op::getmant: return i.type == Type::f64 ? float_op<double>(i, l) : float_op<float>(i, l);
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
    case Op::select:
      return i.type == Type::mask ? bit_op<uint8_t>(i, l)
             : is64(i.type)       ? bit_op<uint64_t>(i, l)
                                  : bit_op<uint32_t>(i, l);
    case Op::iadd:
    case Op::isub:
    case Op::imul:
    case Op::imin:
    case Op::imax:
    case Op::umin:
    case Op::umax:
    case Op::shl:
    case Op::shr:
    case Op::sar:
    case Op::shlv:
    case Op::shrv:
    case Op::sarv: return i.type == Type::i64 ? int_op<int64_t>(i, l) : int_op<int32_t>(i, l);
    case Op::cmp: {
      const auto p = static_cast<Pred>(i.imm);
      return from == Type::f32   ? compare<float>(p, l)
             : from == Type::f64 ? compare<double>(p, l)
             : from == Type::i64 ? compare<int64_t>(p, l)
                                 : compare<int32_t>(p, l);
    }
    case Op::bitcast: std::memcpy(l.out, l.a, l.n * lane_bytes(i.type)); return;
    case Op::f32_to_f64: return l.map<double, float>([](float x) { return static_cast<double>(x); });
    case Op::f64_to_f32: return l.map<float, double>([](double x) { return static_cast<float>(x); });
    case Op::i32_to_f32: return l.map<float, int32_t>([](int32_t x) { return static_cast<float>(x); });
    case Op::f32_to_i32: return l.map<int32_t, float>([](float x) { return to_integer<int32_t>(x); });
    case Op::i32_to_f64: return l.map<double, int32_t>([](int32_t x) { return static_cast<double>(x); });
    case Op::f64_to_i32: return l.map<int32_t, double>([](double x) { return to_integer<int32_t>(x); });
    case Op::i64_to_f64: return l.map<double, int64_t>([](int64_t x) { return static_cast<double>(x); });
    case Op::f64_to_i64: return l.map<int64_t, double>([](double x) { return to_integer<int64_t>(x); });
    case Op::i64_to_f32: return l.map<float, int64_t>([](int64_t x) { return static_cast<float>(x); });
    case Op::f32_to_i64: return l.map<int64_t, float>([](float x) { return to_integer<int64_t>(x); });
    case Op::sext: return l.map<int64_t, int32_t>([](int32_t x) { return static_cast<int64_t>(x); });
    case Op::zext: return l.map<uint64_t, uint32_t>([](uint32_t x) { return static_cast<uint64_t>(x); });
    case Op::narrow: return l.map<uint32_t, uint64_t>([](uint64_t x) { return static_cast<uint32_t>(x); });
    case Op::mask_to_int:
      if (i.type == Type::i64) return l.map<uint64_t, uint8_t>([](uint8_t x) -> uint64_t { return x; });
      return l.map<uint32_t, uint8_t>([](uint8_t x) -> uint32_t { return x; });
  }
}

// The same C++ is compiled for three instruction sets; std::fma is exact everywhere, and inline in the last
// two.
void step_base(const Inst& i, Type from, const Lanes& l) { step_body(i, from, l); }
[[gnu::target("avx2,fma,bmi2")]] void step_avx2(const Inst& i, Type from, const Lanes& l) {
  step_body(i, from, l);
}
[[gnu::target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void step_avx512(
    const Inst& i, Type from, const Lanes& l) {
  step_body(i, from, l);
}

using Step = void (*)(const Inst&, Type, const Lanes&);
Step pick_step() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return step_avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? step_avx2 : step_base;
}

}  // namespace

Interpreter::Interpreter(std::vector<Inst> code) : code_(std::move(code)), offset_(code_.size()) {
  size_t words = 0;
  for (size_t id = 0; id < code_.size(); id++) {
    offset_[id] = words;
    words += (kBlock * lane_bytes(code_[id].type) + 63) / 64 * 8;
  }
  storage_.resize(words);
  for (size_t id = 0; id < code_.size(); id++) {
    if (code_[id].op != Op::constant) continue;
    const size_t size = lane_bytes(code_[id].type);
    auto* p = reinterpret_cast<char*>(storage_.data() + offset_[id]);
    for (size_t k = 0; k < kBlock; k++) std::memcpy(p + k * size, &code_[id].imm, size);
  }
}

void Interpreter::run(std::span<const void* const> inputs, size_t n, std::span<const Val> wanted,
                      std::span<void* const> out) {
  static constinit Once<const Step> picked;
  const Step step = picked.get(pick_step);
  auto at = [this](uint32_t id) { return static_cast<void*>(storage_.data() + offset_[id]); };
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t count = n - begin < kBlock ? n - begin : kBlock;
    for (uint32_t id = 0; id < code_.size(); id++) {
      const Inst& i = code_[id];
      if (i.op == Op::constant) continue;
      if (i.op == Op::input) {
        const size_t size = lane_bytes(i.type);
        std::memcpy(at(id), static_cast<const char*>(inputs[i.imm]) + begin * size, count * size);
        continue;
      }
      const Lanes lanes{at(id), at(i.a), at(i.b), at(i.c), at(i.d), count};
      if (i.op == Op::patch) call_helper(i, code_[i.b].type, code_[i.c].type, lanes);
      else step(i, code_[i.a].type, lanes);
    }
    for (size_t k = 0; k < wanted.size(); k++) {
      const size_t size = lane_bytes(wanted[k].type);
      std::memcpy(static_cast<char*>(out[k]) + begin * size, at(wanted[k].id), count * size);
    }
  }
}

uint64_t interpret(const std::vector<Inst>& code, std::span<const uint64_t> inputs, Val wanted) {
  std::vector<const void*> pointers;
  for (const uint64_t& bits : inputs) pointers.push_back(&bits);
  uint64_t result = 0;
  void* out = &result;
  Interpreter(code).run(pointers, 1, std::span(&wanted, 1), std::span<void* const>(&out, 1));
  return result;
}

}  // namespace lazy::vir
