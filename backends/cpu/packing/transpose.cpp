#include "backends/cpu/packing/transpose.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "backends/cpu/packing/pack.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
using jit::loop::Stride;
namespace {

// A tile has a cache line of each column, few enough rows for the first-level cache whatever lies between
// them.
constexpr int64_t kTileRows = 16, kTileColumns = 64;
constexpr int64_t kLeastExtent = 8;

/// Copies `rows` by `columns` elements: (i, j) goes from from + i + j `column` to to + i `pitch` + j
/// elements. Few columns are no rows for vectors.
template <class T>
void interleave(const T* from, int64_t column, int64_t rows, int64_t columns, T* to, int64_t pitch) {
  const auto of = [&](const auto count) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < count; ++j) to[i * pitch + j] = from[i + j * column];
  };
  switch (columns) {
    case 2: return of(std::integral_constant<int64_t, 2>());
    case 3: return of(std::integral_constant<int64_t, 3>());
    case 4: return of(std::integral_constant<int64_t, 4>());
    default: return of(columns);
  }
}

/// Lists axes, innermost first.
struct Axes {
  int axis[jit::loop::kMaxAxes] = {};
  int count = 0;
  void push_back(int a) { axis[count++] = a; }
  const int* begin() const { return axis; }
  const int* end() const { return axis + count; }
  bool has(int a) const { return std::find(begin(), end(), a) != end(); }
};

/// Holds a launch: extents, and bytes from one index to the next along each axis.
struct Copy {
  CopyForm form;
  int64_t extent[jit::loop::kMaxAxes], from_step[jit::loop::kMaxAxes], to_step[jit::loop::kMaxAxes];
  const char* from;
  char* to;

  Copy(const uint64_t* args, int packed) : form(CopyForm::unpack(packed)) {
    const ArgLayout at{form.rank, 2, 0};
    const int input = 1 - form.output;
    for (int a = 0; a < form.rank; ++a) {
      extent[a] = static_cast<int64_t>(args[at.extent(a)]);
      from_step[a] = at.stride_bytes(args, input, a, form.stride[a], form.size);
      to_step[a] = a == last() ? form.size : static_cast<int64_t>(args[at.stride(form.output, a)]);
    }
    from = reinterpret_cast<const char*>(args[at.pointer(input)]);
    to = reinterpret_cast<char*>(args[at.pointer(form.output)]);
  }
  int last() const { return form.rank - 1; }

  /// Returns the axes, innermost first, along which the elements read lie without gaps; not the last one.
  Axes run() const {
    Axes axes;
    for (int64_t step = form.size;;) {
      int next = -1;
      for (int a = 0; a < last(); ++a)
        if (extent[a] > 1 && from_step[a] == step) next = a;
      if (next < 0) return axes;
      axes.push_back(next);
      step *= extent[next];
    }
  }
  /// Calls f for each index of the axes but the last one and those of `inner`.
  template <class F>
  void each(const Axes& inner, F&& f) {
    int64_t index[jit::loop::kMaxAxes] = {};
    for (;;) {
      f();
      int a = last() - 1;
      for (; a >= 0; --a) {
        if (inner.has(a)) continue;
        from += from_step[a], to += to_step[a];
        if (++index[a] < extent[a]) break;
        from -= extent[a] * from_step[a], to -= extent[a] * to_step[a];
        index[a] = 0;
      }
      if (a < 0) return;
    }
  }
  PackSource source(int64_t row, int64_t column) const {
    return {from + row * form.size + column * from_step[last()], form.size, from_step[last()],
            form.size == 8 ? DType::float64 : DType::float32};
  }
  ContractionLane lane() const { return form.size == 8 ? ContractionLane::f64 : ContractionLane::f32; }
};

