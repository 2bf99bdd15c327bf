#include "png.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "demo.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

namespace demo {

using namespace lazy;

Tensor read_png(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Failure("cannot read " + path + ": it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure("cannot read " + path + ": " + std::strerror(errno));
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!std::string_view(bytes.data(), bytes.size()).starts_with("\x89PNG"))
    throw Failure("cannot read " + path + ": not a PNG file");
  int width = 0, height = 0, channels = 0;
  unsigned char* pixels =
      stbi_load_from_memory(reinterpret_cast<const unsigned char*>(bytes.data()),
                            static_cast<int>(bytes.size()), &width, &height, &channels, 3);
  if (!pixels) throw Failure("cannot read " + path + ": " + stbi_failure_reason());
  // The tensor shares the pixels; they are freed when nothing refers to them any more.
  const Tensor picture =
      from_blob(pixels, {height, width, 3}, uint8, {}, [](void* p) { stbi_image_free(p); });
  return astype(picture, float32) / 255;
}

void write_png(const std::string& path, const Tensor& picture) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw Failure("cannot make the folder " + folder.string() + ": " + error.message());
  const auto bytes = astype(clip(picture, 0, 1) * 255 + 0.5, uint8).to_vector<uint8_t>();
  const int channels = picture.ndim() == 2 ? 1 : 3;
  const int height = static_cast<int>(picture.shape()[0]), width = static_cast<int>(picture.shape()[1]);
  if (!stbi_write_png(path.c_str(), width, height, channels, bytes.data(), width * channels)) {
    throw Failure("cannot write " + path);
  }
}

}  // namespace demo
