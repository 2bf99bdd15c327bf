#include "lazy/onnx/import/weights.hpp"

#include <optional>
#include <set>

namespace lazy::onnx {
namespace {

class Readers {
 public:
  /// Looks at a graph in which these places have weights, besides its own.
  void look(const Graph& graph, std::map<size_t, size_t> weights) {
    for (const Constant& c : graph.constants)
      if (c.weight != Constant::kNoWeight) weights[c.place] = c.weight;
    for (const Step& step : graph.steps) {
      for (size_t i = 0; i < step.inputs.size(); ++i)
        if (const auto w = weights.find(step.inputs[i]); w != weights.end()) note(w->second, read(step, i));
      for (const auto& [name, inner] : step.graphs) {
        std::map<size_t, size_t> seen;
        for (const Capture& c : inner->captures)
          if (const auto w = weights.find(c.outer); w != weights.end()) seen[c.inner] = w->second;
        look(*inner, std::move(seen));
      }
    }
    for (const size_t place : graph.outputs)
      if (const auto w = weights.find(place); w != weights.end()) note(w->second, {});
  }

  std::map<size_t, Products> found() && {
    for (const size_t weight : others_) products_.erase(weight);
    return std::move(products_);
  }

 private:
  static std::optional<Products> read(const Step& step, size_t input) {
    if (!step.op || input != 1) return {};
    if (step.node.op_type == "MatMul") return Products::inputs_first;
    if (step.node.op_type == "Conv") return Products::outputs_first;
    if (step.node.op_type != "Gemm") return {};
    for (const AttributeProto& a : step.node.attribute)
      if (a.name == "transB" && a.i != 0) return Products::outputs_first;
    return Products::inputs_first;
  }
  void note(size_t weight, std::optional<Products> as) {
    if (!as || products_.try_emplace(weight, *as).first->second != *as) others_.insert(weight);
  }

  std::map<size_t, Products> products_;
  std::set<size_t> others_;  // that are read otherwise
};

}  // namespace

std::map<size_t, Products> weights_of_products(const Graph& graph) {
  Readers readers;
  readers.look(graph, {});
  return std::move(readers).found();
}

}  // namespace lazy::onnx
