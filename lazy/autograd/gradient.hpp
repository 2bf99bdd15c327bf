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
#include <tuple>
#include <utility>
#include <vector>

#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/structure.hpp"

namespace lazy {

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

class LinearMap;  // linearize.hpp, which has jvp(), too

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
  friend std::pair<Tensor, std::vector<Tensor>> value_and_grad_of(const TensorFunction&,
                                                                  const std::vector<Tensor>&, Site);
  friend std::pair<Tensor, std::vector<Tensor>> hessian_vector(const TensorFunction&,
                                                               const std::vector<Tensor>&,
                                                               const std::vector<Tensor>&, Site);
  friend class LinearMap;
  /// Does what vjp() does; `op` is the function that errors name.
  static Pullback of(const char* op, const TensorFunction& f, const std::vector<Tensor>& x, const Site&);
  /// Returns f(x), of one element, and its gradients; `op` is the function that errors name.
  static std::pair<Tensor, std::vector<Tensor>> with_gradients(const char* op, const TensorFunction& f,
                                                               const std::vector<Tensor>& x, const Site&);
  /// True if nobody but its caller differentiates by what it keeps.
  bool alone() const;
  struct Kept;
  std::shared_ptr<const Kept> kept_;
};

/// Calls f with the tensors and keeps what it records (vjp: vector-Jacobian product). Of complex numbers the
/// gradient of L is dL/d re + i dL/d im, and L the sum of the products of parts. DtypeError unless tensors
/// and value are of floating point or complex. Values that f itself evaluates, or prints, stay in memory as
/// long as the pullback does.
Pullback vjp(const TensorFunction& f, const std::vector<Tensor>& x, Site = Site::current());

/// Returns f(x), which has one element (ShapeError) and is real (DtypeError), and its gradients.
std::pair<Tensor, std::vector<Tensor>> value_and_grad_of(const TensorFunction& f,
                                                         const std::vector<Tensor>& x,
                                                         Site = Site::current());

/// Says which arguments of a function a gradient is by: argnums<0, 2> the first and the third.
template <size_t... I>
struct argnums_t {};
template <size_t... I>
inline constexpr argnums_t<I...> argnums{};

namespace detail {

template <size_t... I>
constexpr argnums_t<I...> argnums_of(std::index_sequence<I...>) {
  return {};
}
/// Returns one gradient as it is, several tensors as an array, several structures as a tuple.
template <class... T>
auto gradients_of(T&&... g) {
  if constexpr (sizeof...(T) == 1) return (std::forward<T>(g), ...);
  else if constexpr ((std::is_same_v<std::decay_t<T>, Tensor> && ...))
    return std::array<Tensor, sizeof...(T)>{std::forward<T>(g)...};
  else return std::tuple<std::decay_t<T>...>(std::forward<T>(g)...);
}

template <class F, size_t... I, class... X>
auto value_and_grad_by(const F& f, argnums_t<I...>, const Site& s, std::tuple<X...> x) {
  static_assert(sizeof...(I) > 0, "a gradient is by the function's arguments");
  static_assert(((I < sizeof...(X)) && ...), "the function has fewer arguments");
  std::vector<Tensor> wanted;
  const auto add = [&](std::vector<Tensor> more) { wanted.insert(wanted.end(), more.begin(), more.end()); };
  (add(tensors_of(std::get<I>(x))), ...);
  const TensorFunction of_list = [&](const std::vector<Tensor>& at) -> Tensor {
    auto all = x;
    auto next = at.begin();
    (replace_tensors(std::get<I>(all), next), ...);
    return std::apply(f, std::as_const(all));
  };
  auto [value, g] = value_and_grad_of(of_list, wanted, s);
  auto next = g.begin();
  (replace_tensors(std::get<I>(x), next), ...);
  return std::pair(std::move(value), gradients_of(std::move(std::get<I>(x))...));
}

}  // namespace detail

/// Returns a function of the same arguments that gives f's value and its gradient, which has the structure
/// of the argument (structure.hpp); of several arguments it is an array, or a tuple where some are no
/// tensors. f returns one element. argnums<...> says by which arguments; the others may be anything.
template <class F, size_t... I>
auto value_and_grad(F f, argnums_t<I...> by, Site s = Site::current()) {
  return [f = std::move(f), by, s](const auto&... x) {
    return detail::value_and_grad_by(f, by, s,
                                     std::tuple<detail::StructureOf<std::decay_t<decltype(x)>>...>(x...));
  };
}
template <class F>
auto value_and_grad(F f, Site s = Site::current()) {
  return [f = std::move(f), s](const auto&... x) {
    return detail::value_and_grad_by(f, detail::argnums_of(std::index_sequence_for<decltype(x)...>()), s,
                                     std::tuple<detail::StructureOf<std::decay_t<decltype(x)>>...>(x...));
  };
}

