#include "backends/cpu/debug/disassemble.hpp"

#include <Zydis/Zydis.h>

#include <cstdint>
#include <cstdio>

namespace lazy::cpu_backend {

std::string disassemble(const void* code, size_t bytes) {
  std::string out;
  const auto* at = static_cast<const uint8_t*>(code);
  ZyanU64 address = 0;  // offsets rather than addresses, so that two dumps of one kernel are equal
  for (size_t done = 0; done < bytes;) {
    ZydisDisassembledInstruction in;
    char offset[24];
    std::snprintf(offset, sizeof offset, "%6zx  ", done);
    out += offset;
    if (ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, address + done, at + done,
                                           bytes - done, &in))) {
      out += in.text;
      done += in.info.length;
    } else {
      std::snprintf(offset, sizeof offset, "db %02x", at[done]);
      out += offset;
      ++done;
    }
    out += '\n';
  }
  return out;
}

}  // namespace lazy::cpu_backend
