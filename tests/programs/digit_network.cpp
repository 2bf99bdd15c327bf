// Classifies images by two convolutions with pooling and a linear layer.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(digit_network, .elementary = true) {
  Tensor x = conv2d(in("x"), in("w1"), {.padding = 1, .bias = in("b1")});
  x = batch_norm(x, in("mean"), in("var"), in("gain"), in("shift"));
  x = max_pool(relu(x), 2);
  x = max_pool(relu(conv2d(x, in("w2"), {.padding = 1, .bias = in("b2")})), 2);
  const Tensor scores = log_softmax(linear(x.reshape({x.size(0), -1}), in("w3"), in("b3")), 1);
  return {{"scores", scores},
          {"answer", argmax(scores, 1)},
          {"loss", nll_loss(scores, in("label"))},
          {"best", topk(scores, 3).indices}};
}
