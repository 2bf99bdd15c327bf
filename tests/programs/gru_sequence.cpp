// Runs gated recurrent units over sequences, a flush for each step.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(gru_sequence, .elementary = true) {
  const Tensor x = in("x"), u = in("u");
  Tensor h = zeros({x.size(0), u.size(1)});
  std::vector<Tensor> out;
  for (int64_t t = 0; t < x.size(1); ++t) {
    const auto from_x = chunk(linear(x(_, t), in("w"), in("b")), 3, 1),
               from_h = chunk(linear(h, u, in("c")), 3, 1);
    const Tensor reset = sigmoid(from_x[0] + from_h[0]), update = sigmoid(from_x[1] + from_h[1]);
    h = lerp(tanh(from_x[2] + reset * from_h[2]), h, update);
    out.push_back(h.eval());
  }
  return {{"out", stack(out, 1)}, {"h", h}};
}
