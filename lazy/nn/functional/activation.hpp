// Computes activations, by torch.nn.functional's names. Each is one formula that fuses with what is around
// it.
//
// Operands may be scalars; bools and integers are computed in the default dtype, 16-bit floats in float32 and
// rounded once. NaN gives NaN. An option out of its range throws Error, a wrong axis IndexError.
// elementwise.hpp has relu, sigmoid, tanh and gelu.
#pragma once
#include "lazy/core/tensor.hpp"
#include "support/shadowing.hpp"

namespace lazy {

/// Returns exp(x) / sum(exp(x)) along an axis, without overflow. A lane of -inf alone, or with an inf, gives
/// NaN. With `dtype` (floating point, else DtypeError) x is converted first. A 0-d x has the axes 0 and -1.
Tensor softmax(Arg x, IntegerArg axis, MaybeDType dtype = {});
/// Returns log(softmax(x)), x - log(sum(exp(x))) without overflow. Axis and dtype as for softmax.
Tensor log_softmax(Arg x, IntegerArg axis, MaybeDType dtype = {});
/// Returns softmax(-x).
Tensor softmin(Arg x, IntegerArg axis, MaybeDType dtype = {});

Tensor silu(Arg x);  // x sigmoid(x)
/// Returns x where x > 0, negative_slope x elsewhere.
Tensor leaky_relu(Arg x, double negative_slope = 0.01);
/// Returns x where x > 0, alpha (e^x - 1) elsewhere.
Tensor elu(Arg x, double alpha = 1);
Tensor selu(Arg x);  // scale elu(x, alpha) with Klambauer et al.'s constants (2017)
/// Returns x where x > 0, alpha (e^(x / alpha) - 1) elsewhere. Error if alpha is 0.
Tensor celu(Arg x, double alpha = 1);
/// Returns log(1 + e^(beta x)) / beta, and x where beta x > threshold. Error if beta is 0.
Tensor softplus(Arg x, double beta = 1, double threshold = 20);
Tensor softsign(Arg x);  // x / (1 + |x|)
Tensor mish(Arg x);      // x tanh(log(1 + e^x))
/// Returns x between two limits. Error if min_val > max_val.
Tensor hardtanh(Arg x, double min_val = -1, double max_val = 1);
Tensor hardsigmoid(Arg x);  // x + 3, between 0 and 6, / 6
Tensor hardswish(Arg x);    // x hardsigmoid(x)
Tensor relu6(Arg x);        // x between 0 and 6
/// Returns a sigmoid(b), a and b being the halves of x along an axis: (..., 2 n, ...) -> (..., n, ...).
/// ShapeError if its extent is odd.
Tensor glu(Arg x, IntegerArg axis = -1);
/// Returns x where x > 0, weight x elsewhere. The weight is one number, or one for each index of x's axis 1
/// (ShapeError).
Tensor prelu(Arg x, Arg weight);
Tensor logsigmoid(Arg x);  // log(sigmoid(x))
Tensor tanhshrink(Arg x);  // x - tanh(x)
/// Returns x moved towards 0 by lambda, and 0 where |x| <= lambda. Error if lambda < 0.
Tensor softshrink(Arg x, double lambda = 0.5);
/// Returns x, and 0 where |x| <= lambda.
Tensor hardshrink(Arg x, double lambda = 0.5);
/// Returns x where x > threshold, `value` elsewhere.
Tensor threshold(Arg x, double threshold, double value);

LAZY_SHADOWING_BEGIN
/// Says how gelu is computed: by the error function, or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
enum class Approximate : uint8_t { none, tanh };
LAZY_SHADOWING_END
Tensor gelu(Arg x, Approximate approximate);

}  // namespace lazy
