// Multiplies by weights as torch lays them out, and looks rows of weights up.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns x w^T + bias: x (..., in), w (out, in), bias (out) -> (..., out); w (in) gives (...), then bias is
/// one number. Dtypes promote; 16-bit floats accumulate in float32. A default-constructed Tensor is no bias.
/// ShapeError where the shapes don't fit; DtypeError for bools.
Tensor linear(Arg x, Arg w, const MaybeTensor& bias = {});
/// Returns y_k = sum over i and j of a_i w_kij b_j, + bias_k: a (..., in1), b (..., in2), w (out, in1, in2),
/// bias (out) -> (..., out). Dtypes promote to a floating-point one; leading axes are the same (ShapeError).
Tensor bilinear(Arg a, Arg b, Arg w, const MaybeTensor& bias = {});
/// Returns the rows of weights that integers name: ids (...), weight (rows, width) -> (..., width). Ids out
/// of range, negative ones too, throw IndexError when the value is computed. DtypeError if ids are not
/// integers.
Tensor embedding(Arg ids, Arg weight);
/// Says what embedding_bag() makes of the rows of a bag.
enum class Bag : uint8_t { sum, mean, max };
struct BagOptions {
  Bag mode = Bag::mean;
  Tensor offsets = {};               // (bags), integers, ascending from 0: where each bag of ids (n) begins
  Tensor per_sample_weights = {};    // of the ids' shape: rows are multiplied by them; for Bag::sum only
  bool include_last_offset = false;  // the last offset is the end of the last bag, and begins none
  IntegerArg padding_idx = -1;       // rows of this id don't count; none if it is negative
};
/// Combines the rows of weights (rows, width) that the ids of each bag name: ids (bags, n), or (n) with
/// offsets
/// -> (bags, width); of no rows 0. Dtypes promote to a floating-point one. Ids as of embedding(). ShapeError
/// where shapes don't fit; Error for per_sample_weights in another mode.
Tensor embedding_bag(Arg ids, Arg weight, const BagOptions& options = {});
/// Returns 1 at the class that an integer says and 0 elsewhere: ids (...) -> (..., classes), int64. An id
/// that is no class gives zeros. DtypeError if ids are not integers; ShapeError if `classes` is less than 1.
Tensor one_hot(Arg ids, IntegerArg classes);
/// Takes as many classes as the largest id asks for: it reads the ids, the result's size depends on them.
/// ShapeError for no ids, IndexError for a negative one.
Tensor one_hot(Arg ids);

}  // namespace lazy
