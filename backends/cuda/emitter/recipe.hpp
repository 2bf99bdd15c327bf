// Prints the recipes of vector math (backends/vector/vecmath) as device functions.
#pragma once
#include <string>

#include "backends/cuda/emitter/prelude.hpp"
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::cuda_backend {

/// Puts the function for an elementary op on `t` (float32 or float64) into the prelude and returns its name,
/// "exp_f32"; of a less accurate form "exp_standard_f32". Empty if the op has no recipe. The instructions are
/// those on the CPU, so the bits are, too.
std::string need_recipe(Prelude&, jit::Op, DType t, jit::Accuracy = jit::Accuracy::full);

}  // namespace lazy::cuda_backend
