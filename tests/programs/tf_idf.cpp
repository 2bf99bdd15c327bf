// Weighs words by how often they are in a text and how rare they are in all, and finds texts that are alike.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(tf_idf, .elementary = true) {
  const int64_t texts = in.whole("texts"), words = in.whole("words");
  const Tensor counts = bincount(in("text") * words + in("word"), texts * words).reshape({texts, words});
  const Tensor frequency = counts / maximum(sum(counts, 1, keepdims), 1);
  const Tensor rarity = log((1 + texts) / (1 + sum(counts > 0, 0))) + 1;
  const Tensor weight = normalize(frequency * rarity);
  Tensor likeness = matmul(weight, weight.T());
  likeness(arange(texts), arange(texts)) = -1;
  return {{"weight", weight}, {"nearest", argmax(likeness, 1)}, {"keyword", argmax(weight, 1)}};
}
