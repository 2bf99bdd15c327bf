// Runs a long short-term memory over sequences, with torch's order of gates.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(lstm_sequence, .elementary = true) {
  const Tensor x = in("x"), w = in("w"), u = in("u"), bias = in("b") + in("c");
  Tensor h = zeros({x.size(0), u.size(1)}), state = zeros_like(h);
  std::vector<Tensor> out;
  for (const Tensor& now : unbind(x, 1)) {
    const auto gate = chunk(linear(now, w, bias) + linear(h, u), 4, 1);
    state = sigmoid(gate[1]) * state + sigmoid(gate[0]) * tanh(gate[2]);
    h = sigmoid(gate[3]) * tanh(state);
    out.push_back(h);
  }
  return {{"out", stack(out, 1)}, {"h", h}, {"state", state}};
}
