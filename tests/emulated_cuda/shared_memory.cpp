#include "tests/emulated_cuda/shared_memory.hpp"

#include <elf.h>

#include <charconv>
#include <cstring>

namespace emulated {
namespace {

template <class T>
T at(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Returns the function of a variable's symbol: `_ZZ<length><function>E...` is in an extern "C" function,
/// which kernels are.
std::string function_of(std::string_view symbol) {
  if (symbol.substr(0, 3) != "_ZZ") return {};
  size_t length = 0;
  const char* end = symbol.data() + symbol.size();
  const auto [after, error] = std::from_chars(symbol.data() + 3, end, length);
  if (error != std::errc() || static_cast<size_t>(end - after) <= length || after[length] != 'E') return {};
  return {after, length};
}

}  // namespace

std::vector<SharedVariable> shared_variables(std::string_view elf) {
  const auto header = at<Elf64_Ehdr>(elf, 0);
  const auto section = [&](size_t i) { return at<Elf64_Shdr>(elf, header.e_shoff + i * header.e_shentsize); };
  const auto names = section(header.e_shstrndx);
  std::vector<bool> shared(header.e_shnum);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    shared[i] = std::string_view(elf.data() + names.sh_offset + section(i).sh_name) == "emulated_shared";
  }
  std::vector<SharedVariable> variables;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const auto strings = section(symbols.sh_link);
    for (size_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(elf, symbols.sh_offset + offset);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= shared.size() ||
          !shared[symbol.st_shndx]) {
        continue;
      }
      variables.push_back(
          {symbol.st_value, symbol.st_size, function_of(elf.data() + strings.sh_offset + symbol.st_name)});
    }
  }
  return variables;
}

size_t bytes_of(const std::vector<SharedVariable>& variables, std::string_view kernel) {
  size_t bytes = 0;
  for (const SharedVariable& v : variables) bytes += v.belongs_to(kernel) ? v.bytes : 0;
  return bytes;
}

}  // namespace emulated
