#include "tools/launch/gpus.hpp"

#include <cstdlib>
#include <sstream>

#include "lazy/core/device.hpp"

namespace lazy::tool {
namespace {

/// Returns the names of the GPUs that this process sees.
std::vector<std::string> gpus_here() {
  std::vector<std::string> names;
  if (const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream list(seen);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  } else {
    for (int i = 0, n = cuda_device_count(); i < n; ++i) names.push_back(std::to_string(i));
  }
  return names;
}

}  // namespace

std::vector<std::string> gpus_of_ranks(int ranks) {
  const char* const text = std::getenv("LAZY_DEVICE");
  const std::string device = text ? text : "";
  if (ranks < 2 || (device != "cuda" && device != "auto")) return {};
  const std::vector<std::string> all = gpus_here();
  const auto n = static_cast<int>(all.size());
  if (n < ranks) return {};
  std::vector<std::string> lists(static_cast<size_t>(ranks));
  for (int i = 0; i < n; ++i) {
    std::string& list = lists[static_cast<size_t>(i * ranks / n)];
    list += (list.empty() ? "" : ",") + all[static_cast<size_t>(i)];
  }
  return lists;
}

}  // namespace lazy::tool
