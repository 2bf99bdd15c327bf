// Derivatives of one function at one place, along many directions.
//
//   auto [y, df] = linearize(f, x);  // f is called once
//   Tensor slope = df(v);            // f's derivative at x in the direction v
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "lazy/autograd/gradient.hpp"

namespace lazy {

/// Holds the derivative of a function at some tensors: a linear map.
class LinearMap {
 public:
  /// Returns the derivative in the direction `v`, of the value's shape and dtype. ShapeError or DtypeError
  /// unless it is like the tensors. May be called again.
  Tensor operator()(const std::vector<Tensor>& v, Site = Site::current()) const;

 private:
  friend std::pair<Tensor, LinearMap> linearize(const TensorFunction&, const std::vector<Tensor>&, Site);
  friend std::pair<Tensor, Tensor> jvp(const TensorFunction&, const std::vector<Tensor>&,
                                       const std::vector<Tensor>&, Site);
  /// Does what linearize() does; `op` is the function that errors name.
  static std::pair<Tensor, LinearMap> of(const char* op, const TensorFunction&, const std::vector<Tensor>&,
                                         const Site&);
  struct Kept;
  std::shared_ptr<const Kept> kept_;
};

/// Calls f with the tensors, and returns the value and what its derivative does to directions: that of
/// jvp(), without calling f again. DtypeError unless tensors and value are of floating point or complex.
/// Gradients go through both to what x and f depend on. What f computed on the way stays in memory as long as
/// the map does.
std::pair<Tensor, LinearMap> linearize(const TensorFunction& f, const std::vector<Tensor>& x,
                                       Site = Site::current());

/// Does the same for a function of a tensor or of a structure of tensors (structure.hpp), of which directions
/// are, too.
template <class T>
class StructuredLinearMap {
 public:
  explicit StructuredLinearMap(LinearMap m) : flat_(std::move(m)) {}
  Tensor operator()(T v, Site s = Site::current()) const { return flat_(detail::tensors_of(v), s); }

 private:
  LinearMap flat_;
};
template <class T, detail::FunctionOf<T> F>
std::pair<Tensor, StructuredLinearMap<T>> linearize(const F& f, T x, Site s = Site::current()) {
  auto [value, map] = linearize(detail::of_tensors(f, x), detail::tensors_of(x), s);
  return {std::move(value), StructuredLinearMap<T>(std::move(map))};
}

}  // namespace lazy
