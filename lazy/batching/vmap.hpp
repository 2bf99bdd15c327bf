// Applies a function of one sample to a batch of them.
//
//   auto distance = [](const Tensor& a, const Tensor& b) { return sqrt(sum(square(a - b))); };
//   Tensor d = vmap(distance)(points, others);                              // row by row
//   Tensor t = vmap(distance, {.in_axes = {0, std::nullopt}})(points, origin);  // each row and one point
//
// The function is called once, whatever the number of samples: what it records of a sample is recorded of all
// of them, in one program. It sees shapes without the batch's axis. Values of samples cannot be asked for in
// it (item(), to_vector(), printing: Error), so no branch may depend on one: where() chooses. If it draws
// random numbers, `randomness` says whether each sample has its own. Derivatives work on both sides of it:
// vmap(grad(f)) gives the gradient of each sample, and gradients go through vmap(f).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/autograd/structure.hpp"

namespace lazy {

/// Says what a function of one sample draws.
enum class Randomness : uint8_t {
  error,      // a draw throws Error
  same,       // all samples have the same numbers
  different,  // sample i of n has row i of what a draw of (n, ...) gives
};

/// Says where batches have the axis of their samples.
struct VmapAxes {
  /// By argument, and negative ones from the end; std::nullopt: the argument is the same for each sample.
  /// Empty: the first axis of each argument.
  std::vector<std::optional<int>> in_axes = {};
  int out_axes = 0;  // of each result
  Randomness randomness = Randomness::error;
};

namespace detail {

/// Follows a function that is called with samples, from its construction to the end of its scope.
class Vmapping {
 public:
  Vmapping(const VmapAxes&, size_t arguments, const Site&);
  ~Vmapping();
  Vmapping(const Vmapping&) = delete;
  /// Returns a sample of argument i.
  Tensor sample(const Tensor& argument, size_t i);
  /// Returns the batch of a result of the function.
  Tensor batch(const Tensor& result);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// Returns a function of batches that applies f to each of their samples, and gives its results as batches.
/// An argument or result of f is a Tensor or a structure of them (a tuple, an array, a vector, a map, or a
/// struct with fields()). ShapeError unless all batches have as many samples; Error if no argument has any.
template <class F>
auto vmap(F f, VmapAxes axes = {}, Site s = Site::current()) {
  return [f = std::move(f), axes = std::move(axes), s](const auto&... x) {
    std::tuple<detail::StructureOf<std::decay_t<decltype(x)>>...> arguments(x...);
    detail::Vmapping mapping(axes, sizeof...(x), s);
    size_t i = 0;
    const auto enter = [&](auto& argument) {
      detail::each_tensor(argument, [&](Tensor& t) {
        if (t.defined()) t = mapping.sample(t, i);
      });
      ++i;
    };
    std::apply([&](auto&... argument) { (enter(argument), ...); }, arguments);
    auto found = std::apply(f, std::as_const(arguments));
    detail::StructureOf<decltype(found)> result(std::move(found));
    detail::each_tensor(result, [&](Tensor& t) {
      if (t.defined()) t = mapping.batch(t);
    });
    return result;
  };
}

}  // namespace lazy
