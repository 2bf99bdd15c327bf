// Differentiates functions of tensors by reverse mode: the ops that a function records are kept, and from the
// last to the first each one's rule records how its result's gradient goes on to its operands. Gradients are
// recorded as everything else is: nothing runs until a value is needed, and function and gradient are one
// program then. They can be differentiated again.
//
//   auto loss = [&](const Tensor& w) { return mean(square(matmul(x, w) - y)); };
//   auto [value, g] = value_and_grad(loss)(w);
//   w -= 0.1 * g;
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lazy/autograd/backward.hpp"

namespace lazy {

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Holds a function's value at some tensors, and what its derivative there does to gradients.
class Pullback {
 public:
  /// Returns the gradients of sum(value * gradient) by the tensors, of their shapes and dtypes; zeros for one
  /// that the value does not depend on. ShapeError or DtypeError unless `gradient` is like the value. May be
  /// called again.
  std::vector<Tensor> operator()(Arg gradient) const;

  Tensor value;

 private:
  friend Pullback vjp(const TensorFunction&, const std::vector<Tensor>&, Site);
  struct Kept;
  std::shared_ptr<const Kept> kept_;
};

/// Calls f with the tensors and keeps what it records (vjp: vector-Jacobian product). DtypeError unless
/// tensors and value are of floating point. Values that f itself evaluates, or prints, stay in memory as long
/// as the pullback does.
Pullback vjp(const TensorFunction& f, const std::vector<Tensor>& x, Site = Site::current());

/// Returns f(x), which has one element (ShapeError), and its gradients.
std::pair<Tensor, std::vector<Tensor>> value_and_grad_of(const TensorFunction& f,
                                                         const std::vector<Tensor>& x,
                                                         Site = Site::current());

namespace detail {

template <class F, size_t... I>
TensorFunction of_list(const F& f, std::index_sequence<I...>) {
  return [&f](const std::vector<Tensor>& x) -> Tensor { return f(x[I]...); };
}
template <size_t N, size_t... I>
auto first_of(std::vector<Tensor>& g, std::index_sequence<I...>) {
  if constexpr (N == 1) return std::move(g[0]);
  else return std::array<Tensor, N>{std::move(g[I])...};
}

}  // namespace detail

/// Returns a function of the same tensors that gives f's value and its gradient: a Tensor, or of several
/// arguments an array of them. f returns one element.
template <class F>
auto value_and_grad(F f, Site s = Site::current()) {
  return [f = std::move(f), s](const auto&... x) {
    constexpr size_t n = sizeof...(x);
    static_assert(n > 0, "a gradient is by the function's arguments");
    auto [value, g] = value_and_grad_of(detail::of_list(f, std::make_index_sequence<n>()), {Tensor(x)...}, s);
    return std::pair(std::move(value), detail::first_of<n>(g, std::make_index_sequence<n>()));
  };
}

/// Returns a function that gives f's gradient alone.
template <class F>
auto grad(F f, Site s = Site::current()) {
  return [both = value_and_grad(std::move(f), s)](const auto&... x) { return both(x...).second; };
}

/// Returns f(x) and its derivative in the direction of `tangents`, of x's shapes and dtypes (jvp:
/// Jacobian-vector product, forward mode).
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const std::vector<Tensor>& x,
                              const std::vector<Tensor>& tangents, Site = Site::current());
/// Returns f(x), which has one element, and the product of its second derivative with `v`, for each of x.
std::pair<Tensor, std::vector<Tensor>> hessian_vector(const TensorFunction& f, const std::vector<Tensor>& x,
                                                      const std::vector<Tensor>& v, Site = Site::current());

/// Returns what f returns and keeps none of the values it computes on the way: they are computed again when
/// the gradient needs them (Chen et al., 2016). Tensors that f captures are read again then, as they are now.
Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& x, Site = Site::current());

/// Gives a function its own derivative. `backward` is called with the arguments, the value and the gradient
/// of the value, and returns a gradient for each argument, undefined for none.
using BackwardFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& x, const Tensor& value,
                                                           const Tensor& gradient)>;
Tensor custom_function(const TensorFunction& forward, BackwardFunction backward, const std::vector<Tensor>& x,
                       Site = Site::current());

}  // namespace lazy
