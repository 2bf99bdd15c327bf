#include "tests/emulated_cuda/scan.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace emulated {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns the offset after the parenthesis that closes the one at `open`.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

std::string first_word(std::string_view text) {
  size_t start = 0;
  while (start < text.size() && !in_name(text[start])) ++start;
  size_t end = start;
  while (end < text.size() && in_name(text[end])) ++end;
  return std::string(text.substr(start, end - start));
}

/// Returns the names that the declaration of a member gives to pointers. A void* is not followed.
std::vector<std::string> pointers_of(std::string_view member) {
  std::vector<std::string> names;
  std::string type = first_word(member);
  if (type == "const") type = first_word(member.substr(member.find("const") + 5));
  for (size_t star = member.find('*'); star != member.npos && type != "void";
       star = member.find('*', star + 1)) {
    std::string_view rest = member.substr(star + 1);
    std::string name = first_word(rest);
    while (name == "const" || name == "__restrict__") {
      rest = rest.substr(rest.find(name) + name.size());
      name = first_word(rest);
    }
    names.push_back(name);
  }
  return names;
}

/// Returns where a kernel's parameter, as it is declared, has pointers: it is one, or a struct of the text
/// with some.
std::vector<std::string> pointers_in(std::string_view text, std::string_view parameter) {
  if (parameter.find('*') != parameter.npos) return {"0"};
  std::string type, name;  // the last two words
  for (std::string word = first_word(parameter); !word.empty(); word = first_word(parameter)) {
    type = std::exchange(name, word);
    parameter = parameter.substr(parameter.find(word) + word.size());
  }
  const size_t found = text.find("struct " + type + " {");
  if (found == text.npos) return {};
  const size_t end = text.find('}', found);
  std::vector<std::string> offsets;
  for (size_t at = text.find('{', found) + 1; at < end;) {
    const size_t next = std::min(text.find(';', at), end);
    for (const std::string& member : pointers_of(text.substr(at, next - at))) {
      offsets.push_back("__builtin_offsetof(" + type + ", " + member + ")");
    }
    at = next + 1;
  }
  return offsets;
}

}  // namespace

std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    if (text.substr(i, 2) == "//") end = std::min(text.find('\n', i), text.size());
    if (text.substr(i, 2) == "/*") end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string_view comment = text.substr(i, end - i);
    out += ' ';
    out.append(static_cast<size_t>(std::count(comment.begin(), comment.end(), '\n')), '\n');
    i = end;
  }
  return out;
}

std::string with_own_names(std::string text) {
  static constexpr std::string_view kOutside = "extern \"C\" ";
  for (size_t at = text.find(kOutside); at != std::string::npos; at = text.find(kOutside, at)) {
    text.erase(at, kOutside.size());
  }
  return text;
}

std::vector<FoundKernel> find_kernels(std::string_view commented) {
  static constexpr std::string_view kGlobal = "__global__", kBounds = "__launch_bounds__";
  const std::string text = without_comments(commented);
  std::vector<FoundKernel> kernels;
  for (size_t at = text.find(kGlobal); at != std::string::npos; at = text.find(kGlobal, at)) {
    at += kGlobal.size();
    FoundKernel kernel{"", "0", {}};
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
    kernel.pointers = pointers_in(text, std::string_view(text).substr(at, closing(text, at) - at));
    kernels.push_back(kernel);
  }
  return kernels;
}

std::string wrap(std::string_view text, std::string_view name, const std::vector<FoundKernel>& kernels) {
  std::string out = "namespace {\n#line 1 \"" + std::string(name) + "\"\n";
  out += text;
  out += "\n#line 1 \"emulated_cuda\"\n}\nextern \"C\" {\n";
  for (const FoundKernel& k : kernels) {
    out += "static const unsigned " + k.name + "_pointers[] = {";
    for (const std::string& offset : k.pointers) out += offset + ", ";
    out += "~0u};\n";
  }
  out += "static const emulated::Kernel emulated_kernels[] = {\n";
  for (const FoundKernel& k : kernels) {
    const std::string entry = "emulated::Entry<&" + k.name + ">";
    out += "{\"" + k.name + "\", " + entry + "::thread, " + entry + "::kBytes, " + k.launch_bounds + ", " +
           k.name + "_pointers},\n";
  }
  out +=
      "{}};\n__attribute__((visibility(\"default\"))) extern const emulated::Module emulated_module = "
      "{&emulated_state, emulated_kernels, " +
      std::to_string(kernels.size()) + "};\n}\n";
  return out;
}

}  // namespace emulated
