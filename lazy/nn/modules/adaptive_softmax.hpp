// Classifies into many classes by clusters, those of rare classes from fewer features (Grave et al. 2017).
#pragma once
#include <string>
#include <vector>

#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/linear.hpp"

namespace lazy::nn {

struct AdaptiveSoftmaxOptions {
  double div_value = 4;  // each cluster has features / div_value^number
  bool head_bias = false;
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Returns logarithms of probabilities of classes that are sorted by how frequent they are: those before the
/// first cutoff by one product, each later cluster, from one cutoff to the next, by two. Error unless cutoffs
/// ascend between 1 and n_classes - 1. All clusters are computed for all rows: which rows need one depends on
/// values.
struct AdaptiveLogSoftmaxWithLoss : Module {
  Linear head;
  ModuleList tail;
  std::vector<int64_t> cutoffs;  // the last one is n_classes

  AdaptiveLogSoftmaxWithLoss(IntegerArg in_features, IntegerArg n_classes,
                             const std::vector<int64_t>& cutoffs, const AdaptiveSoftmaxOptions& options = {},
                             Site s = Site::current());
  struct Result {
    Tensor output;  // (N), or () for one row: the logarithm of the target's probability
    Tensor loss;    // (): the mean of -output
  };
  /// Takes x (N, in_features) and integer targets (N), or (in_features) and (). ShapeError for others; a
  /// target out of range throws IndexError when the value is computed.
  Result operator()(Arg x, Arg target) const;
  /// Returns (N, n_classes).
  Tensor log_prob(Arg x) const;
  /// Returns the most probable class of each row.
  Tensor predict(Arg x) const;
  LAZY_MODULE(head, tail)
};

}  // namespace lazy::nn
