#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lazy/data/files.hpp"
#include "lazy/io/image.hpp"
#include "lazy/io/image_bytes.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace lazy::data {
namespace {

namespace fs = std::filesystem;

std::string ending_of(const fs::path& p) { return text::lower_case(p.extension().string()); }

bool is_picture(const fs::path& p) {
  constexpr const char* kEndings[] = {".png", ".jpg", ".jpeg", ".ppm", ".pgm"};
  const std::string e = ending_of(p);
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](const char* k) { return e == k; });
}

std::vector<fs::path> sorted(const fs::path& folder, bool folders, const Site& s) {
  std::vector<fs::path> all;
  std::vector<std::string> names;
  if (!files::names_in(AT_FDCWD, folder.c_str(), names))
    throw IoError("ImageFolder: cannot read " + folder.string() + ": " + std::strerror(errno), s);
  for (const std::string& name : names) {
    const fs::path at = folder / name;
    std::error_code ignored;
    if (folders ? fs::is_directory(at, ignored) : fs::is_regular_file(at, ignored) && is_picture(at))
      all.push_back(at);
  }
  std::sort(all.begin(), all.end());
  return all;
}

Tensor read_picture(const std::string& path) {
  const std::string e = ending_of(path);
  if (e == ".png") return read_png(path, {}, Site());
  if (e == ".jpg" || e == ".jpeg") return read_jpeg(path, {}, Site());
  return read_pnm(path, {}, Site());
}

/// Returns a pixel's brightness, rounded.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

}  // namespace

ImageFolder::ImageFolder(const std::string& folder, int channels, Site s) : channels_(channels) {
  if (channels != 1 && channels != 3)
    throw ShapeError("ImageFolder: pictures have 1 or 3 channels, not " + std::to_string(channels), s);
  for (const fs::path& in : sorted(folder, true, s)) {
    for (const fs::path& p : sorted(in, false, s))
      files_.push_back({p.string(), static_cast<int64_t>(classes_.size())});
    classes_.push_back(in.filename().string());
  }
  if (files_.empty()) throw IoError("ImageFolder: " + folder + " has no folders with pictures", s);
}

Example ImageFolder::get(int64_t i) const {
  detail::check_index("ImageFolder", i, size());
  const File& file = files_[static_cast<size_t>(i)];
  const Array picture(read_picture(file.path), Site());
  if (picture.dtype() != uint8)
    throw IoError("ImageFolder: " + file.path + ": expected 8 bits a channel, found 16");
  const Shape& shape = picture.shape();
  const int64_t pixels = shape[0] * shape[1];
  const auto from = static_cast<int>(shape.size() == 3 ? shape[2] : 1);
  const bool coloured = from >= 3;
  const auto* const at = static_cast<const uint8_t*>(picture.bytes());
  std::vector<uint8_t> planes(static_cast<size_t>(channels_ * pixels));
  for (int64_t p = 0; p < pixels; ++p)
    for (int c = 0; c < channels_; ++c) {
      const uint8_t* const pixel = at + p * from;
      planes[static_cast<size_t>(c * pixels + p)] = !coloured        ? pixel[0]
                                                    : channels_ == 1 ? luma(pixel)
                                                                     : pixel[c];
    }
  return {Array(std::move(planes), ShapeArg(Shape{channels_, shape[0], shape[1]})), file.label};
}

}  // namespace lazy::data
