// Implements sin, cos, tan. The argument is reduced by multiples of pi/2 in three parts (Cody and Waite);
// larger ones go lane by lane to the C library.
#include "backends/vector/helpers.hpp"
#include "backends/vector/vecmath/coefficients_forms.hpp"
#include "backends/vector/vecmath/coefficients_trig.hpp"
#include "backends/vector/vecmath/polynomial.hpp"

namespace lazy::vecmath {
using vir::Helper;
namespace {
using namespace coefficients;

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
/// Holds pi/2 in parts that are all positive: a negative one would turn the product with n = 0 into -0 and
/// lose the sign of x.
struct HalfPi {
  double hi, mid, lo;
};
HalfPi half_pi(Val x) {
  if (x.type == Type::f32) return {0x1.921fb4p0, 0x1.4442dp-24, 0x1.84698ap-48};
  return {0x1.921fb54442d18p0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e09p-107};
}
/// Returns the limit up to which n * hi cancels x exactly and the lower parts keep the remainder's relative
/// error below half an ulp, for the arguments nearest to a multiple of pi/2 too.
double reduction_limit(Val x) { return pick(x, 1e5, 1e9); }

/// Passes lanes with a finite |x| above the limit to the helper. They are compared as integers: infinities
/// and NaNs wrap around to negative.
Val patch_huge(Builder& b, Helper f32, Helper f64, Val x, Val result) {
  Val smallest_normal = b.integer(x, int64_t{1} << mantissa_bits(x));
  Val limit = b.bitcast(b.int_of(x), b.num(x, reduction_limit(x)));
  Val bits = b.bitcast(b.int_of(x), b.abs(x));
  Val huge = b.gt(b.iadd(bits, smallest_normal), b.iadd(limit, smallest_normal));
  Helper helper = x.type == Type::f32 ? f32 : f64;
  return b.patch(static_cast<vir::HelperId>(helper), huge, x, x, result);
}

/// Holds x = n pi/2 + r - r_lo, n the nearest integer. `shifted` holds n + phase in its low bits.
struct Remainder {
  Val shifted, r, r_lo;
};
Remainder reduce(Builder& b, Val x, int phase) {
  const HalfPi c = half_pi(x);
  Val magic = b.num(x, round_magic(x) + phase);
  Val shifted = b.fma(x, b.num(x, kTwoOverPi), magic);
  Val n = b.sub(shifted, magic);
  Val mid = b.num(x, c.mid);
  Val a = b.fnma(n, b.num(x, c.hi), x);  // exact
  Val p = b.mul(n, mid);
  Val p_lo = b.fms(n, mid, p);
  Val r = b.sub(a, p);
  Val lost = b.sub(b.sub(a, r), p);
  return {shifted, r, b.fma(n, b.num(x, c.lo), b.sub(p_lo, lost))};
}

/// Returns sin(x + phase * pi/2), phase 0 or 1. With m = n + phase: odd m takes the cosine of the remainder,
/// and bit 1 of m the other sign.
Val sine(Builder& b, Val x, int phase) {
  auto [shifted, r, r_lo] = reduce(b, x, phase);
  Val z = b.mul(r, r);
  Val sine = b.sub(r, b.fma(b.mul(r, z), horner(b, z, pick(x, kSin32, kSin64)), r_lo));
  Val cosine = b.fnma(z, horner(b, z, pick(x, kCos32, kCos64)), b.num(x, 1));
  Val m = b.bitcast(b.int_of(x), shifted);
  const int top = is64(x.type) ? 63 : 31;
  Val odd = b.lt(b.shl(m, top), b.integer(x, 0));
  Val sign = b.bitcast(x.type, b.shl(m, top - 1));
  return flip_sign(b, b.select(odd, cosine, sine), sign);
}
}  // namespace

Val sin(Builder& b, Val x) {
  return patch_huge(b, Helper::sin_huge_f32, Helper::sin_huge_f64, x, sine(b, x, 0));
}
Val cos(Builder& b, Val x) {
  return patch_huge(b, Helper::cos_huge_f32, Helper::cos_huge_f64, x, sine(b, x, 1));
}

namespace {
/// Returns what the shorter forms reduce to: r in [-pi/2, pi/2], rounded once, and n whose parity is the
/// result's sign. x = n pi + r; of a cosine (n + 1/2) pi - r.
struct HalfTurn {
  Val n, r;
};
HalfTurn half_turn(Builder& b, Val x, bool cosine) {
  const HalfPi c = half_pi(x);
  const Val magic = b.num(x, round_magic(x)), inverse = b.num(x, kTwoOverPi / 2);
  const Val turns = cosine ? b.add(b.fma(x, inverse, b.f32(-0.5f)), magic) : b.fma(x, inverse, magic);
  const Val n = b.sub(turns, magic);
  const Val hi = b.num(x, 2 * c.hi), mid = b.num(x, 2 * c.mid), lo = b.num(x, 2 * c.lo);
  if (!cosine) return {turns, b.fnma(n, lo, b.fnma(n, mid, b.fnma(n, hi, x)))};
  const Val halves = b.add(n, b.f32(0.5f));
  return {turns, b.fma(halves, lo, b.fma(halves, mid, b.fms(halves, hi, x)))};
}
/// Returns sin r with the sign of n's parity: one polynomial, where quarter turns would need two and a
/// choice.
Val sine_of(Builder& b, HalfTurn t) {
  const Val z = b.mul(t.r, t.r);
  // A sum with +0 is no -0, so that r less it stays one; and this way round 1 is not passed.
  const Val less = b.fma(b.mul(t.r, z), horner(b, z, forms::kSine), b.num(t.r, 0));
  const Val sine = b.sub(t.r, less);
  return b.xor_(sine, b.bitcast(t.r.type, b.shl(b.bitcast(b.int_of(t.r), t.n), 31)));
}
}  // namespace

namespace standard {
Val sin(Builder& b, Val x) {
  return patch_huge(b, Helper::sin_huge_f32, Helper::sin_huge_f64, x, sine_of(b, half_turn(b, x, false)));
}
Val cos(Builder& b, Val x) {
  return patch_huge(b, Helper::cos_huge_f32, Helper::cos_huge_f64, x, sine_of(b, half_turn(b, x, true)));
}
}  // namespace standard

// Of arguments too large to reduce the result is a number in [-1, 1].
namespace fast {
namespace {
Val sine(Builder& b, Val x, bool cosine) {
  HalfTurn t = half_turn(b, x, cosine);
  t.r = b.max(b.f32(-1.58f), b.min(b.f32(1.58f), t.r));
  return sine_of(b, t);
}
}  // namespace
Val sin(Builder& b, Val x) { return sine(b, x, false); }
Val cos(Builder& b, Val x) { return sine(b, x, true); }
}  // namespace fast

// For odd n returns -1 / tan(r - r_lo), with one correction of the quotient.
Val tan(Builder& b, Val x) {
  auto [shifted, r, r_lo] = reduce(b, x, 0);
  Val z = b.mul(r, r);
  Val q = b.fma(b.mul(r, z), polynomial(b, z, pick(x, kTan32, kTan64)), b.fma(r_lo, z, r_lo));
  Val t = b.sub(r, q);  // tan of the remainder, as t + t_lo
  Val t_lo = b.sub(b.sub(r, t), q);
  Val y = b.div(b.num(x, -1), t);
  Val error = b.fma(y, t_lo, b.fma(y, t, b.num(x, 1)));
  y = b.fma(y, error, y);
  const int top = is64(x.type) ? 63 : 31;
  Val odd = b.lt(b.shl(b.bitcast(b.int_of(x), shifted), top), b.integer(x, 0));
  return patch_huge(b, Helper::tan_huge_f32, Helper::tan_huge_f64, x, b.select(odd, y, t));
}

}  // namespace lazy::vecmath
