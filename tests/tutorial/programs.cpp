// Writes the programs of pages, and the headers that pages show: programs FOLDER PAGE...
#include "tests/tutorial/pages.hpp"

namespace {

/// Leaves a file alone that has the text already, so that nothing is compiled again for a changed sentence.
void write(const std::filesystem::path& path, const std::string& text) {
  std::ostringstream there;
  there << std::ifstream(path).rdbuf();
  if (there.str() != text) std::ofstream(path) << text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  for (int i = 2; i < argc; ++i) {
    const tutorial::Page page = tutorial::read_page(argv[i]);
    write(folder / (page.name + ".cpp"), tutorial::program_of(page));
    for (const tutorial::Block& b : page.blocks)
      if (b.kind == "cpp")
        if (const std::string name = tutorial::file_of(b.text); !name.empty()) write(folder / name, b.text);
  }
}
