// Shared by the calls of linear algebra: their operands are matrices, or batches of them, the last two axes.
#pragma once
#include <complex>
#include <initializer_list>
#include <optional>

#include "jit/built_in/linalg/scalars.hpp"
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

/// Holds the attributes of a call of linear algebra. Each call says what its flags mean, but for kOfPlanes.
struct MatrixAttributes {
  uint32_t flags = 0;
};
inline constexpr uint32_t kOfPlanes = 1u << 31;  // operands are planes of complex numbers (planes.hpp)

/// Counts the matrices of an operand or output.
struct Batch {
  int64_t count, rows, columns;
  explicit Batch(const Shape&);
  int64_t size() const { return rows * columns; }
};

/// Throws ShapeError or DtypeError unless there are `count` operands of one dtype, which is float32, float64
/// or the complex ones of these, and of equal leading axes, each a matrix or a batch of them whose extents
/// LAPACK can count; the first square if `square`.
void check_matrices(const CallSpec&, std::span<const Meta>, size_t count, bool square);

/// Describes the outputs of a call for eigenvalues: n numbers of dtype `values` a matrix, and with vectors a
/// matrix of `vectors`.
std::vector<CallOutput> infer_eigen(const CallSpec&, std::span<const Meta>, DType values,
                                    std::optional<DType> vectors);

/// Describes the last axes of an output: an extent, and the axis of an operand that always has it.
struct LastAxis {
  int64_t extent;
  int operand = -1;  // -1: none
  int back = 0;      // counted from the end: 1 is the operand's last axis
};
/// Returns an output that has the leading axes of the first operand, and then these.
CallOutput batched(std::span<const Meta>, DType, std::initializer_list<LastAxis>);

/// Throws Error at the call's line: "solve: matrix [2] of the batch `what`", for matrix `index` of the first
/// operand.
[[noreturn]] void fail_for(const CallRun&, int64_t index, const std::string& what);
/// Throws Error: U has 0 at that place of its diagonal, counted from 1.
[[noreturn]] void fail_singular(const CallRun&, int64_t index, int64_t order);

/// Says which elements of a matrix are read.
enum class Triangle : uint8_t { both, lower, upper };
/// Throws Error for the first matrix of the first operand that has NaN or an infinity there, for which
/// iterations would not end.
void need_finite(const CallRun&, Triangle = Triangle::both);

/// Calls f(T{}) with the element type of the first operand.
template <class F>
void by_dtype(const CallRun& r, F&& f) {
  switch (r.operands[0].dtype) {
    case DType::float32: return f(float{});
    case DType::complex64: return f(std::complex<float>{});
    case DType::complex128: return f(std::complex<double>{});
    default: return f(double{});
  }
}
template <class T>
const T* input(const CallRun& r, int i) {
  return reinterpret_cast<const T*>(r.in[i]);
}
/// Returns where an output begins; null if nobody reads it.
template <class T>
T* output(const CallRun& r, int i) {
  return reinterpret_cast<T*>(r.out[i]);
}

/// Writes the transpose of a row-major matrix. The memories do not overlap.
template <class T, class U>
void transpose(const T* from, int64_t rows, int64_t columns, U* to) {
  constexpr int64_t kTile = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kTile)
    for (int64_t j0 = 0; j0 < columns; j0 += kTile)
      for (int64_t j = j0; j < j0 + kTile && j < columns; ++j)
        for (int64_t i = i0; i < i0 + kTile && i < rows; ++i)
          to[j * rows + i] = static_cast<U>(from[i * columns + j]);
}

}  // namespace lazy::jit::calls
