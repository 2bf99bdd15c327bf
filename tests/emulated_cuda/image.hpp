// Defines the emulated NVRTC's cubin: a header, then the bytes of a shared object and what
// it was compiled of.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emulated {

/// Returns the image of a module for `arch` (90: sm_90).
std::string make_image(std::string_view elf, std::string_view source, int arch);

struct Image {
  int arch;
  std::string_view elf, source;
};
/// Returns nothing if these are not the bytes of an image, or were changed. Reads no further than the
/// header's size.
std::optional<Image> read_image(const void* bytes);

}  // namespace emulated
