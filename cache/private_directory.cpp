#include "cache/private_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/config.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace lazy::cache {
namespace {

std::string octal(unsigned mode) {
  std::string s;
  for (int shift = 9; shift >= 0; shift -= 3) s += static_cast<char>('0' + (mode >> shift & 7));
  return s;
}

// Makes a folder and its parents, like mkdir -p. Errors show when the folder is opened.
void make_all(const std::string& path) {
  for (size_t at = 1; at < path.size(); ++at)
    if (path[at] == '/') mkdir(path.substr(0, at).c_str(), 0700);
  mkdir(path.c_str(), 0700);
}

}  // namespace

// A user who may only start a program with more rights than his own does not decide where it writes.
std::string default_directory() {
  if (const std::string& set = config::get().cache_dir.get(); !set.empty()) return set;
  if (const char* xdg = secure_getenv("XDG_CACHE_HOME"); xdg && *xdg == '/')
    return std::string(xdg) + "/lazy";
  if (const char* home = secure_getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.cache/lazy";
  return {};
}

DirectoryResult open_private_directory(const std::string& given, bool create) {
  DirectoryResult r;
  std::string path = given;
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // "link/" would follow the link
  const std::string shown = text::one_line(path, 200);
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  Fd fd(files::open(path.c_str(), flags));
  if (!fd && errno == ENOENT && create) {
    make_all(path);
    fd = Fd(files::open(path.c_str(), flags));
  }
  if (!fd) {
    const int e = errno;
    struct stat s {};
    r.refused = lstat(path.c_str(), &s) == 0 && (S_ISLNK(s.st_mode) || !S_ISDIR(s.st_mode));
    r.problem = "cache folder " + shown +
                (!r.refused           ? std::string(": ") + std::strerror(e)
                 : S_ISLNK(s.st_mode) ? " is a symbolic link"
                                      : " is not a folder");
    return r;
  }
  struct stat s {};
  if (fstat(fd.get(), &s) != 0) {
    r.problem = "cache folder " + shown + ": " + std::strerror(errno);
    return r;
  }
  if (s.st_uid != geteuid()) {
    r.problem = "cache folder " + shown + " belongs to user " + std::to_string(s.st_uid) + ", not to " +
                std::to_string(geteuid());
  } else if (s.st_mode & (S_IWGRP | S_IWOTH)) {
    r.problem = "cache folder " + shown + " may be written to by others (mode " + octal(s.st_mode & 07777) +
                "; wanted 0700)";
  }
  r.refused = !r.problem.empty();
  if (!r.refused) r.fd = std::move(fd);
  return r;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  files::names_in(folder, ".", names);
  return names;
}

bool is_private_file(int fd, std::string& why) {
  struct stat s {};
  if (fstat(fd, &s) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(s.st_mode)) {
    why = "is not a regular file";
  } else if (s.st_uid != geteuid()) {
    why = "belongs to user " + std::to_string(s.st_uid);
  } else if (s.st_mode & (S_IWGRP | S_IWOTH)) {
    why = "may be written to by others (mode " + octal(s.st_mode & 07777) + ")";
  } else {
    return true;
  }
  return false;
}

}  // namespace lazy::cache
