#include "tests/emulated_cuda/folder.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace emulated {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  pid_t owner = getpid();  // a child of the process leaves it alone

  Folder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "emulated_cuda.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror("emulated_cuda: mkdtemp");
      std::_Exit(2);
    }
    path = name;
  }
};

Folder* made = nullptr;

/// Runs last: static objects' destructors may still use the device.
[[gnu::destructor(101)]] void remove_folder() {
  std::error_code none;
  if (made && getpid() == made->owner) fs::remove_all(made->path, none);
}

}  // namespace

fs::path fresh_path(std::string_view suffix) {
  static const Folder& folder = *(made = new Folder);
  static std::atomic<int> count{0};
  return folder.path / (std::to_string(getpid()) + "." + std::to_string(count++) + std::string(suffix));
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return out.good();
}

}  // namespace emulated
