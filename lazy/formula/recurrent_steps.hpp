// Records the steps of a recurrent layer one by one, as its call means them: for a device without the call,
// and for derivatives. Internal to lazy/.
#pragma once
#include <vector>

#include "jit/built_in/nn/recurrent.hpp"
#include "lazy/formula/formula.hpp"

namespace lazy::detail {

/// Holds what the steps of a layer give.
struct RecurrentSteps {
  std::vector<Term> h;  // (N, P) after each step, by its place in the sequence
  Term c;               // (N, R) after the last step, of an LSTM
};
/// Records the steps one by one, of the operands of the call. `added` (T, N, R) is added to what h gives n in
/// the steps of a GRU; without a handle nothing is.
RecurrentSteps recurrent_steps(const jit::calls::RecurrentAttributes&, const std::vector<Term>& operands,
                               const Term& added);

}  // namespace lazy::detail
