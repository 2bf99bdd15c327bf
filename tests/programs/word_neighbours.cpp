// Finds the words whose vectors point most nearly the same way, and the word that completes an analogy.
#include <limits>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(word_neighbours) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Tensor vectors = in("vectors"), asked = in("asked");
  const Tensor unit = normalize(vectors);
  const Tensor all = matmul(take(unit, asked, 0), unit.T());
  const Tensor likeness = put_along_axis(all, asked(_, newaxis), -inf, 1);
  const auto [values, nearest] = topk(likeness, in.whole("k"));
  const auto vector_of = [&](int64_t i) { return take(unit, asked(i), 0); };
  const Tensor wanted = vector_of(1) - vector_of(0) + vector_of(2);
  const Tensor analogy = scatter(matmul(unit, wanted), 0, asked(slice(3)), -inf);
  return {{"nearest", nearest}, {"likeness", values}, {"analogy", argmax(analogy)}};
}
