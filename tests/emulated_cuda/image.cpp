#include "tests/emulated_cuda/image.hpp"

#include <cstring>
#include <utility>

#include "tests/emulated_cuda/hash.hpp"

namespace emulated {
namespace {

struct Header {
  char magic[8] = {'E', 'M', 'U', 'C', 'U', 'D', 'A', '2'};
  int64_t arch;
  uint64_t elf_bytes, name_bytes, text_bytes, check;
};

uint64_t check_of(const Image& image) { return hash(image.text, hash(image.name, hash(image.elf))); }

}  // namespace

std::string make_image(const Image& image) {
  Header header;
  header.arch = image.arch;
  header.elf_bytes = image.elf.size();
  header.name_bytes = image.name.size();
  header.text_bytes = image.text.size();
  header.check = check_of(image);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(image.elf).append(image.name).append(image.text);
}

std::optional<Image> read_image(const void* bytes) {
  Header header;
  if (std::memcmp(bytes, header.magic, sizeof header.magic) != 0) return std::nullopt;
  std::memcpy(&header, bytes, sizeof header);
  const char* at = static_cast<const char*>(bytes) + sizeof header;
  const auto next = [&](size_t size) { return std::string_view(std::exchange(at, at + size), size); };
  Image image{static_cast<int>(header.arch), next(header.elf_bytes), next(header.name_bytes),
              next(header.text_bytes)};
  if (check_of(image) != header.check) return std::nullopt;
  return image;
}

}  // namespace emulated
