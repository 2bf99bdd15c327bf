// Declares how attention over sequences of any lengths is done with vectors of one width: block by block of
// queries and keys, with exponentials that are corrected as larger scores come up (Milakov and Gimelshein,
// 2018; Dao et al., 2022).
#pragma once
#include <cstdint>

#include "jit/calls/varlen_attention.hpp"

namespace lazy::cpu_backend::varlen {

using jit::calls::VarlenAttention;

// The order of sums goes by these, and by no width and no number of threads.
constexpr int64_t kRowsAtOnce = 48;  // queries of a block; tiles of 4, 6 and 8 rows fill it
constexpr int64_t kKeysAtOnce =
    256;  // keys whose packed keys and values, and scores, fit the second-level cache
constexpr int64_t kMostRows = 480;  // queries that keys are packed for at once

/// Holds a run: what the attention has, and where results go.
template <class T>
struct ForwardWork {
  const VarlenAttention<T>& a;
  T *y, *lse;  // null if nobody reads it
};
template <class T>
struct BackwardWork {
  const VarlenAttention<T>& a;
  const T *y, *lse, *g;
  T *dq, *dk, *dv;  // null if nobody reads it
};

/// Names rows of a sequence and of a head of keys. Row r is of query r / shared, of the head r % shared of
/// those that share the keys.
struct Piece {
  int64_t sequence, group, first, last;
};

/// Does pieces [begin, end).
template <class Work>
using Pieces = void (*)(const Work&, const Piece* begin, const Piece* end);

/// Holds what is compiled for one kind of machine.
struct Level {
  const char* name;
  Pieces<ForwardWork<float>> forward;
  Pieces<ForwardWork<double>> forward_double;
  Pieces<BackwardWork<float>> backward;
  Pieces<BackwardWork<double>> backward_double;
};
extern const Level kAvx2, kAvx512;

}  // namespace lazy::cpu_backend::varlen
