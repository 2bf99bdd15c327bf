// Defines the emulated NVRTC's cubin: a header, then the bytes of a shared object, if one was
// made, and the text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emulated {

struct Image {
  int arch;               // the number in sm_90
  std::string_view elf;   // all kernels, compiled; empty: each is when it is launched
  std::string_view name;  // of the text, in the compiler's messages
  std::string_view text;
};
/// Returns the bytes of an image.
std::string make_image(const Image&);
/// Returns nothing if these are not the bytes of an image, or were changed. Reads no further than the
/// header's size.
std::optional<Image> read_image(const void* bytes);

}  // namespace emulated
