// Makes a batch of examples: what is one value in an example is a tensor with a first axis of examples in the
// batch. Nothing is recorded.
#pragma once
#include <array>
#include <tuple>
#include <utility>

#include "lazy/data/dataset.hpp"

namespace lazy::data {

/// A batch of Examples. y is undefined where the examples have none.
struct Batch {
  Tensor x, y;
};

/// Returns the batch of a list of examples, at least one: of Array and Tensor (which is evaluated) a Tensor,
/// of numbers a Tensor [n], of vectors and arrays of numbers a Tensor [n, length], of Example a Batch, of
/// pairs and tuples one of batches. ShapeError or DtypeError where examples differ.
inline Tensor collate(std::span<const Array> list, Site s = Site::current()) { return stack(list, s); }
Tensor collate(std::span<const Tensor> list, Site s = Site::current());
Batch collate(std::span<const Example> list, Site s = Site::current());
template <ScalarType T>
Tensor collate(std::span<const T> list, Site s = Site::current()) {
  return collate(std::span<const Array>(std::vector<Array>(list.begin(), list.end())), s);
}
template <Element T>
requires(!std::same_as<T, bool>) Tensor
    collate(std::span<const std::vector<T>> list, Site s = Site::current()) {
  return collate(std::span<const Array>(std::vector<Array>(list.begin(), list.end())), s);
}
template <Element T, size_t N>
Tensor collate(std::span<const std::array<T, N>> list, Site s = Site::current()) {
  std::vector<Array> all;
  for (const auto& a : list) all.emplace_back(std::vector<T>(a.begin(), a.end()), s);
  return collate(std::span<const Array>(all), s);
}
template <class A, class B>
auto collate(std::span<const std::pair<A, B>> list, Site s = Site::current());
template <class... T>
auto collate(std::span<const std::tuple<T...>> list, Site s = Site::current());

namespace detail {
/// Returns the batch of what `member` gives of each example.
template <class E, class F>
auto collate_member(std::span<const E> list, F&& member, const Site& s) {
  using Value = std::decay_t<decltype(member(list[0]))>;
  std::vector<std::conditional_t<std::is_same_v<Value, bool>, Array, Value>> values;  // no std::vector<bool>
  values.reserve(list.size());
  for (const E& e : list) values.push_back(member(e));
  return collate(std::span<const typename decltype(values)::value_type>(values), s);
}
}  // namespace detail

template <class A, class B>
auto collate(std::span<const std::pair<A, B>> list, Site s) {
  return std::pair(detail::collate_member(
                       list, [](const auto& e) -> const A& { return e.first; }, s),
                   detail::collate_member(
                       list, [](const auto& e) -> const B& { return e.second; }, s));
}
template <class... T>
auto collate(std::span<const std::tuple<T...>> list, Site s) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::tuple(detail::collate_member(
        list, [](const auto& e) -> const auto& { return std::get<I>(e); }, s)...);
  }
  (std::index_sequence_for<T...>());
}

/// Is what a DataLoader makes batches by, unless it is given a function of its own.
struct DefaultCollate {
  template <class E>
  auto operator()(const std::vector<E>& examples) const {
    if constexpr (std::is_same_v<E, bool>)
      return stack(std::vector<Array>(examples.begin(), examples.end()), Site());
    else return collate(std::span<const E>(examples), Site());
  }
};

}  // namespace lazy::data
