// Layers that multiply by weights or change shapes alone.
#pragma once
#include <string>

#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn {

/// Holds what layers of weights have in common. The dtype is the default one unless given, values are drawn
/// from default_generator() unless a generator is.
struct LinearOptions {
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Returns x weight + bias: (..., in) -> (..., out). The weight lies transposed, as in files of GPT-2
/// (Hugging Face's Conv1D).
struct TransposedLinear : Module {
  Parameter weight, bias;  // (in, out) and (out)
  TransposedLinear(const Tensor& w, const Tensor& b, const Site& s) : weight(w, true, s), bias(b, true, s) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  LAZY_MODULE(weight, bias)
};

/// Returns x weight^T + bias: (..., in_features) -> (..., out_features).
struct Linear : Module {
  Parameter weight, bias;  // (out, in) and (out)
  Linear(IntegerArg in_features, IntegerArg out_features, const LinearOptions& options = {},
         Site s = Site::current());
  Tensor operator()(Arg x) const { return linear(std::move(x), weight, bias); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  int64_t in_features() const { return weight.size(1); }
  int64_t out_features() const { return weight.size(0); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias)
};

/// Returns a weight b + bias: (..., in1), (..., in2) -> (..., out).
struct Bilinear : Module {
  Parameter weight, bias;  // (out, in1, in2) and (out)
  Bilinear(IntegerArg in1_features, IntegerArg in2_features, IntegerArg out_features,
           const LinearOptions& options = {}, Site s = Site::current());
  Tensor operator()(Arg a, Arg b) const { return bilinear(std::move(a), std::move(b), weight, bias); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias)
};

/// Returns x.
struct Identity : Module {
  Tensor operator()(Arg x) const { return Tensor(x.take()); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};

/// Makes one axis of the axes from start to end: (N, C, H, W) -> (N, C H W).
struct Flatten : Module {
  int64_t start_dim, end_dim;
  explicit Flatten(IntegerArg start = 1, IntegerArg end = -1) : start_dim(start), end_dim(end) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

/// Splits an axis into axes of these extents, one of which may be -1.
struct Unflatten : Module {
  int64_t dim;
  Shape unflattened_size;
  Unflatten(IntegerArg axis, ShapeArg size) : dim(axis), unflattened_size(size) {}
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

}  // namespace lazy::nn
