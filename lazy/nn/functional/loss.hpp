// Computes losses, by torch.nn.functional's names. Each gives one number for each element, row or label, and
// `reduction` says what becomes of them.
//
// Operands broadcast where nothing else is said and promote to a floating-point dtype (integers to the
// default one); 16-bit floats are computed in float32 and rounded once. A default-constructed Tensor is no
// weight. ShapeError where shapes don't fit; Error for an option out of its range. Labels are read strictly:
// one that is no class, below 0 too, throws IndexError when the value is computed. Values and targets that
// broadcast are told on standard error, once a line of the user's.
#pragma once
#include <functional>

#include "lazy/core/tensor.hpp"
#include "support/shadowing.hpp"

namespace lazy {

LAZY_SHADOWING_BEGIN
/// Says what a loss returns: all its numbers, their mean (of none NaN), their sum, or (kl_div only) their sum
/// divided by the extent of axis 0.
enum class Reduction : uint8_t { none, mean, sum, batchmean };
LAZY_SHADOWING_END

Tensor mse_loss(Arg x, Arg target, Reduction reduction = Reduction::mean);  // (x - target)^2
Tensor l1_loss(Arg x, Arg target, Reduction reduction = Reduction::mean);   // |x - target|
/// Returns d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) elsewhere, d = x - target. Error unless
/// delta > 0.
Tensor huber_loss(Arg x, Arg target, Reduction reduction = Reduction::mean, double delta = 1);
/// Returns d^2 / (2 beta) where |d| < beta, |d| - beta / 2 elsewhere, d = x - target; l1_loss if beta is 0.
/// Error if beta < 0.
Tensor smooth_l1_loss(Arg x, Arg target, Reduction reduction = Reduction::mean, double beta = 1);

/// Returns -weight (target log(x) + (1 - target) log(1 - x)) for probabilities x, the logarithms being at
/// least -100. Error when the value is computed if x or the target is outside of 0 to 1. ShapeError if x and
/// the target differ in shape; the weight broadcasts.
Tensor binary_cross_entropy(Arg x, Arg target, const MaybeTensor& weight = {},
                            Reduction reduction = Reduction::mean);
/// Returns binary_cross_entropy(sigmoid(x), target, weight) without overflow, target's term times pos_weight,
/// which broadcasts.
Tensor binary_cross_entropy_with_logits(Arg x, Arg target, const MaybeTensor& weight = {},
                                        Reduction reduction = Reduction::mean,
                                        const MaybeTensor& pos_weight = {});
/// Returns target (log(target) - x), 0 where target is 0: x has logarithms of probabilities, and so has the
/// target if `log_target`: e^target (target - x).
Tensor kl_div(Arg x, Arg target, Reduction reduction = Reduction::mean, bool log_target = false);
/// Returns e^x - target x, or without `log_input` x - target log(x + eps). `full` adds, where target > 1,
/// Stirling's target log(target) - target + log(2 pi target) / 2.
Tensor poisson_nll_loss(Arg x, Arg target, bool log_input = true, bool full = false, double eps = 1e-8,
                        Reduction reduction = Reduction::mean);
/// Returns (log(v) + (x - target)^2 / v) / 2, v = max(var, eps); `full` adds log(2 pi) / 2. `var` has x's
/// shape, or lacks its last axis, or has extent 1 there. Error unless eps > 0.
Tensor gaussian_nll_loss(Arg x, Arg target, Arg var, bool full = false, double eps = 1e-6,
                         Reduction reduction = Reduction::mean);

/// Returns max(0, margin - target (a - b)); target is 1 where a should be larger, -1 where b should.
Tensor margin_ranking_loss(Arg a, Arg b, Arg target, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// Returns x where target is 1, max(0, margin - x) where it is -1, their sum elsewhere.
Tensor hinge_embedding_loss(Arg x, Arg target, double margin = 1, Reduction reduction = Reduction::mean);
/// Returns 1 - cos(a, b) where target is 1, max(0, cos(a, b) - margin) where it is -1, 0 elsewhere, for
/// vectors along the last axis: a and b (N, n) with a target (N), or (n) with one number.
Tensor cosine_embedding_loss(Arg a, Arg b, Arg target, double margin = 0,
                             Reduction reduction = Reduction::mean);

struct TripletOptions {
  double margin = 1;  // Error if it is negative
  double p = 2;       // of the norm
  double eps = 1e-6;  // added to differences
  bool swap = false;  // compares with the nearer of |anchor - negative| and |positive - negative|
  Reduction reduction = Reduction::mean;
};
/// Returns max(0, |anchor - positive| - |anchor - negative| + margin), vectors being along the last axis.
Tensor triplet_margin_loss(Arg anchor, Arg positive, Arg negative, const TripletOptions& options = {});

/// Returns likewise with a distance of the caller's, which is given two tensors and returns one.
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
Tensor triplet_margin_with_distance_loss(Arg anchor, Arg positive, Arg negative,
                                         const DistanceFunction& distance, double margin = 1,
                                         bool swap = false, Reduction reduction = Reduction::mean);

/// Returns log(1 + e^(-target x)); target is 1 or -1, of x's shape.
Tensor soft_margin_loss(Arg x, Arg target, Reduction reduction = Reduction::mean);
struct MarginOptions {
  IntegerArg p = 1;    // 1 or 2: the power of each class' loss
  double margin = 1;   // by which the label's value is to be above the others
  Tensor weight = {};  // (C): of each class, for its labels; none if default-constructed
  Reduction reduction = Reduction::mean;
};
/// Returns the sum of max(0, margin - x[label] + x[i])^p over the other classes i, divided by C: x (C) or (N,
/// C), integer labels () or (N). A label out of range throws IndexError when the value is computed.
Tensor multi_margin_loss(Arg x, Arg target, const MarginOptions& options = {});
/// Returns the sum of max(0, 1 - (x[j] - x[i])) over labels j and classes i that are none, divided by C: x
/// (C) or (N, C), and of its shape integer labels, of which those before the first negative one count.
Tensor multilabel_margin_loss(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// Returns the mean over the last axis of -weight (target log(sigmoid(x)) + (1 - target) log(sigmoid(-x))),
/// target 0 or 1 for each class, of x's shape.
Tensor multilabel_soft_margin_loss(Arg x, Arg target, const MaybeTensor& weight = {},
                                   Reduction reduction = Reduction::mean);

struct CtcOptions {
  IntegerArg blank = 0;  // the class that stands between labels
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  // 0 in place of an infinite loss: of labels that don't fit the steps
};
/// Returns -log of the probability of labels (connectionist temporal classification, Graves et al. 2006):
/// logarithms of probabilities (T, N, C), labels (N, S), lengths (N) each, of steps and of labels; or (T, C),
/// (S), one length each. The mean divides each loss by the number of labels first. A label out of range
/// throws IndexError when the value is computed. T steps are recorded.
Tensor ctc_loss(Arg log_probs, Arg targets, Arg input_lengths, Arg target_lengths,
                const CtcOptions& options = {});

struct ClassOptions {
  Tensor weight = {};           // (C): of each class; none if default-constructed
  int64_t ignore_index = -100;  // labels of this class don't count
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;  // cross_entropy: 0 to 1, the share of all classes alike in what is expected
};
/// Returns -weight[label] x[label] for logarithms of probabilities x (C), (N, C) or (N, C, ...) and integer
/// labels (), (N) or (N, ...). The mean is the sum divided by the sum of the weights that count. A label
/// other than ignore_index that is no class, below 0 too, throws IndexError when the value is
/// computed.
Tensor nll_loss(Arg x, Arg labels, const ClassOptions& options = {});
/// Returns nll_loss(log_softmax(x), target), or with probabilities as target, of x's shape, the sum over
/// classes of -weight target log_softmax(x), whose mean divides by the number of rows. Without overflow.
/// DtypeError for integers of x's shape.
Tensor cross_entropy(Arg x, Arg target, const ClassOptions& options = {});

}  // namespace lazy
