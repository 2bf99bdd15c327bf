#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {

Val rsqrt(Builder& b, Val x) { return b.div(b.num(x, 1), b.sqrt(x)); }

// Divides both sides by the power of two in the larger one. Its exponent field is clamped away from the ends,
// so that the scale and its inverse are normal; what is lost then is too small to matter. An infinity wins
// over a NaN.
Val hypot(Builder& b, Val x, Val y) {
  const vir::Type integer = b.int_of(x);
  x = b.abs(x);
  y = b.abs(y);
  const Val larger = b.imax(b.bitcast(integer, x), b.bitcast(integer, y));
  const Val inf = infinity(b, x);
  Val exponent = b.and_(larger, b.bitcast(integer, inf));
  const bool f32 = is_f32(x);
  exponent = b.imin(b.imax(exponent, bits_of(b, x, f32 ? 0x1p-126 : 0x1p-1022)),
                    bits_of(b, x, f32 ? 0x1p126 : 0x1p1022));
  const Val down = b.bitcast(x.type, b.isub(f32 ? b.i32(0x7f000000) : b.i64(0x7feLL << 52), exponent));
  const Val u = b.mul(x, down), v = b.mul(y, down);
  const Val root = b.sqrt(b.fma(u, u, b.mul(v, v)));
  const Val result = b.mul(root, b.bitcast(x.type, exponent));
  return b.select(b.or_(b.eq(x, inf), b.eq(y, inf)), inf, result);
}

}  // namespace lazy::vecmath
