#include "lazy/nn/functional/loss.hpp"

#include <limits>

#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/losses.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy::onnx {
namespace {

ClassOptions class_options(Call& c) {
  const std::string_view reduction = c.text("reduction", "mean");
  return {.weight = c.tensor_or_none(2),
          // No label is the lowest integer: without the attribute all count.
          .ignore_index = c.integer("ignore_index", std::numeric_limits<int64_t>::min()),
          .reduction = reduction == "none"  ? Reduction::none
                       : reduction == "sum" ? Reduction::sum
                                            : Reduction::mean};
}

void negative_log_likelihood_loss_op(Call& c) { c.give(nll_loss(c[0], c[1], class_options(c))); }

void softmax_cross_entropy_loss_op(Call& c) {
  c.give(0, cross_entropy(c[0], c[1], class_options(c)));
  if (c.wants(1)) c.give(1, log_softmax(c[0], 1));
}

const Operator kLosses[] = {
    {"NegativeLogLikelihoodLoss", 12, 21, "ignore_index reduction", negative_log_likelihood_loss_op},
    {"SoftmaxCrossEntropyLoss", 12, 21, "ignore_index reduction", softmax_cross_entropy_loss_op},
};

}  // namespace

std::span<const Operator> loss_operators() { return kLosses; }

}  // namespace lazy::onnx
