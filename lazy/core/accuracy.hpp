// Chooses how accurate the elementary functions are that are recorded in a scope:
//
//   accuracy_scope fast(Accuracy::fast);
//   const Tensor y = gelu(x);          // in that form, whenever y is computed
//
// Outside of scopes LAZY_ACCURACY says it. docs/math.md has the bounds of each form.
#pragma once
#include "jit/graph/accuracy.hpp"

namespace lazy {

using jit::Accuracy;
using accuracy_scope = jit::AccuracyScope;

}  // namespace lazy
