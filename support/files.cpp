#include "support/files.hpp"

#include <dirent.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "support/cancel.hpp"

namespace lazy::files {
namespace {

constexpr int kFirst = 3;  // after the standard streams

/// Calls `some(from, n, done)` until all is done.
template <class F>
bool in_parts(uint64_t bytes, int at_end, F&& some) noexcept {
  const NoCancel whole;
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = some(done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = at_end;
    if (n <= 0) return false;
    done += static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

int above_stdio(int fd) noexcept {
  if (fd < 0 || fd >= kFirst) return fd;
  const int other = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirst);
  const int error = errno;
  ::close(fd);
  errno = error;
  return other;
}

int open(const char* path, int flags, unsigned mode) noexcept {
  const NoCancel whole;
  return above_stdio(::open(path, flags | O_CLOEXEC, mode));
}
int open_at(int folder, const char* name, int flags, unsigned mode) noexcept {
  const NoCancel whole;
  return above_stdio(::openat(folder, name, flags | O_CLOEXEC, mode));
}

bool may_reach(uint64_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur)
    return true;
  errno = EFBIG;
  return false;
}

bool write(int fd, const void* from, size_t bytes) noexcept {
  // Only files have a size: the descriptor decides where a write begins.
  struct stat s {};
  if (::fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
    const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    const off_t at = appends ? s.st_size : ::lseek(fd, 0, SEEK_CUR);
    if (at >= 0 && !may_reach(static_cast<uint64_t>(at) + bytes)) return false;
  }
  const auto* p = static_cast<const char*>(from);
  return in_parts(bytes, ENOSPC, [&](uint64_t done, uint64_t n) { return ::write(fd, p + done, n); });
}

bool write_record(int fd, const void* from, size_t bytes, bool& torn) noexcept {
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  if (write(fd, from, bytes)) return true;
  const int error = errno;
  torn = at < 0 || ::ftruncate(fd, at) != 0 || ::lseek(fd, at, SEEK_SET) != at;
  errno = error;
  return false;
}

bool write_at(int fd, const void* from, uint64_t bytes, uint64_t offset) noexcept {
  if (!may_reach(offset + bytes)) return false;
  const auto* p = static_cast<const char*>(from);
  return in_parts(bytes, ENOSPC, [&](uint64_t done, uint64_t n) {
    return ::pwrite(fd, p + done, n, static_cast<off_t>(offset + done));
  });
}

bool read_at(int fd, void* to, uint64_t bytes, uint64_t offset) noexcept {
  auto* p = static_cast<char*>(to);
  return in_parts(bytes, ENODATA, [&](uint64_t done, uint64_t n) {
    return ::pread(fd, p + done, n, static_cast<off_t>(offset + done));
  });
}

bool names_in(int at, const char* folder, std::vector<std::string>& names) {
  const int fd = open_at(at, folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd), ::closedir);
  if (!dir) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  const NoCancel whole;
  for (;;) {
    errno = 0;
    const dirent* const e = ::readdir(dir.get());
    if (!e) return errno == 0;
    const std::string_view name = e->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

std::string followed(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

Output::Output(const std::string& path, int flags)
    : fd_(open(path.c_str(), flags | O_CREAT | O_TRUNC, 0666)) {}
Output::Output(Output&& o) noexcept
    : fd_(std::exchange(o.fd_, -1)), error_(o.error_), buffer_(std::move(o.buffer_)) {}
Output::~Output() { close(); }

void Output::put(const char* from, size_t bytes) {
  constexpr size_t kMost = size_t{64} << 10;
  buffer_.append(from, bytes);
  if (buffer_.size() >= kMost) flush();
}
void Output::flush() noexcept {
  if (!error_ && !buffer_.empty() && !write(fd_, buffer_.data(), buffer_.size())) error_ = errno;
  buffer_.clear();
}
bool Output::close() noexcept {
  const NoCancel whole;
  if (fd_ >= 0) {
    flush();
    if (::close(std::exchange(fd_, -1)) != 0 && !error_) error_ = errno;
  }
  errno = error_;
  return error_ == 0;
}

bool write_whole(const std::string& path, const std::string& contents) {
  Output out(path);
  if (!out.is_open()) return false;
  out.put(contents);
  return out.close();
}

bool privileged() noexcept { return ::getauxval(AT_SECURE) != 0; }

}  // namespace lazy::files
