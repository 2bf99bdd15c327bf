// Offers random numbers as NumPy and MLX do, in a namespace: random::normal(0, 1, {3, 4}). Each name is the
// function that lazy has under it, with the same parameters.
#pragma once
#include "lazy/random/distributions.hpp"
#include "lazy/random/random.hpp"

namespace lazy::random {

using lazy::bernoulli;
using lazy::choice;
using lazy::exponential;
using lazy::Generator;
using lazy::multinomial;
using lazy::normal;
using lazy::permutation;
using lazy::rand;
using lazy::randint;
using lazy::randn;
using lazy::shuffle;
using lazy::uniform;

/// Seeds the default generator: manual_seed().
inline void seed(uint64_t s) { manual_seed(s); }
/// Return randn() and rand(): MLX's names, of a shape alone.
inline Tensor normal(ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()) {
  return randn(shape, t, d, s);
}
inline Tensor uniform(ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()) {
  return rand(shape, t, d, s);
}

}  // namespace lazy::random
