#include "support/cgroup.hpp"

#include <fstream>

namespace lazy {

std::vector<std::string> cgroup_folders(std::string_view controller) {
  std::vector<std::string> all;
  const auto climb = [&](const std::string& root, std::string path) {
    for (;;) {
      all.push_back(root + path);
      if (path.empty()) return;
      path.resize(path.rfind('/'));  // "/a/b" -> "/a" -> ""
    }
  };
  const std::string wanted(controller);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path", or "3:cpu,cpuacct:/path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/' || path == "/") path.clear();
    if (controllers.empty()) climb("/sys/fs/cgroup", path);
    if (("," + controllers + ",").find("," + wanted + ",") == std::string::npos) continue;
    climb("/sys/fs/cgroup/" + wanted, path);
    if (controllers != wanted) climb("/sys/fs/cgroup/" + controllers, path);
  }
  return all;
}

}  // namespace lazy
