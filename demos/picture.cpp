#include "picture.hpp"

#include <filesystem>

#include "demo.hpp"

namespace demo {

using namespace lazy;

Tensor read_picture(const std::string& path) {
  const Tensor read = read_png(path);
  const Tensor picture = astype(read, float32) / (read.dtype() == uint16 ? 65535 : 255);
  const int64_t height = picture.size(0), width = picture.size(1);
  if (picture.ndim() == 3 && picture.size(2) > 2) return picture(_, _, slice(0, 3));
  const Tensor grey = picture.ndim() == 3 ? picture(_, _, slice(0, 1)) : picture(_, _, newaxis);
  return broadcast_to(grey, {height, width, 3});
}

void make_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw Failure("cannot make the folder " + folder.string() + ": " + error.message());
}

void write_picture(const std::string& path, const Tensor& picture) {
  make_folder_of(path);
  imwrite(path, picture);
}

}  // namespace demo
