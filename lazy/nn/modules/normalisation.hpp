// Layers that normalise, as lazy/nn/functional/normalisation.hpp says.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lazy/nn/functional/normalisation.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

struct BatchNormLayerOptions {
  double eps = 1e-5;                     // added to variances
  std::optional<double> momentum = 0.1;  // share of the new statistics; nullopt: running means of all batches
  bool affine = true;                    // with weight and bias
  bool track_running_stats = true;
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};
struct InstanceNormLayerOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // nullopt: 0, as in torch
  bool affine = false;
  bool track_running_stats = false;
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};
struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // with weight and bias
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};
struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};

namespace detail {

/// Holds what layers with running statistics have in common. What is not wanted is undefined.
struct RunningNorm : Module {
  Parameter weight, bias;                                 // (C)
  Tensor running_mean, running_var, num_batches_tracked;  // (C), (C), int64 ()
  int64_t num_features;
  double eps;
  std::optional<double> momentum;
  bool affine, track_running_stats;
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias, running_mean, running_var, num_batches_tracked)

 protected:
  template <class Options>
  RunningNorm(int64_t features, const Options&, const Site&);
  /// True if the batch's statistics count, and not the running ones.
  bool uses_batch() const { return training() || !running_mean.defined(); }
  /// Throws ShapeError unless x has as many channels as the layer.
  void check_channels(const Arg& x) const;
  /// Throws Error: a module that is const can't take running statistics.
  [[noreturn]] void throw_const(const Site&) const;
  /// Takes them, which are computed when what they depend on is.
  void take(const lazy::BatchNormResult&, const Site&);
  /// Counts a batch. The number is known here, so that nothing is read.
  int64_t count(const Site&);
  lazy::BatchNormOptions options(double momentum) const;

 private:
  int64_t counted_ = 0;  // what num_batches_tracked is, if that is still counter_
  Tensor counter_;
};

struct BatchNormBase : RunningNorm {
  /// Normalises a batch in training in the place of batch_norm_training(), whose arguments it takes: with the
  /// statistics of all ranks, say (distributed::sync_batch_norms). Empty: that does.
  std::function<lazy::BatchNormResult(Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                                      const lazy::BatchNormOptions&)>
      normalises_batch;

 protected:
  BatchNormBase(int64_t features, const BatchNormLayerOptions&, const Site&);
  Tensor normalise(Arg x, int axes);
  Tensor normalise(Arg x, int axes) const;
};
struct InstanceNormBase : RunningNorm {
 protected:
  InstanceNormBase(int64_t features, const InstanceNormLayerOptions&, const Site&);
  Tensor normalise(Arg x, int axes);
  Tensor normalise(Arg x, int axes) const;
};

}  // namespace detail

/// Normalises each channel over a batch (N, C, S...) with D spatial axes; 1: (N, C) too. In training running
/// statistics are moved, so that the layer must not be const then (Error).
template <int D>
struct BatchNormNd : detail::BatchNormBase {
  explicit BatchNormNd(IntegerArg num_features, const BatchNormLayerOptions& options = {},
                       Site s = Site::current())
      : BatchNormBase(num_features, options, s) {}
  Tensor operator()(Arg x) { return normalise(std::move(x), D); }
  Tensor forward(Arg x) { return (*this)(std::move(x)); }
  Tensor operator()(Arg x) const { return normalise(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "BatchNorm" + std::to_string(D) + "d"; }
};
using BatchNorm1d = BatchNormNd<1>;
using BatchNorm2d = BatchNormNd<2>;
using BatchNorm3d = BatchNormNd<3>;

/// Normalises each channel of each image (N, C, S...), or of a single one (C, S...), with D spatial axes.
template <int D>
struct InstanceNormNd : detail::InstanceNormBase {
  explicit InstanceNormNd(IntegerArg num_features, const InstanceNormLayerOptions& options = {},
                          Site s = Site::current())
      : InstanceNormBase(num_features, options, s) {}
  Tensor operator()(Arg x) { return normalise(std::move(x), D); }
  Tensor forward(Arg x) { return (*this)(std::move(x)); }
  Tensor operator()(Arg x) const { return normalise(std::move(x), D); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "InstanceNorm" + std::to_string(D) + "d"; }
};
using InstanceNorm1d = InstanceNormNd<1>;
using InstanceNorm2d = InstanceNormNd<2>;
using InstanceNorm3d = InstanceNormNd<3>;

/// Normalises over the last axes, whose extents are `normalized_shape`.
struct LayerNorm : Module {
  Parameter weight, bias;  // of that shape
  Shape normalized_shape;
  double eps;
  explicit LayerNorm(ShapeArg normalized_shape, const LayerNormOptions& options = {},
                     Site s = Site::current());
  // Of {4} alone C++ could make a LayerNorm to be copied, too.
  explicit LayerNorm(std::initializer_list<IntegerArg> normalized_shape, const LayerNormOptions& options = {},
                     Site s = Site::current())
      : LayerNorm(ShapeArg(normalized_shape, s), options, s) {}
  Tensor operator()(Arg x) const { return layer_norm(std::move(x), normalized_shape, weight, bias, eps); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias)
};

/// Normalises groups of channels of (N, C, ...).
struct GroupNorm : Module {
  Parameter weight, bias;  // (C)
  int64_t num_groups, num_channels;
  double eps;
  GroupNorm(IntegerArg num_groups, IntegerArg num_channels, const GroupNormOptions& options = {},
            Site s = Site::current());
  Tensor operator()(Arg x) const { return group_norm(std::move(x), num_groups, weight, bias, eps); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight, bias)
};

struct RMSNormOptions {
  std::optional<double> eps = std::nullopt;  // the dtype's epsilon if not given
  bool elementwise_affine = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
};
/// Divides by the root of the mean of squares over the last axes.
struct RMSNorm : Module {
  Parameter weight;
  Shape normalized_shape;
  std::optional<double> eps;
  explicit RMSNorm(ShapeArg normalized_shape, const RMSNormOptions& options = {}, Site s = Site::current());
  explicit RMSNorm(std::initializer_list<IntegerArg> normalized_shape, const RMSNormOptions& options = {},
                   Site s = Site::current())
      : RMSNorm(ShapeArg(normalized_shape, s), options, s) {}
  Tensor operator()(Arg x) const { return rms_norm(std::move(x), normalized_shape, weight, eps); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight)
};

/// Divides by sums of squares of neighbouring channels.
struct LocalResponseNorm : Module {
  int64_t size;
  double alpha, beta, k;
  explicit LocalResponseNorm(IntegerArg size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : size(size), alpha(alpha), beta(beta), k(k) {}
  Tensor operator()(Arg x) const { return local_response_norm(std::move(x), size, alpha, beta, k); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string extra_repr() const override;
};

LAZY_SHADOWING_END
}  // namespace lazy::nn
