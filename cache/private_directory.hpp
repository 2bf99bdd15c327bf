// The folder that the store lives in. What lies there is executed, so no one else may be able to write to it.
#pragma once
#include <string>
#include <vector>

#include "cache/fd.hpp"

namespace lazy::cache {

/// LAZY_CACHE_DIR, else $XDG_CACHE_HOME/lazy, else $HOME/.cache/lazy; empty when none of them is set.
/// Relative values of the XDG variable don't count (XDG base directory specification).
std::string default_directory();

struct DirectoryResult {
  Fd fd;                 // of the folder, which every file is then opened by
  std::string problem;   // why there is none, a line
  bool refused = false;  // it exists and can't be trusted
};
/// Opens it; `create`: makes it and missing parents, mode 0700. Refused: a symbolic link, another user's, one
/// that others may write to.
DirectoryResult open_private_directory(const std::string& path, bool create);

/// What is in a folder, given its descriptor; nothing if it can't be read.
std::vector<std::string> names_in(int folder);

/// Whether a file, by its open descriptor, is a regular one of ours that no one else may write to. `why` gets
/// the reason if not.
bool is_private_file(int fd, std::string& why);

}  // namespace lazy::cache
