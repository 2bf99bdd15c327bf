// Tests what profilers and debuggers learn about kernels: perf's map and jitdump, GDB's object files.
#include <elf.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "backends/cpu/debug/gdb_jit.hpp"
#include "backends/cpu/debug/perf.hpp"
#include "backends/cpu/debug/unwind.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "support/log.hpp"
#include "tests/common/folder.hpp"
#include "tests/support/child.hpp"

extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
extern jit_descriptor __jit_debug_descriptor;
}

namespace {

using namespace lazy;
using namespace lazy_test;

/// Reads fields one after the other; fails past the end.
class Bytes {
 public:
  explicit Bytes(std::string s) : s_(std::move(s)) {}
  template <class T>
  T take() {
    T v{};
    BOOST_REQUIRE_LE(at_ + sizeof v, s_.size());
    std::memcpy(&v, s_.data() + at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  std::string text() {
    const size_t end = s_.find('\0', at_);
    BOOST_REQUIRE_NE(end, s_.npos);
    std::string t = s_.substr(at_, end - at_);
    at_ = end + 1;
    return t;
  }
  std::string raw(size_t n) {
    BOOST_REQUIRE_LE(at_ + n, s_.size());
    at_ += n;
    return s_.substr(at_ - n, n);
  }
  size_t at() const { return at_; }
  bool done() const { return at_ == s_.size(); }

 private:
  std::string s_;
  size_t at_ = 0;
};

struct Section {
  Elf64_Shdr header;
  std::string name, bytes;
};
std::vector<Section> sections_of(std::string_view object) {
  Elf64_Ehdr h;
  BOOST_REQUIRE_GE(object.size(), sizeof h);
  std::memcpy(&h, object.data(), sizeof h);
  BOOST_TEST(std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0);
  BOOST_TEST(h.e_machine == EM_X86_64);
  BOOST_REQUIRE_EQUAL(h.e_shoff + h.e_shnum * sizeof(Elf64_Shdr), object.size());
  std::vector<Section> all(h.e_shnum);
  for (size_t i = 0; i < all.size(); ++i) {
    std::memcpy(&all[i].header, object.data() + h.e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
    const auto& s = all[i].header;
    if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS) continue;
    BOOST_REQUIRE_LE(s.sh_offset + s.sh_size, object.size());
    all[i].bytes = object.substr(s.sh_offset, s.sh_size);
  }
  const std::string& names = all[h.e_shstrndx].bytes;
  for (Section& s : all) s.name = names.c_str() + s.header.sh_name;
  return all;
}

// Runs one kernel, in a child: files are per process. The line of the op is `kLine`.
constexpr int kLine = __LINE__ + 3;
void one_kernel() {
  const Tensor x = from_span<float>(std::vector<float>(100, 1.f));
  BOOST_TEST((x * 2.0f + 1.0f).to_vector<float>()[0] == 3);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(debuggers)

BOOST_AUTO_TEST_CASE(child_makes_one_kernel) {
  if (!is_child()) return;
  one_kernel();
}

BOOST_AUTO_TEST_CASE(child_names_its_map) {
  if (!is_child()) return;
  one_kernel();
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map", text = read_all(path);
  ::unlink(path.c_str());
  logging::write_raw(text);
  // perf looks into the map only for addresses in anonymous memory.
  const uint64_t address = std::stoull(text, nullptr, 16);
  bool anonymous = false;
  FILE* maps = std::fopen("/proc/self/maps", "r");
  for (char line[512]; std::fgets(line, sizeof line, maps);) {
    unsigned long first = 0, last = 0, inode = 1;
    char rights[8] = "";
    std::sscanf(line, "%lx-%lx %7s %*s %*s %lu", &first, &last, rights, &inode);
    if (address >= first && address < last) anonymous = inode == 0 && std::string(rights) == "r-xp";
  }
  std::fclose(maps);
  logging::write_raw(anonymous ? "anonymous\n" : "not anonymous\n");
}

BOOST_AUTO_TEST_CASE(the_map_has_name_and_line) {
  const auto [said, status] =
      run_again("debuggers/child_names_its_map", {{"LAZY_PERF_MAP", "1"}, {"LAZY_CACHE", "off"}});
  BOOST_TEST(status == 0);
  BOOST_TEST(count(said, "\n") == 2u);
  BOOST_TEST(said.find(" lazy::map_add_debuggers.cpp_" + std::to_string(kLine)) != said.npos, said);
  BOOST_TEST(said.find("\nanonymous") != said.npos, said);
}

BOOST_AUTO_TEST_CASE(the_jitdump_parses) {
  const lazy::test::Folder folder;
  const auto [said, status] =
      run_again("debuggers/child_makes_one_kernel",
                {{"LAZY_PERF_MAP", "jitdump"}, {"LAZY_DUMP_DIR", folder.path()}, {"LAZY_CACHE", "off"}});
  BOOST_TEST(status == 0);
  BOOST_TEST(said == "");
  std::string file;
  for (const auto& e : std::filesystem::directory_iterator(folder.path()))
    if (e.path().extension() == ".dump") file = e.path().string();
  Bytes b(read_all(file));
  BOOST_TEST(b.take<uint32_t>() == 0x4A695444u);
  BOOST_TEST(b.take<uint32_t>() == 1u);
  BOOST_TEST(b.take<uint32_t>() == 40u);
  BOOST_TEST(b.take<uint32_t>() == uint32_t{EM_X86_64});
  b.take<uint32_t>();
  const uint32_t pid = b.take<uint32_t>();
  BOOST_TEST(file.find("jit-" + std::to_string(pid) + ".dump") != file.npos);
  const uint64_t started = b.take<uint64_t>();
  BOOST_TEST(b.take<uint64_t>() == 0u);
  BOOST_REQUIRE_EQUAL(b.at(), 40u);

  BOOST_TEST(b.take<uint32_t>() == 2u);  // number of lines
  const uint32_t lines_size = b.take<uint32_t>();
  BOOST_TEST(b.take<uint64_t>() >= started);
  const uint64_t address = b.take<uint64_t>();
  const uint64_t entries = b.take<uint64_t>();
  BOOST_TEST(entries == 2u);
  uint64_t last = 0;
  for (uint64_t i = 0; i < entries; ++i) {
    last = b.take<uint64_t>();
    if (i == 0) BOOST_TEST(last == address);
    BOOST_TEST(b.take<uint32_t>() == uint32_t{kLine});
    b.take<uint32_t>();
    BOOST_TEST(b.text().ends_with("debuggers.cpp"));
  }
  BOOST_TEST(b.at() == 40u + lines_size);

  const size_t unwinding_at = b.at();
  BOOST_TEST(b.take<uint32_t>() == 4u);  // record of how to unwind the code that follows
  const uint32_t unwinding_size = b.take<uint32_t>();
  b.take<uint64_t>();
  const uint64_t frame_and_header = b.take<uint64_t>(), header = b.take<uint64_t>();
  BOOST_TEST(b.take<uint64_t>() == frame_and_header);  // all of it is mapped behind the code
  BOOST_TEST(header == 20u);
  const auto frame = b.raw(frame_and_header - header);
  BOOST_TEST(frame.substr(9, 2) == "zR");
  BOOST_TEST(b.raw(header).starts_with("\x01\x1b\x03\x3b"));
  b.raw(unwinding_at + unwinding_size - b.at());  // padding

  const size_t load_at = b.at();
  BOOST_TEST(b.take<uint32_t>() == 0u);  // record of code
  const uint32_t load_size = b.take<uint32_t>();
  b.take<uint64_t>();
  BOOST_TEST(b.take<uint32_t>() == pid);
  b.take<uint32_t>();
  BOOST_TEST(b.take<uint64_t>() == address);
  BOOST_TEST(b.take<uint64_t>() == address);
  const uint64_t size = b.take<uint64_t>();
  BOOST_TEST(b.take<uint64_t>() == 0u);
  BOOST_TEST(b.text() == "lazy::map_add_debuggers.cpp_" + std::to_string(kLine));
  BOOST_TEST(b.raw(size).starts_with("\x53\x55"));  // push rbx, push rbp
  BOOST_TEST(last == address + size);
  BOOST_TEST(b.at() == load_at + load_size);
  BOOST_TEST(b.done());
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_costs_a_line) {
  const auto [said, status] =
      run_again("debuggers/child_makes_one_kernel",
                {{"LAZY_PERF_MAP", "jitdump"}, {"LAZY_DUMP_DIR", "/proc/nowhere"}, {"LAZY_CACHE", "off"}});
  BOOST_TEST(status == 0);
  BOOST_TEST(count(said, "LAZY_PERF_MAP=jitdump: cannot write") == 1u);
}

BOOST_AUTO_TEST_CASE(an_object_file_has_what_gdb_reads) {
  const std::string code(100, '\x90');
  const auto info = cpu_backend::code_info(code.data(), code.size(), "map_add_x.cpp_7", "/home/me/x.cpp:7");
  BOOST_TEST(info.file == "/home/me/x.cpp");
  BOOST_TEST(info.line == 7);
  const auto all = sections_of(cpu_backend::object_file(info));
  std::map<std::string, const Section*> by_name;
  for (const Section& s : all) by_name[s.name] = &s;
  for (const char* name : {".text", ".symtab", ".strtab", ".debug_info", ".debug_line", ".debug_abbrev"})
    BOOST_REQUIRE(by_name.contains(name));
  BOOST_TEST(!by_name.contains(".eh_frame"));  // these bytes do not begin with our prologue
  BOOST_TEST(by_name[".text"]->header.sh_addr == reinterpret_cast<uint64_t>(code.data()));
  BOOST_TEST(by_name[".text"]->header.sh_size == code.size());
  Elf64_Sym symbol;
  std::memcpy(&symbol, by_name[".symtab"]->bytes.data() + sizeof symbol, sizeof symbol);
  BOOST_TEST(symbol.st_value == reinterpret_cast<uint64_t>(code.data()));
  BOOST_TEST(std::string(by_name[".strtab"]->bytes.c_str() + symbol.st_name) == "lazy::map_add_x.cpp_7");
  BOOST_TEST(by_name[".debug_line"]->bytes.find("/home/me/x.cpp") != std::string::npos);
  const auto unknown = cpu_backend::code_info(code.data(), code.size(), "", "");
  BOOST_TEST(unknown.name == "lazy::kernel");
  for (const Section& s : sections_of(cpu_backend::object_file(unknown)))
    BOOST_TEST(!s.name.starts_with(".debug"));
}

BOOST_AUTO_TEST_CASE(every_kernel_is_registered_until_it_goes) {
  const config::Override gdb("LAZY_GDB", "1"), no_disk("LAZY_CACHE", "off");
  cache::clear();
  const auto registered = [] {
    size_t n = 0;
    for (auto* e = __jit_debug_descriptor.first_entry; e; e = e->next_entry) {
      ++n;
      if (e->next_entry) BOOST_TEST(e->next_entry->prev_entry == e);
      bool unwinds = false;
      for (const Section& s : sections_of({e->symfile_addr, e->symfile_size}))
        unwinds |= s.name == ".eh_frame";
      BOOST_TEST(unwinds);
    }
    return n;
  };
  BOOST_REQUIRE_EQUAL(registered(), 0u);
  const Tensor x = from_span<float>(std::vector<float>(64 * 64, 0.5f), {64, 64});
  exp(x).eval();
  sum(x, {0}).eval();
  cumsum(x, 1).eval();
  matmul(x, x).eval();  // every writer's prologue is recognised
  BOOST_TEST(registered() >= 4u);
  cache::clear();
  BOOST_TEST(registered() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
