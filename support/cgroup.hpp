// Finds the control groups that this process is in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lazy {

/// Returns the folders in which limits of a controller ("cpu", "memory") may be written: of this process's
/// group and of all groups above it, of either version. Folders may not exist.
std::vector<std::string> cgroup_folders(std::string_view controller);

}  // namespace lazy
