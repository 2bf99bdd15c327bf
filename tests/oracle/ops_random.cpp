// Rows of lazy/random/: each draws from a generator of seed 1.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define DRAW(name, sample, ...) ROW(name, sample, Generator generator(1); __VA_ARGS__)

const Row kRows[] = {
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
    DRAW("shuffle", "x 4,2", ARG(x); INT(a, 0); return shuffle(generator, x, a)),
    DRAW("multinomial", "x 2,5\tI 3", ARG(w); INT(n, 1); FLAG(again, false);
         return multinomial(generator, w, n, again)),
    DRAW("dropout", "x 2,3\tF 0x1p-1", ARG(x); REAL(p, 0.5); FLAG(training, true);
         return dropout(generator, x, p, training)),
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace oracle
