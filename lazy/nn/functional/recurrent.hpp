// Records recurrent layers: all steps as one call, so that one program serves sequences of any length, or one
// by one where no call is. Internal to lazy/.
#pragma once
#include <vector>

#include "jit/built_in/nn/recurrent.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::detail {

using jit::calls::RecurrentKind;

/// Holds one direction of a recurrent layer; what it has not is undefined.
struct RecurrentWeights {
  Tensor w_ih, w_hh;  // (G R, I), (G R, P): G gates, R units, P outputs
  Tensor b_ih, b_hh;  // (G R)
  Tensor w_hr;        // (P, R), of an LSTM whose outputs are projected
  // Gate g in torch's order is gate order[g] of these; empty: they are in torch's order. A GRU's n stands
  // last.
  std::vector<int> order = {};
};
struct RecurrentResult {
  Tensor y;     // (T, N, P)
  Tensor h, c;  // (N, P) and of an LSTM (N, R): after the last step
};
/// Goes through x (T, N, I) from h0 (N, P) and, of an LSTM, c0 (N, R), in torch's order of gates (LSTM i, f,
/// g, o; GRU r, z, n) unless the weights say another. Dtypes promote to a floating-point one; 16-bit floats
/// are computed in float32 and rounded once. The shapes fit, and T is not 0: the caller has checked.
RecurrentResult recurrent(const char* name, RecurrentKind kind, bool reverse, const Tensor& x,
                          const Tensor& h0, const Tensor& c0, const RecurrentWeights& w, const Site& s);

/// True for the call that recurrent() records.
bool is_recurrent_layer(const jit::CallSpec&);
/// Records what that call means as ops, step by step.
std::vector<jit::Handle> recurrent_by_steps(const jit::Expanding&);

}  // namespace lazy::detail
