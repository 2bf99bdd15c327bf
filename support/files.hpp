// Opens and writes files from a library: the program may have closed its standard streams, and may be
// forbidden to make files as large as ours.
#pragma once
#include <fcntl.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace lazy::files {

/// Moves a descriptor out of the range of the standard streams, which the program would write to: returns
/// another descriptor of the same file. Keeps errno if the file could not be opened; -1 if there is no other
/// descriptor.
int above_stdio(int fd) noexcept;

/// Opens as the system's open and openat do, with O_CLOEXEC, above the standard streams.
int open(const char* path, int flags, unsigned mode = 0) noexcept;
int open_at(int folder, const char* name, int flags, unsigned mode = 0) noexcept;

/// True if a file may grow to so many bytes; if not, errno is EFBIG. A write beyond RLIMIT_FSIZE would end
/// the program (SIGXFSZ).
bool may_reach(uint64_t bytes) noexcept;
/// Writes as the system's write does, but fails with EFBIG in place of ending the program, and resumes
/// interrupted writes. Returns false with errno.
bool write(int fd, const void* from, size_t bytes) noexcept;
/// Writes all of a record or nothing: cuts off what a write that failed has left, so that readers find the
/// next record behind the one before. Returns false with errno; `torn` is then true if part of it stays.
bool write_record(int fd, const void* from, size_t bytes, bool& torn) noexcept;
/// Writes at an offset, as write() does.
bool write_at(int fd, const void* from, uint64_t bytes, uint64_t offset) noexcept;
bool read_at(int fd, void* to, uint64_t bytes, uint64_t offset) noexcept;  // a file's end counts as ENODATA

/// Appends the names in a folder, but "." and "..", in any order. `at`: a folder's descriptor, or AT_FDCWD.
/// Returns false with errno. The standard library's iterator ends the program where memory runs out.
bool names_in(int at, const char* folder, std::vector<std::string>& names);

/// Returns the path of the file that a symbolic link leads to, if it exists; else the path.
std::string followed(const std::string& path);

/// Writes a file from its beginning, through a buffer. Errors are reported by close().
class Output {
 public:
  /// Makes or empties the file. Not open, with errno, if that fails.
  explicit Output(const std::string& path, int flags = O_WRONLY);
  /// Takes a descriptor.
  explicit Output(int fd) noexcept : fd_(fd) {}
  Output(const Output&) = delete;
  Output(Output&& o) noexcept;
  ~Output();
  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  void put(const char* from, size_t bytes);
  void put(const std::string& s) { put(s.data(), s.size()); }
  void flush() noexcept;
  /// Returns false with errno if the file does not have all that was put.
  bool close() noexcept;

 private:
  int fd_;
  int error_ = 0;
  std::string buffer_;
};

/// Writes the file's contents all at once. Returns false with errno.
bool write_whole(const std::string& path, const std::string& contents);

/// True if the program runs with rights that its caller does not have (setuid): the environment may then not
/// say which files are written.
bool privileged() noexcept;

}  // namespace lazy::files
