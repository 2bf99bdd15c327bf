// Lets a recurrent network write: each word is drawn among the four likeliest, which the state then hears.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(sample_text, .elementary = true) {
  const int64_t k = in.whole("k");
  Tensor state = zeros(in("recurrent").size(0)), word = tensor(0);
  std::vector<Tensor> text;
  for (const Tensor& u : unstack(in("chance"))) {
    state = tanh(embedding(word, in("embedding")) + matmul(state, in("recurrent")));
    const auto [scores, likely] = topk(matmul(state, in("output")) / 0.8, k);
    const Tensor running = cumsum(softmax(scores, -1));
    word = likely(minimum(searchsorted(running, u, true), k - 1));
    text.push_back(word);
    eval(state, word);
  }
  return {{"text", stack(text)}, {"state", state}};
}
