#include "backends/cpu/packing/transpose.hpp"

#include <algorithm>
#include <bit>

#include "backends/cpu/packing/pack.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
using jit::loop::Stride;
namespace {

// A tile has a cache line of each column, few enough rows for the first-level cache whatever lies between
// them.
constexpr int64_t kTileRows = 16, kTileColumns = 64;
constexpr int64_t kLeastExtent = 8;

/// Copies `rows` by `columns` elements: (i, j) goes from from + i + j `column` to to + i `pitch` + j elements.
/// Few columns are no rows for vectors.
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

void helper_copy_transposed(const void* x, const void*, void* out, int n) {
  const auto* args = static_cast<const uint64_t*>(x);
  const CopyForm f = CopyForm::unpack(n);
  const ArgLayout at{f.rank, 2, 0};
  const int last = f.rank - 1, input = 1 - f.output;
  const auto extent = [&](int a) { return static_cast<int64_t>(args[at.extent(a)]); };
  const auto from_step = [&](int a) { return at.stride_bytes(args, input, a, f.stride[a], f.size); };
  const auto to_step = [&](int a) { return static_cast<int64_t>(args[at.stride(f.output, a)]); };
  int across = -1;
  for (int a = 0; a < last; ++a)
    if (from_step(a) == f.size && extent(a) >= kLeastExtent) across = a;
  const bool transposes = across >= 0 && from_step(last) != f.size;
  *static_cast<int32_t*>(out) = transposes;
  if (!transposes) return;
  const auto lane = f.size == 8 ? ContractionLane::f64 : ContractionLane::f32;
  const DType type = f.size == 8 ? DType::float64 : DType::float32;
  const int64_t rows = extent(across), columns = extent(last), column = from_step(last),
                pitch = to_step(across);
  const auto* from = reinterpret_cast<const char*>(args[at.pointer(input)]);
  auto* to = reinterpret_cast<char*>(args[at.pointer(f.output)]);
  const auto matrix = [&] {
    if (columns >= kLeastExtent) {
      for (int64_t i = 0; i < rows; i += kTileRows)
        for (int64_t j = 0; j < columns; j += kTileColumns)
          lazy::cpu_backend::pack({from + i * f.size + j * column, f.size, column, type}, lane,
                                  std::min(kTileRows, rows - i), std::min(kTileColumns, columns - j),
                                  to + i * pitch + j * f.size, pitch);
    } else if (f.size == 8) {
      interleave(reinterpret_cast<const uint64_t*>(from), column / 8, rows, columns,
                 reinterpret_cast<uint64_t*>(to), pitch / 8);
    } else {
      interleave(reinterpret_cast<const uint32_t*>(from), column / 4, rows, columns,
                 reinterpret_cast<uint32_t*>(to), pitch / 4);
    }
  };
  int64_t index[jit::loop::kMaxAxes] = {};
  for (;;) {
    matrix();
    int a = last - 1;
    for (; a >= 0; --a) {
      if (a == across) continue;
      from += from_step(a), to += to_step(a);
      if (++index[a] < extent(a)) break;
      from -= extent(a) * from_step(a), to -= extent(a) * to_step(a);
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

}  // namespace lazy::cpu_backend
