#include "tests/emulated_cuda/image.hpp"

#include <cstring>

#include "tests/emulated_cuda/hash.hpp"

namespace emulated {
namespace {

struct Header {
  char magic[8] = {'E', 'M', 'U', 'C', 'U', 'D', 'A', '1'};
  int64_t arch;
  uint64_t size, check;
};

}  // namespace

std::string make_image(std::string_view elf, int arch) {
  Header header;
  header.arch = arch;
  header.size = elf.size();
  header.check = hash(elf);
  std::string image(sizeof header + elf.size(), '\0');
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + sizeof header, elf.data(), elf.size());
  return image;
}

std::optional<Image> read_image(const void* bytes) {
  Header header;
  if (std::memcmp(bytes, header.magic, sizeof header.magic) != 0) return std::nullopt;
  std::memcpy(&header, bytes, sizeof header);
  const std::string_view elf(static_cast<const char*>(bytes) + sizeof header, header.size);
  if (hash(elf) != header.check) return std::nullopt;
  return Image{static_cast<int>(header.arch), elf};
}

}  // namespace emulated
