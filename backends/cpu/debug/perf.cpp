#include "backends/cpu/debug/perf.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "backends/cpu/debug/byte_writer.hpp"
#include "backends/cpu/debug/unwind.hpp"
#include "support/config.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace lazy::cpu_backend {
namespace {

constinit Mutex perf_mutex;

/// Opens a file for each process of a line of forks: its name contains the process's number.
class OwnFile {
 public:
  /// Returns the file, or null if it can't be opened.
  files::Output* get(std::unique_ptr<files::Output> (*open)()) {
    if (opened_ != forks::generation() + 1) {
      opened_ = forks::generation() + 1;
      file_ = open().release();
    }
    return file_;
  }

 private:
  files::Output* file_ = nullptr;  // never closed
  uint32_t opened_ = 0;
};

/// Returns the time of perf's clock under `perf record -k 1`.
uint64_t monotonic_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

constexpr uint32_t kMagic = 0x4A695444, kVersion = 1;  // "JiTD"
enum Record : uint32_t { kCodeLoad = 0, kDebugInfo = 2, kUnwindingInfo = 4 };

std::unique_ptr<files::Output> open_file(const std::string& path, int flags) {
  auto file = std::make_unique<files::Output>(path, flags);
  return file->is_open() ? std::move(file) : nullptr;
}

std::unique_ptr<files::Output> open_jitdump() {
  const std::string& folder = config::get().dump_dir.get();
  const std::string path =
      (folder.empty() ? std::string(".") : folder) + "/jit-" + std::to_string(::getpid()) + ".dump";
  auto file = open_file(path, O_RDWR);
  if (!file) {
    logging::warning("LAZY_PERF_MAP=jitdump: cannot write " + text::one_line(path, 200) + ": " +
                     std::strerror(errno));
    return nullptr;
  }
  constexpr uint32_t kHeaderBytes = 40;
  ByteWriter header;
  header.u32(kMagic)
      .u32(kVersion)
      .u32(kHeaderBytes)
      .u32(EM_X86_64)
      .u32(0)
      .u32(static_cast<uint32_t>(::getpid()));
  header.u64(monotonic_ns()).u64(0);
  file->put(header.bytes());
  file->flush();
  // perf finds the file by this mapping, which it sees because it is executable. It is never unmapped.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (::mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file->fd(), 0) == MAP_FAILED)
    logging::warning("LAZY_PERF_MAP=jitdump: " + text::one_line(path, 200) +
                     " lies where nothing may be executed; perf will not find it");
  return file;
}

void append(files::Output& file, Record kind, uint64_t time, const ByteWriter& body) {
  constexpr size_t kPrefixBytes = 16;
  ByteWriter record;
  record.u32(kind).u32(kPrefixBytes + body.size()).u64(time).raw(body.bytes());
  file.put(record.bytes());
}

}  // namespace

void write_perf_map(const CodeInfo& info) {
  const Hold hold(perf_mutex);
  static constinit OwnFile own;
  files::Output* const file = own.get(
      [] { return open_file("/tmp/perf-" + std::to_string(::getpid()) + ".map", O_WRONLY | O_NOFOLLOW); });
  if (!file) return;
  char place[40];
  std::snprintf(place, sizeof place, "%lx %zx ", reinterpret_cast<unsigned long>(info.start), info.size);
  file->put(place + info.name + "\n");
  file->flush();
}

std::string unwinding_behind(const CodeInfo& info) {
  if (config::get().perf_map.get() != config::PerfMap::jitdump) return {};
  const size_t behind = unwinding_place(info.size);
  const std::string frame = eh_frame(info, behind);
  return frame.empty() ? frame : frame + eh_frame_header(frame.size(), behind);
}

void write_jitdump(const CodeInfo& info) {
  const Hold hold(perf_mutex);
  static constinit OwnFile own;
  files::Output* const file = own.get(open_jitdump);
  if (!file) return;
  static uint64_t index = 0;
  const auto address = reinterpret_cast<uint64_t>(info.start);
  const uint64_t time = monotonic_ns();
  if (info.line > 0) {  // applies to the code that is loaded next
    ByteWriter lines;
    lines.u64(address).u64(2);
    for (const uint64_t at : {address, address + info.size})  // perf extends a line to the next entry
      lines.u64(at).u32(static_cast<uint32_t>(info.line)).u32(0).text(info.file);
    append(*file, kDebugInfo, time, lines);
  }
  if (const std::string unwinding = unwinding_behind(info); !unwinding.empty()) {  // of the code loaded next
    ByteWriter body;
    body.u64(unwinding.size()).u64(kFrameHeaderBytes).u64(unwinding.size()).raw(unwinding).align(8);
    append(*file, kUnwindingInfo, time, body);
  }
  ByteWriter load;
  load.u32(static_cast<uint32_t>(::getpid())).u32(static_cast<uint32_t>(::syscall(SYS_gettid)));
  load.u64(address).u64(address).u64(info.size).u64(index++).text(info.name);
  load.raw({static_cast<const char*>(info.start), info.size});
  append(*file, kCodeLoad, time, load);
  file->flush();
}

}  // namespace lazy::cpu_backend
