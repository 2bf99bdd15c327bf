#include "backends/cpu/memory/code_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "backends/cpu/memory/allocator.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr size_t kFirstChunk = size_t{64} << 10, kLastChunk = size_t{1} << 20;  // bytes

/// Holds ranges of unused writable pages, best fit first. Neighbours are joined.
class FreePages {
 public:
  char* take(size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, nullptr});
    if (fit == by_size_.end()) return nullptr;
    const auto [size, at] = *fit;
    auto by_size = by_size_.extract(fit);
    auto by_address = by_address_.extract(at);
    if (size > bytes) {  // the rest reuses the same nodes
      by_size.value() = {size - bytes, at + bytes};
      by_address.key() = at + bytes;
      by_address.mapped() = size - bytes;
      by_size_.insert(std::move(by_size));
      by_address_.insert(std::move(by_address));
    }
    return at;
  }
  void give(char* at, size_t bytes) {
    auto next = by_address_.lower_bound(at);
    if (next != by_address_.end() && at + bytes == next->first) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      next = by_address_.erase(next);
    }
    if (next != by_address_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first;
        bytes += before->second;
        by_size_.erase({before->second, before->first});
        by_address_.erase(before);
      }
    }
    add(at, bytes);
  }

 private:
  void add(char* at, size_t bytes) {
    const auto listed = by_address_.emplace(at, bytes).first;
    try {
      by_size_.emplace(bytes, at);
    } catch (...) {
      by_address_.erase(listed);
      throw;
    }
  }
  std::set<std::pair<size_t, char*>> by_size_;
  std::map<char*, size_t> by_address_;
};

struct Pages {
  FreePages free;
  size_t chunk = kFirstChunk;  // bytes of the next chunk
};

constinit Mutex mutex;
constinit Pages* all = nullptr;
/// Returns the free pages, which are never destroyed: kernels may be released by other objects' destructors
/// after main. A forked child starts over if a thread of its parent was changing them.
Pages& pages(const Hold<Mutex>& hold) {
  if (!all || !hold.intact()) all = new Pages;
  return *all;
}

constexpr size_t kPage = 4096, kLine = 64;  // of x86-64
constexpr size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

char* take_pages(size_t bytes) {
  const Hold hold(mutex);
  Pages& p = pages(hold);
  if (char* at = p.free.take(bytes)) return at;
  const size_t chunk = std::max(p.chunk, bytes);
  const auto map = [&] {
    return ::mmap(nullptr, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* at = map();
  if (at == MAP_FAILED && release_kept_memory() > 0) at = map();
  if (at == MAP_FAILED) throw CompileError("executable memory: out of memory");
  p.chunk = std::min(p.chunk * 2, kLastChunk);
  if (chunk > bytes) p.free.give(static_cast<char*>(at) + bytes, chunk - bytes);
  return static_cast<char*>(at);
}

/// True if the system lets no memory become executable (PR_SET_MDWE, MemoryDenyWriteExecute): code is then
/// written to files in memory that nobody can change any more.
constinit std::atomic<bool> through_files{false};

char* map_file(std::string_view code, size_t bytes) {
  const int fd = files::above_stdio(::memfd_create("lazy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (files::write_at(fd, code.data(), code.size(), 0) &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
    at = ::mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

/// Returns where a kernel begins in its pages: at different lines, so that kernels that run in turn don't
/// compete for the same lines of the instruction cache.
size_t first_line(size_t slack) {
  static constinit std::atomic<size_t> kernels{0};
  constexpr size_t kStep = 13;
  return kernels.fetch_add(kStep, std::memory_order_relaxed) % (slack / kLine + 1) * kLine;
}

}  // namespace

const char* add_code(std::string_view code) {
  const size_t bytes = whole_pages(code.size());
  if (!through_files.load(std::memory_order_relaxed)) {
    char* const pages = take_pages(bytes);
    char* const at = pages + first_line(bytes - code.size());
    std::memcpy(at, code.data(), code.size());
    if (::mprotect(pages, bytes, PROT_READ | PROT_EXEC) == 0) return at;
    const int error = errno;
    remove_code(at, code.size());
    if (error != EACCES && error != EPERM) throw CompileError("executable memory: out of memory");
    through_files.store(true, std::memory_order_relaxed);
  }
  if (const char* const at = map_file(code, bytes)) return at;
  throw CompileError("executable memory: the system does not allow it");
}

void remove_code(const char* code, size_t size) noexcept {
  const size_t offset = reinterpret_cast<uintptr_t>(code) % kPage, bytes = whole_pages(size);
  char* const at = const_cast<char*>(code) - offset;
  if (through_files.load(std::memory_order_relaxed)) return void(::munmap(at, bytes));
  // Pages that can't be made writable, or listed, are lost.
  if (::mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return;
  ::madvise(at, bytes, MADV_DONTNEED);
  try {
    const Hold hold(mutex);
    pages(hold).free.give(at, bytes);
  } catch (...) {}
}

}  // namespace lazy::cpu_backend
