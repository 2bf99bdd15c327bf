// Reads the pages of docs/tutorial: each is a program in blocks, with what it prints.
//
//   ```cpp       // NAME.hpp in its first line: that file. #include, using, struct or template: before
//   main(). Else: in main()
//   ```text      what main() prints
//   ```console   lines of a shell, `$ command`, each with what it says
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutorial {

struct Block {
  std::string kind, text;  // cpp, text or console
};

/// Holds what a page says, in its order.
struct Page {
  std::string name;  // "arrays" of 01_arrays.md: the program's
  std::vector<Block> blocks;

  /// Returns the texts of one kind, one after the other.
  std::string all(const std::string& kind) const {
    std::string text;
    for (const Block& b : blocks)
      if (b.kind == kind) text += b.text;
    return text;
  }
};

inline bool begins(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text.starts_with(w); });
}

/// Returns the name in a block's first line, `// NAME.hpp`, or nothing.
inline std::string file_of(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  return first.starts_with("// ") && first.ends_with(".hpp") && first.find(' ', 3) == first.npos
             ? first.substr(3)
             : "";
}

inline Page read_page(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  Page page{path.stem().string().substr(3), {}};
  Block* open = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (open && line == "```") open = nullptr;
    else if (open) open->text += line + '\n';
    else if (line.starts_with("```")) open = &page.blocks.emplace_back(Block{line.substr(3), ""});
  }
  return page;
}

/// Returns the page's program: what stands before main(), and main().
inline std::string program_of(const Page& page) {
  std::string before, body;
  for (const Block& b : page.blocks) {
    if (b.kind != "cpp" || !file_of(b.text).empty()) continue;
    (begins(b.text, {"#include", "using", "struct", "template"}) ? before : body) += b.text + '\n';
  }
  return before + "int main() {\n" + body + "}\n";
}

}  // namespace tutorial
