// Shares the rows of a call that orders them among threads, or where there are few, each row.
#pragma once
#include <algorithm>

#include "backends/cpu/calls/order/row.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/calls/call.hpp"

namespace lazy::cpu_backend::order {

inline int64_t pieces_for(const jit::Meta& x) {
  constexpr int64_t kWorthAThread = 16384;  // elements
  return std::clamp<int64_t>(numel(x.shape) / kWorthAThread, 1, thread_count());
}

/// Returns the bytes of work memory for so many threads.
inline size_t workspace_for(const jit::Meta& x, int64_t pieces) {
  const int64_t length = x.shape.back(), rows = length ? numel(x.shape) / length : 0;
  return rows < pieces ? Workplace::bytes(length, pieces)
                       : static_cast<size_t>(pieces) * Workplace::bytes(length, 1);
}

/// Calls f(row orderer, number of the row) for each row of operand 0. There are elements.
template <class M, class Key, class F>
void each_row_by(const jit::CallRun& r, const Codec& codec, F&& f) {
  const jit::Meta& x = r.operands[0];
  const int64_t length = x.shape.back(), rows = numel(x.shape) / length;
  int64_t pieces = pieces_for(x);  // computed again: there may be more threads by now
  while (workspace_for(x, pieces) > r.workspace_bytes) --pieces;
  if (rows < pieces) {
    Row<M, Key> one(codec, {&r.backend, pieces, r.workspace});
    for (int64_t row = 0; row < rows; ++row) f(one, row);
    return;
  }
  const auto share = [&](int64_t p) {
    char* const memory = r.workspace + static_cast<size_t>(p) * Workplace::bytes(length, 1);
    Row<M, Key> own(codec, {&r.backend, 1, memory});
    for (int64_t row = rows * p / pieces; row < rows * (p + 1) / pieces; ++row) f(own, row);
  };
  if (pieces == 1) share(0);
  else r.backend.for_each(pieces, share);
}

template <class M, class F>
void each_row(const jit::CallRun& r, const Codec& codec, F&& f) {
  if (codec.table->element_bytes == 8) each_row_by<M, uint64_t>(r, codec, f);
  else each_row_by<M, uint32_t>(r, codec, f);
}

}  // namespace lazy::cpu_backend::order
