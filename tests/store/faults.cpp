// Makes calls of the cache fail when it is preloaded into a program (LD_PRELOAD): those on files opened
// relative to a folder's descriptor, and on these files. CACHE_FAULTS: comma-separated CALL=ERRNO/EVERY, as
// in "pwrite=28/3,openat=5/10": every 3rd pwrite fails with ENOSPC. ERRNO 0: a short transfer.
// CACHE_FAULTS_SEED starts the count elsewhere.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Fault {
  int error = -1;
  unsigned every = 0;
  std::atomic<unsigned> calls{0};
  explicit Fault(const char* name) {
    const char* all = std::getenv("CACHE_FAULTS");
    const char* seed = std::getenv("CACHE_FAULTS_SEED");
    calls = seed ? static_cast<unsigned>(std::atoi(seed)) : 0;
    const size_t n = std::strlen(name);
    for (const char* p = all; p && *p; p = std::strchr(p, ',') ? std::strchr(p, ',') + 1 : nullptr) {
      if (std::strncmp(p, name, n) != 0 || p[n] != '=') continue;
      error = std::atoi(p + n + 1);
      const char* slash = std::strchr(p, '/');
      every = slash ? static_cast<unsigned>(std::atoi(slash + 1)) : 1;
    }
  }
  /// True if this call must fail.
  bool hits() { return every > 0 && ++calls % every == 0; }
};

std::atomic<bool> ours[1024];
bool is_ours(int fd) { return fd >= 0 && fd < 1024 && ours[fd]; }

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int openat(int dir, const char* path, int flags, ...) {
  static const auto next = real<int (*)(int, const char*, int, ...)>("openat");
  static Fault fault("openat");
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? static_cast<mode_t>(va_arg(more, int)) : 0;
  va_end(more);
  if (dir != AT_FDCWD && fault.hits()) return errno = fault.error, -1;
  const int fd = next(dir, path, flags, mode);
  if (fd >= 0 && fd < 1024) ours[fd] = dir != AT_FDCWD;
  return fd;
}
int openat64(int dir, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? static_cast<mode_t>(va_arg(more, int)) : 0;
  va_end(more);
  return openat(dir, path, flags, mode);
}
int close(int fd) {
  static const auto next = real<int (*)(int)>("close");
  if (fd >= 0 && fd < 1024) ours[fd] = false;
  return next(fd);
}
ssize_t pread(int fd, void* to, size_t n, off_t at) {
  static const auto next = real<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  static Fault fault("pread");
  if (is_ours(fd) && fault.hits()) {
    if (fault.error != 0) return errno = fault.error, -1;
    n = (n + 1) / 2;
  }
  return next(fd, to, n, at);
}
ssize_t pread64(int fd, void* to, size_t n, off_t at) { return pread(fd, to, n, at); }
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  static Fault fault("pwrite");
  if (is_ours(fd) && fault.hits()) {
    if (fault.error != 0) {
      if (n > 1) [[maybe_unused]]
        const ssize_t part = next(fd, from, n / 2, at);  // a torn write
      return errno = fault.error, -1;
    }
    n = (n + 1) / 2;
  }
  return next(fd, from, n, at);
}
ssize_t pwrite64(int fd, const void* from, size_t n, off_t at) { return pwrite(fd, from, n, at); }
int ftruncate(int fd, off_t n) {
  static const auto next = real<int (*)(int, off_t)>("ftruncate");
  static Fault fault("ftruncate");
  if (is_ours(fd) && fault.hits()) return errno = fault.error, -1;
  return next(fd, n);
}
int ftruncate64(int fd, off_t n) { return ftruncate(fd, n); }
int flock(int fd, int how) {
  static const auto next = real<int (*)(int, int)>("flock");
  static Fault fault("flock");
  if (is_ours(fd) && fault.hits()) return errno = fault.error, -1;
  return next(fd, how);
}
int renameat(int a, const char* from, int b, const char* to) {
  static const auto next = real<int (*)(int, const char*, int, const char*)>("renameat");
  static Fault fault("renameat");
  if (fault.hits()) {
    // ERRNO 0 acts as over NFS: the call succeeded, and its answer got lost.
    if (fault.error == 0) next(a, from, b, to);
    return errno = fault.error ? fault.error : ESTALE, -1;
  }
  return next(a, from, b, to);
}
int unlinkat(int dir, const char* path, int flags) {
  static const auto next = real<int (*)(int, const char*, int)>("unlinkat");
  static Fault fault("unlinkat");
  if (fault.hits()) return errno = fault.error, -1;
  return next(dir, path, flags);
}
int fstat(int fd, struct stat* s) {
  static const auto next = real<int (*)(int, struct stat*)>("fstat");
  static Fault fault("fstat");
  if (is_ours(fd) && fault.hits()) return errno = fault.error, -1;
  return next(fd, s);
}
int fstat64(int fd, struct stat64* s) { return fstat(fd, reinterpret_cast<struct stat*>(s)); }

}  // extern "C"
