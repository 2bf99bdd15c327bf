// Declares how the steps of recurrent layers are done with vectors of one width: weights packed once for all
// steps, gates computed on each panel of a step's product while it is in the first-level cache.
#pragma once
#include <algorithm>
#include <cstdint>

#include "backends/cpu/threads/parallel.hpp"
#include "jit/built_in/nn/recurrent_steps.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend::recurrent {

using jit::calls::Recurrence;
using jit::calls::RecurrentKind;

/// Holds the right side of products by panels: all rows of a few vectors of columns, side by side.
template <class T>
struct Panels {
  const T* data = nullptr;
  int64_t depth = 0;    // rows
  int64_t vectors = 0;  // vectors of columns, in all panels
  int64_t most = 1;     // vectors of a panel; the last one may have fewer

  int64_t count() const { return (vectors + most - 1) / most; }
  int64_t width(int64_t panel) const { return std::min(most, vectors - panel * most); }
};

/// Says where a matrix is whose columns are those of several gates: element (k, j) of a gate is at
/// data[gate * gate_step + k * row_step + j * column_step].
template <class T>
struct Source {
  const T* data;
  int64_t depth, gates, columns;  // columns of a gate
  int64_t gate_step, row_step, column_step;
};

/// Packs a matrix: a panel has one vector of each gate or, of one gate, up to `most` vectors.
template <class T>
Panels<T> pack(const Source<T>& from, int64_t lanes, int64_t most, T* to) {
  const int64_t blocks = (from.columns + lanes - 1) / lanes;
  const Panels<T> p{to, from.depth, blocks * from.gates, from.gates > 1 ? from.gates : most};
  for (int64_t panel = 0; panel < p.count(); ++panel)
    for (int64_t v = 0, width = p.width(panel); v < width; ++v) {
      const int64_t vector = panel * p.most + v, j = vector / from.gates * lanes,
                    count = std::min(lanes, from.columns - j);
      const T* const at = from.data + vector % from.gates * from.gate_step + j * from.column_step;
      T* const column = to + panel * p.most * lanes * from.depth + v * lanes;
      for (int64_t k = 0; k < from.depth; ++k) {
        T* const row = column + k * width * lanes;
        for (int64_t l = 0; l < count; ++l) row[l] = at[k * from.row_step + l * from.column_step];
        std::fill(row + count, row + lanes, T{0});
      }
    }
  return p;
}
/// Returns how many elements pack() writes.
template <class T>
int64_t packed_size(const Source<T>& from, int64_t lanes) {
  return round_up(from.columns, lanes) * from.gates * from.depth;
}

/// Holds a run: what the layer has, and its packed weights.
template <class T>
struct Work {
  const Recurrence<T>& r;
  Panels<T> w;    // forward: w transposed, a vector of each gate a panel; backward: w
  Panels<T> w_r;  // likewise; none if outputs are not projected
};

/// Does the steps of sequences [first, last).
template <class T>
using Steps = void (*)(const Work<T>&, int64_t first, int64_t last);

/// Holds what is compiled for one kind of machine.
struct Level {
  const char* name;
  Steps<float> forward, backward;
  Steps<double> forward_double, backward_double;
  int64_t bytes;  // of a vector
};
extern const Level kAvx2, kAvx512;

}  // namespace lazy::cpu_backend::recurrent
