// Activations as layers: functions of lazy/nn/functional/activation.hpp and lazy/ops/elementwise.hpp with
// their options.
#pragma once
#include <string>

#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/dropout.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/random/generator.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

#define LAZY_ACTIVATION(Layer, function)                                    \
  struct Layer : Module {                                                   \
    Tensor operator()(Arg x) const { return lazy::function(std::move(x)); } \
    Tensor forward(Arg x) const { return (*this)(std::move(x)); }           \
  }
LAZY_ACTIVATION(ReLU, relu);
LAZY_ACTIVATION(ReLU6, relu6);
LAZY_ACTIVATION(SELU, selu);
LAZY_ACTIVATION(SiLU, silu);
LAZY_ACTIVATION(Mish, mish);
LAZY_ACTIVATION(Softsign, softsign);
LAZY_ACTIVATION(Sigmoid, sigmoid);
LAZY_ACTIVATION(LogSigmoid, logsigmoid);
LAZY_ACTIVATION(Tanh, tanh);
LAZY_ACTIVATION(Tanhshrink, tanhshrink);
LAZY_ACTIVATION(Hardsigmoid, hardsigmoid);
LAZY_ACTIVATION(Hardswish, hardswish);
#undef LAZY_ACTIVATION

// These have one option.
#define LAZY_ACTIVATION(Layer, function, option, ...)                               \
  struct Layer : Module {                                                           \
    double option;                                                                  \
    explicit Layer(double option __VA_OPT__(=) __VA_ARGS__) : option(option) {}     \
    Tensor operator()(Arg x) const { return lazy::function(std::move(x), option); } \
    Tensor forward(Arg x) const { return (*this)(std::move(x)); }                   \
    std::string extra_repr() const override;                                        \
  }
LAZY_ACTIVATION(LeakyReLU, leaky_relu, negative_slope, 0.01);
LAZY_ACTIVATION(ELU, elu, alpha, 1);
LAZY_ACTIVATION(CELU, celu, alpha, 1);
LAZY_ACTIVATION(Softshrink, softshrink, lambda, 0.5);
LAZY_ACTIVATION(Hardshrink, hardshrink, lambda, 0.5);
#undef LAZY_ACTIVATION

// Along an axis.
#define LAZY_ACTIVATION(Layer, function, ...)                                        \
  struct Layer : Module {                                                            \
    int64_t dim;                                                                     \
    explicit Layer(IntegerArg axis __VA_OPT__(=) __VA_ARGS__) : dim(axis) {}         \
    Tensor operator()(Arg x) const { return lazy::function(std::move(x), dim); }     \
    Tensor forward(Arg x) const { return (*this)(std::move(x)); }                    \
    std::string extra_repr() const override { return "dim=" + std::to_string(dim); } \
  }
LAZY_ACTIVATION(Softmax, softmax);
LAZY_ACTIVATION(Softmin, softmin);
LAZY_ACTIVATION(LogSoftmax, log_softmax);
LAZY_ACTIVATION(GLU, glu, -1);
#undef LAZY_ACTIVATION

/// Returns softmax over the channels of images (N, C, H, W) or (C, H, W). ShapeError for other ranks.
struct Softmax2d : Module {
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};

struct GELU : Module {
  Approximate approximate;
  explicit GELU(Approximate how = Approximate::none) : approximate(how) {}
  Tensor operator()(Arg x) const { return gelu(std::move(x), approximate); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

struct Softplus : Module {
  double beta, threshold;
  explicit Softplus(double beta = 1, double threshold = 20) : beta(beta), threshold(threshold) {}
  Tensor operator()(Arg x) const { return softplus(std::move(x), beta, threshold); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

struct Hardtanh : Module {
  double min_val, max_val;
  explicit Hardtanh(double min_val = -1, double max_val = 1) : min_val(min_val), max_val(max_val) {}
  Tensor operator()(Arg x) const { return hardtanh(std::move(x), min_val, max_val); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

struct Threshold : Module {
  double threshold, value;
  Threshold(double threshold, double value) : threshold(threshold), value(value) {}
  Tensor operator()(Arg x) const { return lazy::threshold(std::move(x), threshold, value); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

struct PReLUOptions {
  double init = 0.25;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};
/// Returns x where x > 0, weight x elsewhere; one weight, or one for each channel.
struct PReLU : Module {
  Parameter weight;
  explicit PReLU(IntegerArg num_parameters = 1, const PReLUOptions& options = {}, Site s = Site::current());
  Tensor operator()(Arg x) const { return prelu(std::move(x), Arg(weight, x.site())); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight)
};

/// Draws slopes in training.
struct RReLU : Module {
  double lower, upper;
  Generator* generator;  // where they come from; null: default_generator()
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3, Generator* g = nullptr)
      : lower(lower), upper(upper), generator(g) {}
  Tensor operator()(Arg x) const {
    return rrelu(generator ? *generator : default_generator(), std::move(x), lower, upper, training());
  }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

LAZY_SHADOWING_END
}  // namespace lazy::nn
