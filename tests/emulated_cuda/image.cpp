#include "tests/emulated_cuda/image.hpp"

#include <cstring>

#include "tests/emulated_cuda/hash.hpp"

namespace emulated {
namespace {

struct Header {
  char magic[8] = {'E', 'M', 'U', 'C', 'U', 'D', 'A', '2'};
  int64_t arch;
  uint64_t elf_bytes, source_bytes, check;
};

}  // namespace

std::string make_image(std::string_view elf, std::string_view source, int arch) {
  Header header;
  header.arch = arch;
  header.elf_bytes = elf.size();
  header.source_bytes = source.size();
  header.check = hash(source, hash(elf));
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  return image.append(elf).append(source);
}

std::optional<Image> read_image(const void* bytes) {
  Header header;
  if (std::memcmp(bytes, header.magic, sizeof header.magic) != 0) return std::nullopt;
  std::memcpy(&header, bytes, sizeof header);
  const char* const elf_at = static_cast<const char*>(bytes) + sizeof header;
  const std::string_view elf(elf_at, header.elf_bytes);
  const std::string_view source(elf_at + header.elf_bytes, header.source_bytes);
  if (hash(source, hash(elf)) != header.check) return std::nullopt;
  return Image{static_cast<int>(header.arch), elf, source};
}

}  // namespace emulated