/// Copies a matrix of which one axis lies side by side in what is read, the last one in what is written.
void copy_matrix(const Copy& c, int across) {
  const int64_t rows = c.extent[across], columns = c.extent[c.last()], pitch = c.to_step[across];
  const int size = c.form.size;
  if (columns < kLeastExtent) {
    const int64_t column = c.from_step[c.last()] / size;
    if (size == 8)
      return interleave(reinterpret_cast<const uint64_t*>(c.from), column, rows, columns,
                        reinterpret_cast<uint64_t*>(c.to), pitch / size);
    return interleave(reinterpret_cast<const uint32_t*>(c.from), column, rows, columns,
                      reinterpret_cast<uint32_t*>(c.to), pitch / size);
  }
  for (int64_t i = 0; i < rows; i += kTileRows)
    for (int64_t j = 0; j < columns; j += kTileColumns)
      pack(c.source(i, j), c.lane(), std::min(kTileRows, rows - i), std::min(kTileColumns, columns - j),
           c.to + i * pitch + j * size, pitch);
}

/// Copies likewise where several short axes lie side by side, as a convolution's weights (O, C, K...) do that
/// become (K..., C, O): their rows are transposed in scratch, and each goes to its place.
void copy_runs(const Copy& c, const Axes& run) {
  int64_t rows = 1;
  for (const int a : run) rows *= c.extent[a];
  const int64_t columns = c.extent[c.last()], size = c.form.size;
  alignas(64) char scratch[kTileRows * kTileColumns * 8];
  const auto place = [&](int64_t row) {
    char* to = c.to;
    for (const int a : run) to += row % c.extent[a] * c.to_step[a], row /= c.extent[a];
    return to;
  };
  for (int64_t i = 0; i < rows; i += kTileRows) {
    const int64_t height = std::min(kTileRows, rows - i);
    char* places[kTileRows];
    for (int64_t r = 0; r < height; ++r) places[r] = place(i + r);
    for (int64_t j = 0; j < columns; j += kTileColumns) {
      const int64_t width = std::min(kTileColumns, columns - j), pitch = kTileColumns * size;
      pack(c.source(i, j), c.lane(), height, width, scratch, pitch);
      for (int64_t r = 0; r < height; ++r)
        std::memcpy(places[r] + j * size, scratch + r * pitch, static_cast<size_t>(width * size));
    }
  }
}

}  // namespace

int CopyForm::pack() const {
  int bits = rank | std::countr_zero(static_cast<unsigned>(size)) << 4 | output << 6;
  for (int a = 0; a < rank; ++a) bits |= static_cast<int>(stride[a]) << (7 + 2 * a);
  return bits;
}
CopyForm CopyForm::unpack(int bits) {
  CopyForm f{bits & 15, 1 << (bits >> 4 & 3), bits >> 6 & 1};
  for (int a = 0; a < f.rank; ++a) f.stride[a] = static_cast<Stride>(bits >> (7 + 2 * a) & 3);
  return f;
}

std::optional<CopyForm> copy_form(const jit::loop::LoopKernel& k) {
  if (k.form != jit::loop::Form::map || k.rank < 2 || k.body.size() != 1 || k.stores.size() != 1 ||
      k.operands.size() != 2 || k.body[0].code != jit::loop::Code::load)
    return {};
  const auto &from = k.operands[k.body[0].imm], &to = k.operands[k.stores[0].operand];
  const int last = k.rank - 1;
  CopyForm f{k.rank, static_cast<int>(size_of(from.dtype)), k.stores[0].operand};
  if (f.size < 4 || from.stride[last] != Stride::any || to.stride[last] != Stride::unit) return {};
  for (int a = 0; a < k.rank; ++a) {
    f.stride[a] = from.stride[a];
    if (a != last && to.stride[a] != Stride::any) return {};
  }
  return f;
}

void helper_copy_transposed(const void* args, const void*, void* done, int form) {
  Copy c(static_cast<const uint64_t*>(args), form);
  const bool apart = c.from_step[c.last()] != c.form.size && c.extent[c.last()] > 1;
  const Axes run = apart ? c.run() : Axes();
  int64_t length = 1;
  for (const int a : run) length *= c.extent[a];
  const bool matrix = run.count > 0 && c.extent[run.axis[0]] >= kLeastExtent;
  const bool transposes =
      length >= kLeastExtent && (matrix || (run.count > 1 && c.extent[c.last()] >= kLeastExtent));
  *static_cast<int32_t*>(done) = transposes;
  if (!transposes) return;
  if (matrix) c.each({{run.axis[0]}, 1}, [&] { copy_matrix(c, run.axis[0]); });
  else c.each(run, [&] { copy_runs(c, run); });
}

}  // namespace lazy::cpu_backend
