// Finds the kernels in a text without parsing it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace emulated {

struct FoundKernel {
  std::string name;
  std::string launch_bounds;          // the expression in __launch_bounds__; "0" where there is none
  std::vector<std::string> pointers;  // expressions of the offsets of pointers in the parameter, except void*
};

/// Returns the text without comments, on the same lines. They say where an expression was written, in the
/// library's kernels: without them the same code is compiled once.
std::string without_comments(std::string_view text);
/// Returns the text with its extern "C" functions in the namespace that is around it.
std::string with_own_names(std::string text);
/// Returns each `__global__ ... name(` of the text, in order.
std::vector<FoundKernel> find_kernels(std::string_view text);
/// Returns what is compiled instead of a text without comments: the text, in a namespace, so that it is
/// invisible outside, then the module's table, of these kernels. `name` is the file that the compiler's
/// messages name.
std::string wrap(std::string_view text, std::string_view name, const std::vector<FoundKernel>&);

}  // namespace emulated
