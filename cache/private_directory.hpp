// Opens the folder of the store. Its files are executed, so no one else may be able to write to it.
#pragma once
#include <string>
#include <vector>

#include "support/fd.hpp"

namespace lazy::cache {

/// Returns LAZY_CACHE_DIR, else $XDG_CACHE_HOME/lazy, else $HOME/.cache/lazy; empty when none of them is set.
/// Relative values of the XDG variable don't count (XDG base directory specification).
std::string default_directory();

struct DirectoryResult {
  Fd fd;                 // the folder, relative to which every file is then opened
  std::string problem;   // why there is none, in one line
  bool refused = false;  // true if the folder exists and can't be trusted
};
/// Opens the folder; `create`: makes it and missing parents, mode 0700. Refuses a symbolic link, another
/// user's folder, and one that others may write to.
DirectoryResult open_private_directory(const std::string& path, bool create);

/// Returns the names of a folder's files, given its descriptor; none if it can't be read.
std::vector<std::string> names_in(int folder);

/// True if the open file is a regular one of ours that no one else may write to. If not, `why` gets the
/// reason.
bool is_private_file(int fd, std::string& why);

}  // namespace lazy::cache
