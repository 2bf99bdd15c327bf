// One step of a translator: what each word asks of the memory, and which words may come next.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(translation_attention, .elementary = true) {
  const Tensor embeddings = in("embedding"), word = in("word"), memory = in("memory");
  const Tensor asked = embedding(word, embeddings);
  const Tensor weight = softmax(matmul(matmul(asked, in("w")), memory.T()), -1);
  const Tensor state = tanh(linear(cat({asked, matmul(weight, memory)}, -1), in("mix")));
  const Tensor scores = log_softmax(matmul(state, embeddings.T()), -1);
  return {{"weight", weight},
          {"scores", scores},
          {"looks_at", argmax(weight, -1)},
          {"perplexity", exp(nll_loss(scores, word))}};
}