/// Returns a function that gives f's gradient alone.
template <class F, size_t... I>
auto grad(F f, argnums_t<I...> by, Site s = Site::current()) {
  return [both = value_and_grad(std::move(f), by, s)](const auto&... x) { return both(x...).second; };
}
template <class F>
auto grad(F f, Site s = Site::current()) {
  return [both = value_and_grad(std::move(f), s)](const auto&... x) { return both(x...).second; };
}

/// Returns f(x) and its derivative in the direction of `tangents`, of x's shapes and dtypes (jvp:
/// Jacobian-vector product, forward mode). Gradients go through both to what x and f depend on.
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const std::vector<Tensor>& x,
                              const std::vector<Tensor>& tangents, Site = Site::current());
/// Returns f(x), which has one element, and the product of its second derivative with `v`, for each of x.
/// Gradients go through both likewise.
std::pair<Tensor, std::vector<Tensor>> hessian_vector(const TensorFunction& f, const std::vector<Tensor>& x,
                                                      const std::vector<Tensor>& v, Site = Site::current());

/// Calls f with a structure of tensors (structure.hpp) and keeps what it records: a Pullback whose gradients
/// have that structure.
template <class T>
class StructuredPullback {
 public:
  StructuredPullback(Pullback p, T x) : value(p.value), flat_(std::move(p)), x_(std::move(x)) {}
  T operator()(Arg gradient) const {
    T g = x_;
    const std::vector<Tensor> all = flat_(gradient);
    auto next = all.begin();
    detail::replace_tensors(g, next);
    return g;
  }

  Tensor value;

 private:
  Pullback flat_;
  T x_;
};

namespace detail {

/// Makes a function of a structure one of the structure's tensors. Both must outlive it.
template <class F, class T>
TensorFunction of_tensors(const F& f, const T& x) {
  return [&f, &x](const std::vector<Tensor>& at) -> Tensor {
    T replaced = x;
    auto next = at.begin();
    replace_tensors(replaced, next);
    return f(std::as_const(replaced));
  };
}
template <class F, class T>
concept FunctionOf =
    !std::is_same_v<T, std::vector<Tensor>> && std::is_invocable_r_v<Tensor, const F&, const T&>;

}  // namespace detail

template <class T, detail::FunctionOf<T> F>
StructuredPullback<T> vjp(const F& f, T x, Site s = Site::current()) {
  Pullback p = vjp(detail::of_tensors(f, x), detail::tensors_of(x), s);
  return {std::move(p), std::move(x)};
}
template <class T, detail::FunctionOf<T> F>
std::pair<Tensor, Tensor> jvp(const F& f, T x, T tangents, Site s = Site::current()) {
  return jvp(detail::of_tensors(f, x), detail::tensors_of(x), detail::tensors_of(tangents), s);
}
template <class T, detail::FunctionOf<T> F>
std::pair<Tensor, T> hessian_vector(const F& f, T x, T v, Site s = Site::current()) {
  auto [value, product] =
      hessian_vector(detail::of_tensors(f, x), detail::tensors_of(x), detail::tensors_of(v), s);
  auto next = product.begin();
  detail::replace_tensors(x, next);
  return {std::move(value), std::move(x)};
}

/// Returns what f returns and keeps none of the values it computes on the way: they are computed again when
/// the gradient needs them (Chen et al., 2016). Tensors that f captures are read again then, as they are now.
Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& x, Site = Site::current());
/// Does the same for a function of a tensor or of a structure of tensors. f is copied; a module is not, since
/// gradients go to its own parameters: it has to live until the gradient is computed.
template <class T, detail::FunctionOf<T> F>
Tensor checkpoint(const F& f, T x, Site s = Site::current()) {
  const auto again = [&x](auto keep) -> TensorFunction {
    return [keep, x](const std::vector<Tensor>& at) { return detail::of_tensors(*keep(), x)(at); };
  };
  if constexpr (requires(F & m) { m.parameters(); })
    return checkpoint(again([&f] { return &f; }), detail::tensors_of(x), s);
  else
    return checkpoint(again([own = std::make_shared<const std::decay_t<F>>(f)] { return own.get(); }),
                      detail::tensors_of(x), s);
}

/// Gives a function its own derivative. `backward` is called with the arguments, the value and the gradient
/// of the value, and returns a gradient for each argument, undefined for none.
using BackwardFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& x, const Tensor& value,
                                                           const Tensor& gradient)>;
Tensor custom_function(const TensorFunction& forward, BackwardFunction backward, const std::vector<Tensor>& x,
                       Site = Site::current());

}  // namespace lazy
