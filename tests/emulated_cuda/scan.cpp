#include "tests/emulated_cuda/scan.hpp"

#include <cctype>

namespace emulated {
namespace {

/// The text with blanks instead of comments.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    size_t end = i;
    if (out[i] == '/' && out[i + 1] == '/') end = std::min(out.find('\n', i), out.size());
    if (out[i] == '/' && out[i + 1] == '*') end = std::min(out.find("*/", i + 2), out.size() - 2) + 2;
    for (; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  }
  return out;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// One past the parenthesis that closes the one at `open`.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

}  // namespace

std::vector<FoundKernel> find_kernels(std::string_view commented) {
  static constexpr std::string_view kGlobal = "__global__", kBounds = "__launch_bounds__";
  const std::string text = without_comments(commented);
  std::vector<FoundKernel> kernels;
  for (size_t at = text.find(kGlobal); at != std::string::npos; at = text.find(kGlobal, at)) {
    at += kGlobal.size();
    FoundKernel kernel{"", "0"};
    std::string word;
    while (at < text.size()) {
      if (in_name(text[at])) {
        const size_t start = at;
        while (at < text.size() && in_name(text[at])) ++at;
        word = text.substr(start, at - start);
      } else if (text[at] == '(') {
        if (word != kBounds) break;
        const size_t end = closing(text, at);
        kernel.launch_bounds = text.substr(at + 1, end - at - 2);
        kernel.launch_bounds.resize(std::min(kernel.launch_bounds.find(','), kernel.launch_bounds.size()));
        at = end;
      } else {
        ++at;
      }
    }
    kernel.name = word;
    kernels.push_back(kernel);
  }
  return kernels;
}

std::string wrap(std::string_view text, std::string_view name, const std::vector<FoundKernel>& kernels) {
  std::string out = "namespace {\n#line 1 \"" + std::string(name) + "\"\n";
  out += text;
  out +=
      "\n#line 1 \"emulated_cuda\"\n}\nextern \"C\" {\nstatic const emulated::Kernel emulated_kernels[] = "
      "{\n";
  for (const FoundKernel& k : kernels) {
    const std::string entry = "emulated::Entry<&" + k.name + ">";
    out += "{\"" + k.name + "\", " + entry + "::thread, " + entry + "::kBytes, " + k.launch_bounds + "},\n";
  }
  out +=
      "{}};\n__attribute__((visibility(\"default\"))) extern const emulated::Module emulated_module = "
      "{&emulated_state, emulated_kernels, " +
      std::to_string(kernels.size()) + "};\n}\n";
  return out;
}

}  // namespace emulated
