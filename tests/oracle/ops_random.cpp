// Rows of lazy/random/: each draws from a generator of seed 1.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define DRAW(name, sample, ...) ROW(name, sample, Generator generator(1); __VA_ARGS__)

#define SHAPED(f) \
  DRAW(#f, "F 1\tF 2\tL 2,3", NUMBER(a, 0); NUMBER(b, 0); SHAPE(s); DTYPE(t); return f(generator, a, b, s, t))
#define DRAWN(f) DRAW(#f, "x 2,3", ARG(x); return f(generator, x))
#define DROPPED(f)                                                          \
  DRAW(#f, "x 2,3,4\tF 0x1p-1", ARG(x); REAL(p, 0.5); FLAG(training, true); \
       return f(generator, x, p, training))
#define DROPPED_BY_DEFAULT(f) \
  ROW(#f, "x 2,3,4\tF 0x1p-1", ARG(x); REAL(p, 0.5); manual_seed(1); return f(x, p))

const Row kRows[] = {
    SHAPED(laplace),
    SHAPED(cauchy),
    SHAPED(gumbel),
    SHAPED(log_normal),
    SHAPED(gamma),
    DRAWN(standard_gamma),
    DRAWN(chi2),
    DRAWN(student_t),
    DRAWN(dirichlet),
    DRAWN(poisson),
    DRAWN(rand_like),
    DRAWN(randn_like),
    DROPPED(feature_dropout),
    DROPPED(alpha_dropout),
    DROPPED(feature_alpha_dropout),
    DROPPED_BY_DEFAULT(dropout1d),
    DROPPED_BY_DEFAULT(dropout2d),
    DROPPED_BY_DEFAULT(dropout3d),
    DRAW("beta", "x 2,3\tx 3", ARG(a); ARG(b); return beta(generator, a, b)),
    DRAW("geometric", "F 0x1p-2\tL 2,3", REAL(p, 0.5); SHAPE(s); DTYPE(t);
         return geometric(generator, p, s, t)),
    DRAW("truncated_normal", "F 0\tF 1\tF -2\tF 2\tL 2,3", NUMBER(m, 0); NUMBER(d, 1); NUMBER(a, 0);
         NUMBER(b, 0); SHAPE(s); DTYPE(t); return truncated_normal(generator, m, d, a, b, s, t)),
    DRAW("randint_like", "x 2,3\tI 0\tI 9", ARG(x); INT(a, 0); INT(b, 0);
         return randint_like(generator, x, a, b)),
    DRAW("rrelu", "x 2,3", ARG(x); REAL(a, 0.125); REAL(b, 0.5); FLAG(training, true);
         return rrelu(generator, x, a, b, training)),
    DRAW("gumbel_softmax", "x 2,3", ARG(x); REAL(tau, 1); return gumbel_softmax(generator, x, tau)),
    DRAW("random_bits", "L 2,3", SHAPE(s); return random_bits(generator, s)),
    DRAW("rand", "L 2,3", SHAPE(s); DTYPE(t); return rand(generator, s, t)),
    DRAW("randn", "L 2,3", SHAPE(s); DTYPE(t); return randn(generator, s, t)),
    DRAW("uniform", "F 0\tF 2\tL 2,3", NUMBER(a, 0); NUMBER(b, 0); SHAPE(s); DTYPE(t);
         return uniform(generator, a, b, s, t)),
    DRAW("normal", "F 0\tF 2\tL 2,3", NUMBER(a, 0); NUMBER(b, 0); SHAPE(s); DTYPE(t);
         return normal(generator, a, b, s, t)),
    DRAW("randint", "I 0\tI 9\tL 2,3", INT(a, 0); INT(b, 0); SHAPE(s); DTYPE(t);
         return randint(generator, a, b, s, t)),
    DRAW("exponential", "F 1\tL 2,3", NUMBER(a, 0); SHAPE(s); DTYPE(t);
         return exponential(generator, a, s, t)),
    DRAW("bernoulli", "x 2,3", ARG(p); return bernoulli(generator, minimum(p, 1))),
    DRAW("permutation", "I 5", INT(n, 0); return permutation(generator, n)),
    DRAW("randperm", "I 5", INT(n, 0); return randperm(generator, n)),
    DRAW("choice", "x 5\tL 2,3", ARG(x); SHAPE(s); FLAG(again, true);
         return choice(generator, Tensor(x.take()), s, again)),
    DRAW("shuffle", "x 4,2", ARG(x); INT(a, 0); return shuffle(generator, x, a)),
    DRAW("multinomial", "x 2,5\tI 3", ARG(w); INT(n, 1); FLAG(again, false);
         return multinomial(generator, w, n, again)),
    DRAW("dropout", "x 2,3\tF 0x1p-1", ARG(x); REAL(p, 0.5); FLAG(training, true);
         return dropout(generator, x, p, training)),
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace oracle
