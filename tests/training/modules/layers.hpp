// The layers of tests/golden/modules.txt, by the names of its cases.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"

namespace layers {

/// Holds a module and how it is called with some tensors; in evaluation while it is const.
struct Layer {
  std::shared_ptr<lazy::nn::Module> module;
  std::function<lazy::Tensor(const std::vector<lazy::Tensor>&, bool train)> call;
};
using Builders = std::map<std::string, std::function<Layer()>>;

template <class M, size_t... I>
bool call_with(M& m, const std::vector<lazy::Tensor>& x, lazy::Tensor& y, std::index_sequence<I...>) {
  if constexpr (std::is_invocable_v<M&, decltype(x[I])...>) {
    y = m(x[I]...);
    return true;
  } else {
    return false;
  }
}

template <class M>
lazy::Tensor call(M& m, const std::vector<lazy::Tensor>& x) {
  lazy::Tensor y;
  const bool called = x.size() == 1   ? call_with(m, x, y, std::make_index_sequence<1>())
                      : x.size() == 2 ? call_with(m, x, y, std::make_index_sequence<2>())
                      : x.size() == 3 ? call_with(m, x, y, std::make_index_sequence<3>())
                                      : call_with(m, x, y, std::make_index_sequence<4>());
  if (!called) throw lazy::Error("the layer takes another number of tensors");
  return y;
}

template <class M>
Layer layer(M module) {
  const auto m = std::make_shared<M>(std::move(module));
  return {m, [m](const std::vector<lazy::Tensor>& x, bool train) {
            return train ? call(*m, x) : call(std::as_const(*m), x);
          }};
}

void add_weighted(Builders&);     // layers with parameters
void add_elementwise(Builders&);  // activations, dropout, losses
void add_spatial(Builders&);      // pools, padding, images

inline const Builders& builders() {
  static const Builders all = [] {
    Builders b;
    add_weighted(b);
    add_elementwise(b);
    add_spatial(b);
    return b;
  }();
  return all;
}

}  // namespace layers

/// Adds a layer under a name.
#define LAYER(name, ...) b[name] = [] { return layers::layer(__VA_ARGS__); }
