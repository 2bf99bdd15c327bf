// Tells attention where tokens stand: rotary embeddings, slopes by distance, windows.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Rotates pairs of x (..., T, E) by their place: pair i by place * base^(-2 i / E) (Su et al., 2021). Pairs
/// are (i, i + E / 2) or, `interleaved`, (2 i, 2 i + 1). `places`, numbers, broadcast to (..., T): (T) of one
/// text, (N, 1, T) of several that have several heads. Computed in x's dtype, 16-bit floats in float32.
/// ShapeError for an odd E; DtypeError for an x of integers.
Tensor rotary_embedding(Arg x, Arg places, double base = 10000, bool interleaved = false);
/// Rotates pair i by place * frequencies[i]: `frequencies` are (E / 2) numbers, as models have them that were
/// trained for shorter texts. ShapeError for another number of them.
Tensor rotary_embedding(Arg x, Arg places, const Tensor& frequencies, bool interleaved = false);
/// Returns the slopes of so many heads, (heads), float32: 2^(-8 i / heads) for i from 1 on, and for a number
/// that is no power of two those of the next smaller one and then every other one of the next larger one
/// (Press et al., 2022). ShapeError for a number that is not positive.
Tensor alibi_slopes(IntegerArg heads, MaybeDevice device = {}, Site s = Site::current());
/// Returns what is added to scores, (heads, queries, keys), float32: -slope |place - key|, the last query
/// standing at the last key.
Tensor alibi(IntegerArg heads, IntegerArg queries, IntegerArg keys, MaybeDevice device = {},
             Site s = Site::current());
/// Returns which keys each query sees, (queries, keys), bool: those less than `window` away from its place
/// and, if `causal`, not behind it; the last query stands at the last key. ShapeError for a window that is
/// not positive.
Tensor window_mask(IntegerArg queries, IntegerArg keys, IntegerArg window, bool causal = true,
                   MaybeDevice device = {}, Site s = Site::current());

}  // namespace lazy
