#include "backends/cuda/emitter/prelude.hpp"

#include <algorithm>
#include <sstream>

#include "support/error.hpp"

namespace lazy::cuda_backend {

void Prelude::need(std::string_view name) {
  if (has(name)) return;
  const auto& table = prelude_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Snippet& s) { return name == s.name; });
  if (found == table.end()) throw CompileError("CUDA: no device function " + std::string(name));
  std::istringstream needs(found->needs);
  for (std::string other; needs >> other;) need(other);
  have_.insert(std::string(name));
  text_ += found->text;
}

void Prelude::define(const std::string& name, const std::string& text,
                     const std::vector<std::string>& dependencies) {
  if (has(name)) return;
  for (const std::string& d : dependencies) need(d);
  have_.insert(name);
  text_ += text;
}

}  // namespace lazy::cuda_backend
