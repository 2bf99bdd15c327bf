// A recommendation model (Naumov et al., 2019) with the names of facebookresearch/dlrm.
#pragma once
#include <vector>

#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/embedding.hpp"

namespace lazy::models {

/// Has small tables unless told otherwise.
struct DLRMConfig {
  std::vector<int64_t> tables{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};  // rows of each
  int64_t dimension = 16;                                                       // of their rows
  std::vector<int64_t> bottom{13, 512, 256, 64, 16};  // extents; the last is `dimension`
  std::vector<int64_t> top{512, 256, 1};              // extents of results
};

/// Returns probabilities (N, last of `top`) for numbers (N, first of `bottom`) and ids (N, tables). The
/// products of all pairs of rows, and the bottom's result, go to the top. ShapeError where shapes don't fit.
struct DLRM : nn::Module {
  std::vector<nn::Embedding> emb_l;
  nn::Sequential bot_l, top_l;
  explicit DLRM(const DLRMConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg dense, Arg ids) const;
  LAZY_MODULE(emb_l, bot_l, top_l)
};

}  // namespace lazy::models
