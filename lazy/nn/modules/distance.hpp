// Distances and similarities as layers.
#pragma once
#include "lazy/nn/functional/distance.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

/// Returns the cosine of the angle between vectors along an axis.
struct CosineSimilarity : Module {
  int64_t dim;
  double eps;
  explicit CosineSimilarity(IntegerArg axis = 1, double eps = 1e-8) : dim(axis), eps(eps) {}
  Tensor operator()(Arg a, Arg b) const { return cosine_similarity(std::move(a), std::move(b), dim, eps); }
};

/// Returns the p-norm of differences of vectors along the last axis.
struct PairwiseDistance : Module {
  double p, eps;
  bool keepdim;
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : p(p), eps(eps), keepdim(keepdim) {}
  Tensor operator()(Arg a, Arg b) const {
    return pairwise_distance(std::move(a), std::move(b), p, eps, keepdim);
  }
};

LAZY_SHADOWING_END
}  // namespace lazy::nn
