// Draws random numbers of more distributions; dtypes, devices and errors are those of random.hpp. A draw may
// take several positions of its generator, always the same number; it never depends on another element's.
// Where log differs in its last bit between backends, rejection may, rarely, accept another round there.
//
// Parameters that are tensors give shape, dtype (bools and integers the default one) and device. What is out
// of a distribution's range gives NaN; numbers that are throw Error.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/random/random.hpp"

namespace lazy {

/// Returns normal numbers of (mean, std) between low and high, by the inverse of the distribution function in
/// float64. Error unless std > 0 and low < high.
Tensor truncated_normal(Generator&, ScalarNumber mean, ScalarNumber std, ScalarNumber low, ScalarNumber high,
                        ShapeArg shape, MaybeDType = {}, MaybeDevice = {}, Site = Site::current());
/// Returns numbers of density exp(-|x - loc| / scale) / (2 scale).
Tensor laplace(Generator&, ScalarNumber loc, ScalarNumber scale, ShapeArg shape, MaybeDType = {},
               MaybeDevice = {}, Site = Site::current());
/// Returns numbers of density 1 / (pi scale (1 + ((x - median) / scale)^2)).
Tensor cauchy(Generator&, ScalarNumber median, ScalarNumber scale, ShapeArg shape, MaybeDType = {},
              MaybeDevice = {}, Site = Site::current());
/// Returns loc - scale log(e), e of the exponential distribution of rate 1.
Tensor gumbel(Generator&, ScalarNumber loc, ScalarNumber scale, ShapeArg shape, MaybeDType = {},
              MaybeDevice = {}, Site = Site::current());
/// Returns exp(normal(mean, std)).
Tensor log_normal(Generator&, ScalarNumber mean, ScalarNumber std, ShapeArg shape, MaybeDType = {},
                  MaybeDevice = {}, Site = Site::current());
/// Returns how many trials of probability p there are up to the first success: 1, 2, ..., int64 unless a
/// dtype is given, from 53 bits. Error unless 0 < p <= 1.
Tensor geometric(Generator&, double p, ShapeArg shape, MaybeDType = {}, MaybeDevice = {},
                 Site = Site::current());

/// Returns numbers of density x^(a - 1) e^-x / gamma(a), a being each element of the concentration: six
/// rounds of Marsaglia and Tsang (2000), of which the first that accepts counts. None does with a probability
/// below 2e-8; then the last one counts.
Tensor standard_gamma(Generator&, Arg concentration);
/// Returns standard_gamma(concentration) times scale. Error unless both are positive.
Tensor gamma(Generator&, ScalarNumber concentration, ScalarNumber scale, ShapeArg shape, MaybeDType = {},
             MaybeDevice = {}, Site = Site::current());
/// Returns x / (x + y), x and y of gamma distributions of concentrations a and b, which broadcast.
Tensor beta(Generator&, Arg a, Arg b);
/// Returns sums of squares of `df` normal numbers: 2 standard_gamma(df / 2).
Tensor chi2(Generator&, Arg df);
/// Returns normal numbers over sqrt(chi2(df) / df).
Tensor student_t(Generator&, Arg df);
/// Returns gamma numbers divided by their sum along the last axis. ShapeError for a 0-d tensor.
Tensor dirichlet(Generator&, Arg concentration);
/// Returns counts of events of each element of `rate` on average, in its dtype, from 53 bits in float64:
/// below a rate of 32 by inversion, from there on by the expansion of the inverse distribution function
/// (Giles, Algorithm 955, 2016), whose probabilities add up to errors below 1.3e-5, and below 10^-2 / rate^2
/// further on. NaN for a negative rate.
Tensor poisson(Generator&, Arg rate);

// Draw in the shape of x, on its device, and in its dtype if none is given.

Tensor rand_like(Generator&, Arg x, MaybeDType = {});
Tensor randn_like(Generator&, Arg x, MaybeDType = {});
Tensor randint_like(Generator&, Arg x, IntegerArg low, IntegerArg high, MaybeDType = {});

#define LAZY_DRAW(name, parameters, ...) \
  inline Tensor name parameters { return name(default_generator(), __VA_ARGS__); }
#define LAZY_DRAW2(name)                                                                                    \
  inline Tensor name(ScalarNumber a, ScalarNumber b, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, \
                     Site s = Site::current()) {                                                            \
    return name(default_generator(), a, b, shape, t, d, s);                                                 \
  }
LAZY_DRAW(truncated_normal,
          (ScalarNumber mean, ScalarNumber std, ScalarNumber low, ScalarNumber high, ShapeArg shape,
           MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()),
          mean, std, low, high, shape, t, d, s)
LAZY_DRAW2(laplace)
LAZY_DRAW2(cauchy)
LAZY_DRAW2(gumbel)
LAZY_DRAW2(log_normal)
LAZY_DRAW2(gamma)
LAZY_DRAW(geometric,
          (double p, ShapeArg shape, MaybeDType t = {}, MaybeDevice d = {}, Site s = Site::current()), p,
          shape, t, d, s)
LAZY_DRAW(standard_gamma, (Arg concentration), std::move(concentration))
LAZY_DRAW(beta, (Arg a, Arg b), std::move(a), std::move(b))
LAZY_DRAW(chi2, (Arg df), std::move(df))
LAZY_DRAW(student_t, (Arg df), std::move(df))
LAZY_DRAW(dirichlet, (Arg concentration), std::move(concentration))
LAZY_DRAW(poisson, (Arg rate), std::move(rate))
LAZY_DRAW(rand_like, (Arg x, MaybeDType t = {}), std::move(x), t)
LAZY_DRAW(randn_like, (Arg x, MaybeDType t = {}), std::move(x), t)
LAZY_DRAW(randint_like, (Arg x, IntegerArg low, IntegerArg high, MaybeDType t = {}), std::move(x), low, high,
          t)
#undef LAZY_DRAW
#undef LAZY_DRAW2

}  // namespace lazy
