#include "lazy/nn/functional/activation.hpp"

#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

template <Tensor (*f)(Arg)>
void activation(Call& c) {
  c.give(f(c[0]));
}

void leaky_relu_op(Call& c) { c.give(leaky_relu(c[0], c.real("alpha", 0.01))); }
void elu_op(Call& c) { c.give(elu(c[0], c.real("alpha", 1))); }
void celu_op(Call& c) { c.give(celu(c[0], c.real("alpha", 1))); }
void thresholded_relu_op(Call& c) { c.give(threshold(c[0], c.real("alpha", 1), 0)); }
void softplus_op(Call& c) { c.give(softplus(c[0])); }

void selu_op(Call& c) {
  constexpr double kAlpha = 1.67326319217681884765625, kGamma = 1.05070102214813232421875;
  const Tensor r = elu(c[0], c.real("alpha", kAlpha));
  c.give(multiply(c.arg(r), Arg(c.real("gamma", kGamma), c.site())));
}

void hard_sigmoid_op(Call& c) {
  const Tensor line = add(c.arg(multiply(c[0], Arg(c.real("alpha", 0.2), c.site()))), c.real("beta", 0.5));
  c.give(clip(c.arg(line), 0.0, 1.0));
}

void prelu_op(Call& c) {
  Tensor slope = c.tensor(1);
  // Before version 7 a slope of one dimension belongs to axis 1.
  if (c.version() < 7 && c.rank(1) == 1 && c.shape(1)[0] != 1) {
    Shape shape(c.rank(0) - 1, 1);
    shape[0] = c.shape(1)[0];
    slope = reshape(c.arg(slope), ShapeArg(shape));
  }
  const Tensor negative = less(c[0], Arg(0, c.site())), scaled = multiply(c[0], c.arg(slope));
  c.give(where(c.arg(negative), c.arg(scaled), c[0]));
}

void shrink_op(Call& c) {
  const double bias = c.real("bias", 0), lambda = c.real("lambd", 0.5);
  const Tensor x = is_float(c.dtype(0)) ? c.tensor(0) : c.tensor(0).astype(float64, c.site());
  const Tensor up = add(c.arg(x), bias), down = subtract(c.arg(x), bias);
  const Tensor upper = where(c.arg(greater(c.arg(x), lambda)), c.arg(down), Arg(0, c.site()));
  c.give(where(c.arg(less(c.arg(x), -lambda)), c.arg(up), c.arg(upper)).astype(c.dtype(0), c.site()));
}

void gelu_op(Call& c) {
  c.give(gelu(c[0], c.text("approximate", "none") == "tanh" ? Approximate::tanh : Approximate::none));
}

/// Calls f with the input and the axis; before version 13 all axes from attribute `axis` on are one.
template <class F>
Tensor along_axis(Call& c, F&& f) {
  const int rank = c.rank(0);
  if (c.version() >= 13) return f(c.tensor(0), c.axis(c.integer("axis", -1), rank));
  const Shape shape = c.shape(0);
  const int64_t axis = c.integer("axis", 1);
  int64_t rows = 1, columns = 1;
  const int64_t first = axis < 0 ? axis + rank : axis;
  for (int i = 0; i < rank; ++i) (i < first ? rows : columns) *= shape[i];
  return reshape(c.arg(f(reshape(c[0], {rows, columns}), 1)), ShapeArg(shape));
}

void softmax_op(Call& c) {
  c.give(along_axis(c, [&](const Tensor& x, int axis) { return softmax(c.arg(x), axis); }));
}
void log_softmax_op(Call& c) {
  c.give(along_axis(c, [&](const Tensor& x, int axis) { return log_softmax(c.arg(x), axis); }));
}
void hardmax_op(Call& c) {
  c.give(along_axis(c, [&](const Tensor& x, int axis) {
    const int rank = x.ndim(c.site());
    Shape places(rank, 1);
    places[axis] = x.size(axis, c.site());
    const Tensor at = argmax(c.arg(x), axis, keepdims),
                 all = reshape(c.arg(arange(places[axis], int64, c.device(), c.site())), ShapeArg(places));
    return equal(c.arg(all), c.arg(at)).astype(x.dtype(c.site()), c.site());
  }));
}

const Operator kActivations[] = {
    {"Relu", 1, 21, "consumed_inputs", activation<relu>},
    {"Sigmoid", 1, 21, "consumed_inputs", activation<sigmoid>},
    {"LeakyRelu", 1, 21, "alpha consumed_inputs", leaky_relu_op},
    {"Elu", 1, 21, "alpha consumed_inputs", elu_op},
    {"Selu", 1, 21, "alpha gamma consumed_inputs", selu_op},
    {"Celu", 12, 21, "alpha", celu_op},
    {"ThresholdedRelu", 10, 21, "alpha", thresholded_relu_op},
    {"PRelu", 1, 21, "consumed_inputs", prelu_op},
    {"HardSigmoid", 1, 21, "alpha beta consumed_inputs", hard_sigmoid_op},
    {"HardSwish", 14, 21, "", activation<hardswish>},
    {"Softplus", 1, 21, "", softplus_op},
    {"Softsign", 1, 21, "", activation<softsign>},
    {"Mish", 18, 21, "", activation<mish>},
    {"Gelu", 20, 21, "approximate", gelu_op},
    {"Shrink", 9, 21, "bias lambd", shrink_op},
    {"Softmax", 1, 21, "axis", softmax_op},
    {"LogSoftmax", 1, 21, "axis", log_softmax_op},
    {"Hardmax", 1, 21, "axis", hardmax_op},
};

}  // namespace

std::span<const Operator> activation_operators() { return kActivations; }

}  // namespace lazy::onnx
