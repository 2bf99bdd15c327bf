#include "lazy/onnx/ops/table.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace lazy::onnx {
namespace {

const std::unordered_map<std::string_view, std::vector<const Operator*>>& operators_by_name() {
  static const auto all = [] {
    std::unordered_map<std::string_view, std::vector<const Operator*>> map;
    for (const auto family : all_operators())
      for (const Operator& o : family) map[o.name].push_back(&o);
    return map;
  }();
  return all;
}

}  // namespace

std::span<const std::span<const Operator>> all_operators() {
  static const std::span<const Operator> families[] = {
      elementwise_operators(), activation_operators(), reduction_operators(), shape_operators(),
      indexing_operators(),    creation_operators(),   window_operators(),    normalisation_operators(),
      contraction_operators(), resize_operators(),     recurrent_operators(), quantised_operators(),
      signal_operators(),      detection_operators(),  loss_operators(),      control_operators()};
  return families;
}

const Operator* find_operator(std::string_view name, int64_t version) {
  const auto found = operators_by_name().find(name);
  if (found == operators_by_name().end()) return nullptr;
  for (const Operator* const o : found->second)
    if (o->since <= version && version <= o->until) return o;
  return nullptr;
}

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

bool has_operator(std::string_view name) { return operators_by_name().contains(name); }

}  // namespace lazy::onnx
