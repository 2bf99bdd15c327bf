// Attentions among kernels that go along the same rows: what a device may run without the matrix of scores.
#pragma once
#include <optional>

#include "jit/ir/product.hpp"
#include "jit/ir/rows.hpp"

namespace lazy::jit::loop {

/// softmax(left right + ...) right': members of FusedRows that are
///   scores: a product, its epilogue stores one value;
///   top: the largest of a pointwise function x of the scores along the row;
///   weights: e = exp(x - t), and their sum along the row, where t is the largest or, if that isn't finite, a
///     number in its place (`finite_top`);
///   perhaps quotients: e divided by what the epilogue of `weights` makes of the sum;
///   values: a product whose left side are the weights.
/// None of the values in between is needed elsewhere, but what the last two epilogues store. So the row can
/// be gone along in parts, each of which corrects what the earlier ones have added up by the ratio of
/// exponentials of their tops (Milakov and Gimelshein 2018; Dao et al. 2022).
struct Attention {
  static constexpr size_t kScores = 0, kTop = 1, kWeights = 2;  // members
  size_t last = 3;                                              // member: values
  bool quotients = false;                                       // member 3
  Product scores, values;
  bool finite_top = false;
  int16_t x = 0, top = 0;  // inner values
  ValueId largest = 0;     // of member kTop: the value that is reduced
  int16_t divisor = -1;    // inner value
  /// The weights are made of x again, not of what was kept of it: arguments of kTop and of kWeights that must
  /// then be the same. (Without it, whatever those are would be summed up right, but for rows of whose x
  /// nothing is larger than -inf.)
  std::vector<std::pair<uint16_t, uint16_t>> same_operands, same_scalars;
  /// Of member kTop: x is `where(key <= row, ..., hidden)`, hidden being this scalar argument; -1: it isn't.
  int hidden = -1;
};
/// Nothing if they are no attention of float32 sums.
std::optional<Attention> attention_of(const FusedRows&);

}  // namespace lazy::jit::loop
