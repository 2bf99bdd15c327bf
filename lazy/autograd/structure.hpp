// Goes through the tensors of a structure: a Tensor; tuples, pairs, arrays, vectors, maps and optionals of
// structures; and a struct that lists its own as `auto fields() { return std::tie(w, b); }`.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy::detail {

template <class T>
inline constexpr bool kIsNoStructure = false;

/// Calls f with each Tensor in the structure, the first first.
template <class T, class F>
void each_tensor(T& t, F&& f) {
  if constexpr (std::is_same_v<T, Tensor>) {
    f(t);
  } else if constexpr (requires { t.fields(); }) {
    auto fields = t.fields();
    each_tensor(fields, f);
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [key, value] : t) each_tensor(value, f);
  } else if constexpr (requires { t.begin() != t.end(); }) {
    for (auto& element : t) each_tensor(element, f);
  } else if constexpr (requires { t.has_value(); }) {
    if (t) each_tensor(*t, f);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... element) { (each_tensor(element, f), ...); }, t);
  } else {
    static_assert(
        kIsNoStructure<T>,
        "a gradient is by tensors, or by tuples, arrays, vectors, maps and optionals of them, or by "
        "structs with `auto fields() { return std::tie(...); }`; a module's is by backward()");
  }
}

/// Returns the structure's tensors. Undefined ones in it are left out.
inline std::vector<Tensor> tensors_of(Tensor& t) { return {t}; }
template <class T>
std::vector<Tensor> tensors_of(T& t) {
  std::vector<Tensor> all;
  each_tensor(t, [&](const Tensor& x) {
    if (x.defined()) all.push_back(x);
  });
  return all;
}

/// Puts other tensors in the places of those that tensors_of() returns.
template <class Iterator>
void replace_tensors(Tensor& t, Iterator& next) {
  t = *next++;
}
template <class T, class Iterator>
void replace_tensors(T& t, Iterator& next) {
  each_tensor(t, [&](Tensor& x) {
    if (x.defined()) x = *next++;
  });
}

/// Keeps what is passed for a structure as: the structure, or a Tensor of what converts to one.
template <class T>
using StructureOf = std::conditional_t<std::is_convertible_v<const T&, Tensor>, Tensor, T>;

}  // namespace lazy::detail
