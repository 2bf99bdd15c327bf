// Compares paths of modules, such as "layer1.0.conv1". Internal to lazy/nn/modules/.
#pragma once
#include <algorithm>
#include <string_view>

namespace lazy::nn {

/// Returns the path of the module that two lie in.
inline std::string_view common_module(std::string_view a, std::string_view b) {
  size_t end = 0;
  for (size_t i = 0;; ++i) {
    const bool a_ends = i >= a.size() || a[i] == '.', b_ends = i >= b.size() || b[i] == '.';
    if (a_ends && b_ends) end = std::min(i, a.size());
    if (i >= a.size() || i >= b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, end);
}
inline std::string_view parent_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}
/// True for the module itself, too.
inline bool is_in(std::string_view path, std::string_view module) {
  return module.empty() ||
         (path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.'));
}

}  // namespace lazy::nn
