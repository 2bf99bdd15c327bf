// Draws random numbers. Draws are recorded like any other op: they fuse with what reads them, and nothing is
// written until a value is read. generator.hpp says what a draw depends on.
//
// Each function takes a Generator first, or none: then it draws from default_generator(). If no dtype is
// given, it is the default one (set_default_dtype). float16 and bfloat16 are drawn in float32 and rounded.
// DtypeError for dtypes that are no floating-point ones, ShapeError for a negative extent, and for more than
// 2^32 elements, which one draw cannot give.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/random/generator.hpp"

namespace lazy {

/// Returns 64 random bits an element, as uint64.
Tensor random_bits(Generator&, ShapeArg shape, MaybeDevice = {}, Site = Site::current());
/// Returns numbers in [0, 1), evenly spaced: multiples of 2^-24, of float64 of 2^-53. In 16 bits some are
/// rounded to 1.
Tensor rand(Generator&, ShapeArg shape, MaybeDType = {}, MaybeDevice = {}, Site = Site::current());
/// Returns low + (high - low) rand(); may be rounded to `high`.
Tensor uniform(Generator&, ScalarNumber low, ScalarNumber high, ShapeArg shape, MaybeDType = {},
               MaybeDevice = {}, Site = Site::current());
/// Returns numbers of the standard normal distribution (Box and Muller, 1958), of magnitude up to 6.7, of
/// float64 up to 8.6.
Tensor randn(Generator&, ShapeArg shape, MaybeDType = {}, MaybeDevice = {}, Site = Site::current());
/// Returns mean + std randn().
Tensor normal(Generator&, ScalarNumber mean, ScalarNumber std, ShapeArg shape, MaybeDType = {},
              MaybeDevice = {}, Site = Site::current());
/// Returns integers in [low, high), int64 unless a dtype is given that holds them. A probability is off by
/// less than (high - low) 2^-32 of itself, or by less than (high - low) 2^-64 if there are more than 2^32
/// integers. ShapeError if there is none.
Tensor randint(Generator&, IntegerArg low, IntegerArg high, ShapeArg shape, MaybeDType = {}, MaybeDevice = {},
               Site = Site::current());
/// Returns numbers of density rate exp(-rate x), x > 0.
Tensor exponential(Generator&, ScalarNumber rate, ShapeArg shape, MaybeDType = {}, MaybeDevice = {},
                   Site = Site::current());
/// Returns 1 with the probability that each element of p says and else 0, in p's dtype, a floating-point one
/// (DtypeError). Error for a number that is not in 0 to 1; elements of a tensor count as the nearest that is.
Tensor bernoulli(Generator&, Arg p);
/// Returns 0, 1, ... n - 1 in random order, int64.
Tensor permutation(Generator&, IntegerArg n, MaybeDevice = {}, Site = Site::current());
inline Tensor randperm(Generator& g, IntegerArg n, MaybeDevice d = {}, Site s = Site::current()) {
  return permutation(g, n, d, s);
}
/// Draws elements of a vector, or of 0, 1, ... n - 1, int64, each with the same probability or with those of
/// `p`, of the vector's extent, in proportion to it: (n) -> shape. Without `replace` an element is drawn once
/// at most. ShapeError for more dimensions than one, for no elements, for p of another extent, and for more
/// draws than there are elements without `replace`; DtypeError for p of other than floating-point numbers.
Tensor choice(Generator&, TensorArg x, ShapeArg shape = {}, bool replace = true, MaybeTensor p = {});
Tensor choice(Generator&, IntegerArg n, ShapeArg shape = {}, bool replace = true, MaybeTensor p = {},
              Site = Site::current());
/// Returns x with the slices along an axis in random order; IndexError for the axis.
Tensor shuffle(Generator&, Arg x, IntegerArg axis = 0);
/// Draws positions along the last axis of `weights`, with probabilities in proportion to it: (..., n) ->
/// (..., samples), int64. Without replacement a position is drawn once at most: ShapeError for more samples
/// than there are positions; where fewer have a weight above 0, the others follow in order. With replacement
/// each sample reads all weights. DtypeError for weights that are no floating-point numbers.
Tensor multinomial(Generator&, Arg weights, IntegerArg samples, bool replacement = false);
/// Returns x with elements replaced by 0 with probability p and the others divided by 1 - p; x itself if not
/// `training`. Error unless 0 <= p <= 1.
Tensor dropout(Generator&, Arg x, double p = 0.5, bool training = true);

#define LAZY_DRAW(name, parameters, ...) \
  inline Tensor name parameters { return name(default_generator(), __VA_ARGS__); }
LAZY_DRAW(random_bits, (ShapeArg shape, MaybeDevice d = {}, Site s = Site::current()), shape, d, s)
LAZY_DRAW(rand, (ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()), shape, t,
          d, s)
LAZY_DRAW(uniform,
          (ScalarNumber low, ScalarNumber high, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {},
           Site s = Site::current()),
          low, high, shape, t, d, s)
LAZY_DRAW(randn, (ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()), shape, t,
          d, s)
LAZY_DRAW(normal,
          (ScalarNumber mean, ScalarNumber std, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {},
           Site s = Site::current()),
          mean, std, shape, t, d, s)
LAZY_DRAW(randint,
          (IntegerArg low, IntegerArg high, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {},
           Site s = Site::current()),
          low, high, shape, t, d, s)
LAZY_DRAW(exponential,
          (ScalarNumber rate, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {},
           Site s = Site::current()),
          rate, shape, t, d, s)
LAZY_DRAW(bernoulli, (Arg p), std::move(p))
LAZY_DRAW(permutation, (IntegerArg n, MaybeDevice d = {}, Site s = Site::current()), n, d, s)
LAZY_DRAW(randperm, (IntegerArg n, MaybeDevice d = {}, Site s = Site::current()), n, d, s)
LAZY_DRAW(choice, (TensorArg x, ShapeArg shape = {}, bool replace = true, MaybeTensor p = {}), std::move(x),
          shape, replace, std::move(p))
LAZY_DRAW(choice,
          (IntegerArg n, ShapeArg shape = {}, bool replace = true, MaybeTensor p = {},
           Site s = Site::current()),
          n, shape, replace, std::move(p), s)
LAZY_DRAW(shuffle, (Arg x, IntegerArg axis = 0), std::move(x), axis)
LAZY_DRAW(multinomial, (Arg weights, IntegerArg samples, bool replacement = false), std::move(weights),
          samples, replacement)
LAZY_DRAW(dropout, (Arg x, double p = 0.5, bool training = true), std::move(x), p, training)
#undef LAZY_DRAW
// Of extents without braces: rand(3, 4).
#define LAZY_OF_EXTENTS(name)                                                                              \
  template <IntegerType B>                                                                                 \
  Tensor name(ExtentArg a, B b, ExtentArg c = {}, ExtentArg d = {}, ExtentArg i = {}, ExtentArg j = {},    \
              ExtentArg k = {}, ExtentArg l = {}) {                                                        \
    return name(detail::extents({a, ExtentArg(b, a.site), c, d, i, j, k, l}), MaybeDType(), MaybeDevice(), \
                a.site);                                                                                   \
  }
LAZY_OF_EXTENTS(rand)
LAZY_OF_EXTENTS(randn)
#undef LAZY_OF_EXTENTS

}  // namespace lazy
