// Implements reductions in the order that jit/ir/ir.hpp fixes.
#pragma once
#include <cstdint>
#include <memory>

#include "jit/ir/ir.hpp"

namespace lazy::reference {

/// Accumulates one Reduction, or the sum of a contraction, for one result (inner: the lanes of a strip lie
/// along the reduced axis) or for a strip of results side by side (outer: each strip holds one reduced index
/// of all of them).
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  /// Begins with nothing accumulated, for `width` results (inner: 1).
  virtual void start(int width) = 0;
  /// Adds values. inner: those at the reduced indices r .. r + n - 1 (r a multiple of kStrip); outer: those
  /// of n results at the index r. Called with r ascending from 0, without gaps. `second` is a
  /// contraction's right side.
  virtual void take(const void* value, const void* second, int64_t r, int n) = 0;
  /// Writes the `width` results, packed.
  virtual void finish(void* out) = 0;
};

/// Returns the pointwise op that combines two partial results of a reduction or a scan; argmax and argmin
/// have none.
jit::Op combination(jit::Op);
/// Makes the accumulator of a contraction of two sides of this type.
std::unique_ptr<Accumulator> make_contraction(DType);
/// Makes the accumulator of a reduction. argmax and argmin add `origin` to the position that they
/// find.
std::unique_ptr<Accumulator> make_accumulator(const jit::loop::Reduction&, bool inner, int64_t origin);

}  // namespace lazy::reference
