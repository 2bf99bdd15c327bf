// Recognises attentions among kernels that go along the same rows. A device may run one without the matrix of
// scores.
#pragma once
#include <optional>

#include "jit/ir/product.hpp"
#include "jit/ir/rows.hpp"

namespace lazy::jit::loop {

/// Describes an attention: softmax(x) v, where x is a pointwise function of a product, such as q k' / 8 +
/// mask. The members of the FusedRows are, in order:
///   scores    a product; its epilogue stores one value;
///   top       the largest x along the row;
///   weights   e = exp(x - t) and its sum along the row. t is the top or, if that isn't finite, another
///             number (`finite_top`);
///   quotients perhaps: e divided by what the epilogue of `weights` makes of the sum;
///   values    a product whose left side is the weights.
/// Invariant: no value in between is read elsewhere, but for what the last two epilogues store.
/// So a device can go along the row in parts. Each part corrects what the earlier ones have added up by the
/// ratio of exponentials of their tops (Milakov and Gimelshein 2018; Dao et al. 2022).
struct Attention {
  static constexpr size_t kScores = 0, kTop = 1, kWeights = 2;  // indices into FusedRows::members
  size_t last = 3;          // index of the member `values`: 3, or 4 if there are quotients
  bool quotients = false;   // member 3 divides the weights by their sum
  Product scores, values;   // the two products
  bool finite_top = false;  // weights take a number in the top's place where that isn't finite
  int16_t x = 0, top = 0;   // indices into FusedRows::inner: what the weights read, the scores or x; the top
  ValueId largest = 0;      // in member kTop: the value that is reduced
  int16_t divisor = -1;     // index into FusedRows::inner of what the quotients divide by; -1: none
  /// Pairs of arguments, of kTop and of kWeights, that have to be the same at a launch: the weights compute x
  /// again, from operands and scalars of their member. (If they differed, sums would still be right, but for
  /// rows in which no x is larger than -inf.)
  std::vector<std::pair<uint16_t, uint16_t>> same_operands, same_scalars;
  /// In member `hidden_in` (kTop, or kScores where it is part of the product's epilogue): the scalar argument
  /// `hidden` of x = `where(key <= row, ..., hidden)`; -1 if x is not of that form, so that no key is hidden
  /// by its order.
  int hidden = -1;
  size_t hidden_in = kTop;
};
/// Returns the attention that these members are; nothing if they are none, or not of float32 sums.
std::optional<Attention> attention_of(const FusedRows&);

}  // namespace lazy::jit::loop
