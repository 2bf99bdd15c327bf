// Declares how attention over sequences of any lengths is done with vectors of one width: block by block of
// queries and keys, with exponentials that are corrected as larger scores come up (Milakov and Gimelshein,
// 2018; Dao et al., 2022).
#pragma once
#include <cstdint>

#include "jit/built_in/nn/varlen_attention.hpp"

namespace lazy::cpu_backend::varlen {

using jit::calls::VarlenAttention;

// The order of sums goes by these, and by no width and no number of threads.
constexpr int64_t kRowsAtOnce = 48;  // queries of a block; tiles of 4, 6 and 8 rows fill it
constexpr int64_t kKeysAtOnce =
    256;                         // keys whose packed keys and values, and scores, fit the second-level cache
constexpr int64_t kFewRows = 8;  // of a sequence whose keys are not packed, but read where they are
constexpr int64_t kKeysOfSplit = 512;  // of such a sequence, that are done by themselves
constexpr int64_t kMostRows = 480;     // queries that keys are packed for at once

/// True if keys of the sequence are read as they lie, for few queries.
template <class T>
bool few_rows_of(const VarlenAttention<T>& a, int64_t sequence) {
  return a.queries(sequence) * a.shared() <= kFewRows;
}

/// Holds a run: what the attention has, and where results go.
template <class T>
struct ForwardWork {
  const VarlenAttention<T>& a;
  T *y, *lse;  // null if nobody reads it
  T* parts;    // what splits leave: of each row the top, the total and the sums
};
template <class T>
struct BackwardWork {
  const VarlenAttention<T>& a;
  const T *y, *lse, *g;
  T *dq, *dk, *dv;  // zeros, null if nobody reads it
};

/// Names rows of a sequence and of heads of keys. Row r is of query r / shared, of the head r % shared of
/// those that share the keys. Several heads of keys go together where all rows do.
struct Piece {
  int64_t sequence, group, first, last;
  int64_t groups = 1;
  int64_t first_key = 0, end_key = INT64_MAX;
  int64_t part = -1;  // rows of `parts` before those that it leaves; -1 if it leaves results
};

/// Does pieces [begin, end).
template <class Work>
using Pieces = void (*)(const Work&, const Piece* begin, const Piece* end);

/// Holds what is compiled for one kind of machine.
struct Level {
  const char* name;
  Pieces<ForwardWork<float>> forward;
  Pieces<ForwardWork<double>> forward_double;
  Pieces<ForwardWork<float>> join;  // makes results of what splits of the same rows left
  Pieces<ForwardWork<double>> join_double;
  Pieces<BackwardWork<float>> backward;
  Pieces<BackwardWork<double>> backward_double;
};
extern const Level kAvx2, kAvx512;

}  // namespace lazy::cpu_backend::varlen
