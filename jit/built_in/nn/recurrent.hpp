// Declares the calls that go through the steps of a recurrent layer. What does not depend on the step before
// - products with the inputs, gradients of weights - is recorded as ops around them.
//
//   recurrent            x (T, N, G R), h0 (N, P), w (G R, P)   ->  y (T, N, P), saved (T, N, S R)
//     LSTM               ..., c0 (N, R) [, w_r (P, R)]          ->  ..., c_last (N, R)
//     GRU                ..., b_n (R)
//   recurrent_backward   the same operands, y, saved, gradients of y and (LSTM) of c_last
//                                                               ->  of x, h0, c0 (LSTM), and of what w_r
//                                                               gives
//                                                                   (T, N, P), or what h gives n (GRU: T, N,
//                                                                   R)
//
// x has the inputs' part of the gates, biases included, in torch's order: LSTM i, f, g, o; GRU r, z, n.
// `saved` has what the derivative needs: LSTM the gates and c, GRU the gates and h's part of n. All floats
// are of one dtype, float32 or float64.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

enum class RecurrentKind : uint8_t { tanh, relu, lstm, gru };

struct RecurrentAttributes {
  RecurrentKind kind = RecurrentKind::tanh;
  uint8_t reverse = 0;    // 1: from the last step to the first
  uint8_t projected = 0;  // 1: an LSTM with w_r
};

/// Returns how many gates there are, and how many numbers a unit saves in a step.
constexpr int gates_of(RecurrentKind k) {
  return k == RecurrentKind::lstm ? 4 : k == RecurrentKind::gru ? 3 : 1;
}
constexpr int saved_of(RecurrentKind k) {
  return k == RecurrentKind::lstm ? 5 : k == RecurrentKind::gru ? 4 : 0;
}
/// Returns how many operands the forward call has, which are the backward call's first.
constexpr int recurrent_operands(const RecurrentAttributes& a) {
  return 3 + (a.kind == RecurrentKind::lstm ? 1 + a.projected : a.kind == RecurrentKind::gru);
}

extern const CallDefinition kRecurrent, kRecurrentBackward;

}  // namespace lazy::jit::calls
