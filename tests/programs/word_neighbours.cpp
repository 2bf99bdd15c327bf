// Finds the words whose vectors point most nearly the same way, and the word that completes an analogy.
#include <limits>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(word_neighbours) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Tensor vectors = in("vectors"), asked = in("asked");
  const Tensor unit = normalize(vectors);
  Tensor likeness = matmul(unit(asked), unit.T());
  likeness(arange(asked.size()), asked) = -inf;
  const auto [values, nearest] = topk(likeness, in.whole("k"));
  Tensor analogy = matmul(unit, unit(asked(1)) - unit(asked(0)) + unit(asked(2)));
  analogy(asked(slice(3))) = -inf;
  return {{"nearest", nearest}, {"likeness", values}, {"analogy", argmax(analogy)}};
}
