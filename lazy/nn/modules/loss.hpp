// Losses as modules, by torch's names; lazy/nn/functional/loss.hpp says what each computes. Weights of
// classes are buffers: they move with the module.
//
//   nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
#pragma once
#include "lazy/nn/functional/loss.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

// These compare two tensors and have no options.
#define LAZY_LOSS(Name, function)                                  \
  struct Name : Module {                                           \
    Reduction reduction;                                           \
    explicit Name(Reduction r = Reduction::mean) : reduction(r) {} \
    Tensor operator()(Arg x, Arg target) const {                   \
      return function(std::move(x), std::move(target), reduction); \
    }                                                              \
  }
LAZY_LOSS(MSELoss, mse_loss);
LAZY_LOSS(L1Loss, l1_loss);
LAZY_LOSS(SoftMarginLoss, soft_margin_loss);
LAZY_LOSS(MultiLabelMarginLoss, multilabel_margin_loss);
#undef LAZY_LOSS

struct HuberLoss : Module {
  Reduction reduction;
  double delta;
  explicit HuberLoss(Reduction r = Reduction::mean, double delta = 1) : reduction(r), delta(delta) {}
  Tensor operator()(Arg x, Arg target) const {
    return huber_loss(std::move(x), std::move(target), reduction, delta);
  }
};
struct SmoothL1Loss : Module {
  Reduction reduction;
  double beta;
  explicit SmoothL1Loss(Reduction r = Reduction::mean, double beta = 1) : reduction(r), beta(beta) {}
  Tensor operator()(Arg x, Arg target) const {
    return smooth_l1_loss(std::move(x), std::move(target), reduction, beta);
  }
};

struct BCELoss : Module {
  Tensor weight;
  Reduction reduction;
  explicit BCELoss(const Tensor& weight = {}, Reduction r = Reduction::mean) : weight(weight), reduction(r) {}
  Tensor operator()(Arg x, Arg target) const {
    return binary_cross_entropy(std::move(x), std::move(target), weight, reduction);
  }
  LAZY_MODULE(weight)
};
struct BCEWithLogitsOptions {
  Tensor weight = {}, pos_weight = {};
  Reduction reduction = Reduction::mean;
};
struct BCEWithLogitsLoss : Module {
  Tensor weight, pos_weight;
  Reduction reduction;
  explicit BCEWithLogitsLoss(const BCEWithLogitsOptions& o = {})
      : weight(o.weight), pos_weight(o.pos_weight), reduction(o.reduction) {}
  Tensor operator()(Arg x, Arg target) const {
    return binary_cross_entropy_with_logits(std::move(x), std::move(target), weight, reduction, pos_weight);
  }
  LAZY_MODULE(weight, pos_weight)
};

struct KLDivLoss : Module {
  Reduction reduction;
  bool log_target;
  explicit KLDivLoss(Reduction r = Reduction::mean, bool log_target = false)
      : reduction(r), log_target(log_target) {}
  Tensor operator()(Arg x, Arg target) const {
    return kl_div(std::move(x), std::move(target), reduction, log_target);
  }
};
struct PoissonNLLLoss : Module {
  bool log_input, full;
  double eps;
  Reduction reduction;
  explicit PoissonNLLLoss(bool log_input = true, bool full = false, double eps = 1e-8,
                          Reduction r = Reduction::mean)
      : log_input(log_input), full(full), eps(eps), reduction(r) {}
  Tensor operator()(Arg x, Arg target) const {
    return poisson_nll_loss(std::move(x), std::move(target), log_input, full, eps, reduction);
  }
};
struct GaussianNLLLoss : Module {
  bool full;
  double eps;
  Reduction reduction;
  explicit GaussianNLLLoss(bool full = false, double eps = 1e-6, Reduction r = Reduction::mean)
      : full(full), eps(eps), reduction(r) {}
  Tensor operator()(Arg x, Arg target, Arg var) const {
    return gaussian_nll_loss(std::move(x), std::move(target), std::move(var), full, eps, reduction);
  }
};

