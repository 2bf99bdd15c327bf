// Declares vector math: each function appends the instructions for one elementary function of x's type (f32
// or f64) to the builder. Accuracy, tables and sources: docs/math.md. Inputs are any bit pattern; results for
// NaN, infinities, signed zeros and denormals are those of C99 Annex F (pow too).
#pragma once
#include "backends/vector/vir.hpp"

namespace lazy::vecmath {
using vir::Builder;
using vir::Val;

Val exp(Builder&, Val x);
Val expm1(Builder&, Val x);
Val log(Builder&, Val x);
Val log1p(Builder&, Val x);
Val log2(Builder&, Val x);
Val log10(Builder&, Val x);
Val sin(Builder&, Val x);
Val cos(Builder&, Val x);
Val tan(Builder&, Val x);
Val sinh(Builder&, Val x);
Val cosh(Builder&, Val x);
Val tanh(Builder&, Val x);
Val asin(Builder&, Val x);
Val acos(Builder&, Val x);
Val atan(Builder&, Val x);
Val asinh(Builder&, Val x);
Val acosh(Builder&, Val x);
Val atanh(Builder&, Val x);
Val erf(Builder&, Val x);
Val erfc(Builder&, Val x);
Val sigmoid(Builder&, Val x);
Val gelu(Builder&, Val x);
Val rsqrt(Builder&, Val x);
Val pow(Builder&, Val x, Val y);
Val atan2(Builder&, Val y, Val x);
Val hypot(Builder&, Val x, Val y);

// The forms of float32 that are less accurate (forms.def).
namespace standard {
Val exp(Builder&, Val x);
Val expm1(Builder&, Val x);
Val log(Builder&, Val x);
Val log1p(Builder&, Val x);
Val sin(Builder&, Val x);
Val cos(Builder&, Val x);
Val tanh(Builder&, Val x);
Val erf(Builder&, Val x);
Val erfc(Builder&, Val x);
Val sigmoid(Builder&, Val x);
Val gelu(Builder&, Val x);
Val pow(Builder&, Val x, Val y);
}  // namespace standard
namespace fast {
Val exp(Builder&, Val x);
Val log(Builder&, Val x);
Val sin(Builder&, Val x);
Val cos(Builder&, Val x);
Val tanh(Builder&, Val x);
Val erf(Builder&, Val x);
Val sigmoid(Builder&, Val x);
Val gelu(Builder&, Val x);
Val pow(Builder&, Val x, Val y);
}  // namespace fast

}  // namespace lazy::vecmath
