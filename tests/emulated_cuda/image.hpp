// What the emulated NVRTC calls a cubin: a header, then the bytes of a shared object.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emulated {

/// The image of a module for `arch` (90: sm_90).
std::string make_image(std::string_view elf, int arch);

struct Image {
  int arch;
  std::string_view elf;
};
/// Nothing if these are not the bytes of an image, or not as they were made. Reads no further than the image
/// says.
std::optional<Image> read_image(const void* bytes);

}  // namespace emulated