struct MarginRankingLoss : Module {
  double margin;
  Reduction reduction;
  explicit MarginRankingLoss(double margin = 0, Reduction r = Reduction::mean)
      : margin(margin), reduction(r) {}
  Tensor operator()(Arg a, Arg b, Arg target) const {
    return margin_ranking_loss(std::move(a), std::move(b), std::move(target), margin, reduction);
  }
};
struct HingeEmbeddingLoss : Module {
  double margin;
  Reduction reduction;
  explicit HingeEmbeddingLoss(double margin = 1, Reduction r = Reduction::mean)
      : margin(margin), reduction(r) {}
  Tensor operator()(Arg x, Arg target) const {
    return hinge_embedding_loss(std::move(x), std::move(target), margin, reduction);
  }
};
struct CosineEmbeddingLoss : Module {
  double margin;
  Reduction reduction;
  explicit CosineEmbeddingLoss(double margin = 0, Reduction r = Reduction::mean)
      : margin(margin), reduction(r) {}
  Tensor operator()(Arg a, Arg b, Arg target) const {
    return cosine_embedding_loss(std::move(a), std::move(b), std::move(target), margin, reduction);
  }
};
struct TripletMarginLoss : Module {
  TripletOptions options;
  explicit TripletMarginLoss(const TripletOptions& o = {}) : options(o) {}
  Tensor operator()(Arg anchor, Arg positive, Arg negative) const {
    return triplet_margin_loss(std::move(anchor), std::move(positive), std::move(negative), options);
  }
};
struct TripletMarginWithDistanceLoss : Module {
  DistanceFunction distance_function;
  double margin;
  bool swap;
  Reduction reduction;
  explicit TripletMarginWithDistanceLoss(DistanceFunction distance, double margin = 1, bool swap = false,
                                         Reduction r = Reduction::mean)
      : distance_function(std::move(distance)), margin(margin), swap(swap), reduction(r) {}
  Tensor operator()(Arg anchor, Arg positive, Arg negative) const {
    return triplet_margin_with_distance_loss(std::move(anchor), std::move(positive), std::move(negative),
                                             distance_function, margin, swap, reduction);
  }
};

struct MultiMarginLoss : Module {
  Tensor weight;  // (C)
  int64_t p;
  double margin;
  Reduction reduction;
  explicit MultiMarginLoss(const MarginOptions& o = {})
      : weight(o.weight), p(o.p), margin(o.margin), reduction(o.reduction) {}
  Tensor operator()(Arg x, Arg target) const {
    return multi_margin_loss(std::move(x), std::move(target),
                             {.p = p, .margin = margin, .weight = weight, .reduction = reduction});
  }
  LAZY_MODULE(weight)
};
struct MultiLabelSoftMarginLoss : Module {
  Tensor weight;
  Reduction reduction;
  explicit MultiLabelSoftMarginLoss(const Tensor& weight = {}, Reduction r = Reduction::mean)
      : weight(weight), reduction(r) {}
  Tensor operator()(Arg x, Arg target) const {
    return multilabel_soft_margin_loss(std::move(x), std::move(target), weight, reduction);
  }
  LAZY_MODULE(weight)
};

struct CTCLoss : Module {
  CtcOptions options;
  explicit CTCLoss(const CtcOptions& o = {}) : options(o) {}
  Tensor operator()(Arg log_probs, Arg targets, Arg input_lengths, Arg target_lengths) const {
    return ctc_loss(std::move(log_probs), std::move(targets), std::move(input_lengths),
                    std::move(target_lengths), options);
  }
};

// These judge scores of classes.
#define LAZY_LOSS(Name, function)                                                                     \
  struct Name : Module {                                                                              \
    Tensor weight; /* (C) */                                                                          \
    ClassOptions options;                                                                             \
    explicit Name(const ClassOptions& o = {}) : weight(o.weight), options(o) { options.weight = {}; } \
    Tensor operator()(Arg x, Arg target) const {                                                      \
      ClassOptions o = options;                                                                       \
      o.weight = weight;                                                                              \
      return function(std::move(x), std::move(target), o);                                            \
    }                                                                                                 \
    LAZY_MODULE(weight)                                                                               \
  }
LAZY_LOSS(NLLLoss, nll_loss);
LAZY_LOSS(CrossEntropyLoss, cross_entropy);
#undef LAZY_LOSS

LAZY_SHADOWING_END
}  // namespace lazy::nn
