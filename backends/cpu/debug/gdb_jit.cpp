#include "backends/cpu/debug/gdb_jit.hpp"

#include <elf.h>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "backends/cpu/debug/byte_writer.hpp"
#include "backends/cpu/debug/unwind.hpp"
#include "support/lock.hpp"

// Names and layouts that GDB requires (GDB manual, "JIT Compilation Interface"). Weak: another library in the
// process may define them too, and then they are shared.
extern "C" {
enum { kNoAction, kRegister, kUnregister };
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
__attribute__((weak)) jit_descriptor __jit_debug_descriptor = {1, kNoAction, nullptr, nullptr};
__attribute__((weak, noinline)) void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}

namespace lazy::cpu_backend {
namespace {

struct Section {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = 0, address = 0, size = 0;
  uint32_t link = 0, info = 0;
  uint64_t entry_size = 0;
  std::string bytes;
};

std::string symbols(const CodeInfo& info) {
  Elf64_Sym none{}, kernel{};
  kernel.st_name = 1;
  kernel.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  kernel.st_shndx = 1;
  kernel.st_value = reinterpret_cast<uint64_t>(info.start);
  kernel.st_size = info.size;
  return ByteWriter().put(none).put(kernel).bytes();
}

// DWARF 4: a unit with one function and one line.
enum : unsigned {
  kTagUnit = 0x11,
  kTagFunction = 0x2e,
  kName = 0x03,
  kStatements = 0x10,
  kLow = 0x11,
  kHigh = 0x12,
  kLanguage = 0x13,
  kExternal = 0x3f,
  kString = 0x08,
  kAddress = 0x01,
  kData8 = 0x07,
  kData2 = 0x05,
  kOffsetForm = 0x17,
  kPresent = 0x19,
  kC99 = 0x0c,
};

std::string abbreviations() {
  ByteWriter w;
  w.uleb(1).uleb(kTagUnit).u8(1);
  for (const unsigned v : std::initializer_list<unsigned>{kName, kString, kLanguage, kData2, kStatements,
                                                          kOffsetForm, kLow, kAddress, kHigh, kData8, 0u, 0u})
    w.uleb(v);
  w.uleb(2).uleb(kTagFunction).u8(0);
  for (const unsigned v : std::initializer_list<unsigned>{kName, kString, kExternal, kPresent, kLow, kAddress,
                                                          kHigh, kData8, 0u, 0u})
    w.uleb(v);
  return w.uleb(0).bytes();
}

std::string unit(const CodeInfo& info) {
  const auto start = reinterpret_cast<uint64_t>(info.start);
  ByteWriter w;
  w.u32(0).u16(4).u32(0).u8(8);
  w.uleb(1).text(info.file).u16(kC99).u32(0).u64(start).u64(info.size);
  w.uleb(2).text(info.name).u64(start).u64(info.size);
  w.u8(0);
  w.patch32(0, w.size() - 4);
  return w.bytes();
}

std::string lines(const CodeInfo& info) {
  constexpr unsigned kCopy = 1, kAdvancePc = 2, kAdvanceLine = 3, kExtended = 0, kEnd = 1, kSetAddress = 2;
  ByteWriter w;
  w.u32(0).u16(4);
  const size_t header_length = w.size();
  w.u32(0).u8(1).u8(1).u8(1).u8(static_cast<uint8_t>(-5)).u8(14).u8(13);
  for (const unsigned operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) w.u8(operands);
  w.u8(0);  // no folders
  w.text(info.file).uleb(0).uleb(0).uleb(0).u8(0);
  w.patch32(header_length, w.size() - header_length - 4);
  w.u8(kExtended).uleb(9).u8(kSetAddress).u64(reinterpret_cast<uint64_t>(info.start));
  w.u8(kAdvanceLine).sleb(info.line - 1).u8(kCopy);
  w.u8(kAdvancePc).uleb(info.size);
  w.u8(kExtended).uleb(1).u8(kEnd);
  w.patch32(0, w.size() - 4);
  return w.bytes();
}

/// Holds a registered kernel: GDB may read the bytes at any time.
struct Registered {
  std::string object;
  jit_code_entry entry{};
};

constinit Mutex gdb_mutex;
std::atomic<bool> any{false};
using Kernels = std::map<const void*, std::unique_ptr<Registered>>;
constinit Kernels* kernels = nullptr;
/// Returns the list. A forked child starts over if a thread of its parent was changing it.
Kernels& registered(const Hold<Mutex>& hold) {
  if (!kernels || !hold.intact()) {
    kernels = new Kernels;
    __jit_debug_descriptor.first_entry = nullptr;
  }
  return *kernels;
}

void tell(jit_code_entry& e, uint32_t action) {
  __jit_debug_descriptor.relevant_entry = &e;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = kNoAction;
}

}  // namespace

std::string object_file(const CodeInfo& info) {
  std::vector<Section> sections(1);
  sections[0].type = SHT_NULL;
  const auto add = [&](std::string name, std::string bytes) -> Section& {
    Section s;
    s.name = std::move(name);
    s.bytes = std::move(bytes);
    s.size = s.bytes.size();
    sections.push_back(std::move(s));
    return sections.back();
  };
  Section& text = add(".text", "");
  text.type = SHT_NOBITS;
  text.flags = SHF_ALLOC | SHF_EXECINSTR;
  text.address = reinterpret_cast<uint64_t>(info.start);
  text.size = info.size;
  Section& table = add(".symtab", symbols(info));
  table.type = SHT_SYMTAB;
  table.link = 3;
  table.info = 1;
  table.entry_size = sizeof(Elf64_Sym);
  add(".strtab", ByteWriter().u8(0).text(info.name).bytes()).type = SHT_STRTAB;
  if (const std::string frame = eh_frame(info); !frame.empty()) add(".eh_frame", frame).flags = SHF_ALLOC;
  if (info.line > 0) {
    add(".debug_abbrev", abbreviations());
    add(".debug_info", unit(info));
    add(".debug_line", lines(info));
  }
  ByteWriter names;
  std::vector<size_t> name_at;
  names.u8(0);
  add(".shstrtab", "").type = SHT_STRTAB;
  for (const Section& s : sections) {
    name_at.push_back(s.name.empty() ? 0 : names.size());
    if (!s.name.empty()) names.text(s.name);
  }
  sections.back().bytes = names.bytes();
  sections.back().size = names.size();

  ByteWriter contents;  // contents that follow the header
  std::vector<size_t> offsets;
  for (const Section& s : sections) {
    contents.align(16);
    offsets.push_back(sizeof(Elf64_Ehdr) + contents.size());
    contents.raw(s.bytes);
  }
  contents.align(16);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(Elf64_Ehdr) + contents.size();
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  ByteWriter out;
  out.put(header).raw(contents.bytes());
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section& s = sections[i];
    Elf64_Shdr h{};
    h.sh_name = static_cast<Elf64_Word>(name_at[i]);
    h.sh_type = s.type;
    h.sh_flags = s.flags;
    h.sh_addr = s.address;
    h.sh_offset = s.type == SHT_NULL ? 0 : offsets[i];
    h.sh_size = s.size;
    h.sh_link = s.link;
    h.sh_info = s.info;
    h.sh_addralign = s.type == SHT_NULL ? 0 : 16;
    h.sh_entsize = s.entry_size;
    out.put(h);
  }
  return out.bytes();
}

void register_with_gdb(const CodeInfo& info) {
  auto made = std::make_unique<Registered>();
  made->object = object_file(info);
  jit_code_entry& e = made->entry;
  e.symfile_addr = made->object.data();
  e.symfile_size = made->object.size();
  const Hold hold(gdb_mutex);
  Kernels& all = registered(hold);
  any.store(true, std::memory_order_relaxed);
  e.next_entry = __jit_debug_descriptor.first_entry;
  if (e.next_entry) e.next_entry->prev_entry = &e;
  __jit_debug_descriptor.first_entry = &e;
  tell(e, kRegister);
  all[info.start] = std::move(made);
}

void unregister_with_gdb(const void* start) noexcept {
  if (!any.load(std::memory_order_relaxed)) return;
  const Hold hold(gdb_mutex);
  Kernels& all = registered(hold);
  const auto at = all.find(start);
  if (at == all.end()) return;
  jit_code_entry& e = at->second->entry;
  (e.prev_entry ? e.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = e.next_entry;
  if (e.next_entry) e.next_entry->prev_entry = e.prev_entry;
  tell(e, kUnregister);
  all.erase(at);
}

}  // namespace lazy::cpu_backend
