// Holds small device functions that generated source calls. Only those that a kernel needs are in its text,
// each after what it calls itself: a compilation takes time for every line.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lazy::cuda_backend {

class Prelude {
 public:
  /// Adds `name`, of the table in prelude_table.cpp, which the kernel calls; a name that isn't there throws
  /// CompileError.
  void need(std::string_view name);
  /// Adds a function written for the kernel, which calls it: `text`, which calls `dependencies`.
  void define(const std::string& name, const std::string& text, const std::vector<std::string>& dependencies);
  bool has(std::string_view name) const { return have_.count(std::string(name)) > 0; }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> have_;
  std::string text_;
};

/// Holds one entry of the table: its text, and the entries that must come before it.
struct Snippet {
  std::string name;
  std::string needs;  // names, apart by spaces
  std::string text;
};
const std::vector<Snippet>& prelude_table();
/// Begins text that uses tensor cores, and functions of the prelude for them.
inline constexpr const char* kIfTensorCores = "#if defined(LAZY_EMULATED) || __CUDA_ARCH__ >= 800";
/// Returns the entries of prelude_tensor_cores.cpp, which are part of the table.
std::vector<Snippet> tensor_core_snippets();

}  // namespace lazy::cuda_backend
