// Exchanges matrices with Eigen 3, without a copy. Not part of lazy/lazy.hpp: include it where Eigen is.
//
//   Eigen::MatrixXf m = ...;
//   Tensor x = lazy::from_eigen(m);                        // shares m's memory: m must outlive x, unchanged
//   Eigen::MatrixXf n = 2 * lazy::to_eigen<float>(x);      // a map of x's memory: x must outlive it
#pragma once
#include <Eigen/Core>
#include <vector>

#include "lazy/ops/creation.hpp"
#include "support/error.hpp"

namespace lazy {

/// Returns a tensor in the memory of a matrix, array, Map, Ref or block of one, row- or column-major, with
/// its strides: [rows, columns], of a vector [size]. Expressions have no memory: eval() them first.
template <class Derived>
Tensor from_eigen(const Eigen::DenseBase<Derived>& x, Site s = Site::current()) {
  static_assert((Derived::Flags & Eigen::DirectAccessBit) != 0,
                "an expression has no memory: eval() it first");
  const Derived& m = x.derived();
  const int64_t inner = m.innerStride(), outer = m.outerStride();
  auto* const data = const_cast<typename Derived::Scalar*>(m.data());  // tensors never write to it
  if constexpr (Derived::IsVectorAtCompileTime)
    return from_blob(data, {m.size()}, std::vector<int64_t>{inner}, {}, {}, s);
  else
    return from_blob(
        data, {m.rows(), m.cols()},
        Derived::IsRowMajor ? std::vector<int64_t>{outer, inner} : std::vector<int64_t>{inner, outer}, {}, {},
        s);
}
/// A temporary's memory would be gone.
template <class Derived>
Tensor from_eigen(Eigen::PlainObjectBase<Derived>&&, Site = {}) = delete;

template <Element T, int Order = Eigen::RowMajor>
using EigenMap = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>, Eigen::Unaligned,
                            Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

/// Returns a map of a matrix, or of a vector as one column, valid while the tensor, unassigned, lives.
/// `Order` is that of the map's type, for functions that take a Ref of that order: the strides fit either.
/// Evaluates, and copies what is not row-major. DtypeError if T is not the C++ type of the dtype; ShapeError
/// for other ranks.
template <Element T, int Order = Eigen::RowMajor>
EigenMap<T, Order> to_eigen(const Tensor& x, Site s = Site::current()) {
  const Shape& shape = x.shape(s);
  if (shape.size() != 1 && shape.size() != 2)
    throw ShapeError("to_eigen: needs one or two dimensions, not " + to_string(shape), s);
  const int64_t columns = shape.size() == 2 ? shape[1] : 1;
  const auto strides = Order == Eigen::RowMajor ? Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(columns, 1)
                                                : Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(1, columns);
  return {x.data<T>(s), shape[0], columns, strides};
}
template <Element T, int Order = Eigen::RowMajor>
EigenMap<T, Order> to_eigen(Tensor&&, Site = {}) = delete;

}  // namespace lazy
