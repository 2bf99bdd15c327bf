#include "backends/cuda/api/library.hpp"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "support/config.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace lazy::cuda_backend::api {
namespace {

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return paths;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end > at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Returns the folders in the order in which they are tried; "" leaves it to the dynamic linker.
std::vector<std::string> folders() {
  if (const std::string& only = config::get().cuda_path.get(); !only.empty()) return split(only);
  std::vector<std::string> all{""};
  const auto add = [&](const char* variable, const char* rest, bool pattern) {
    const char* root = secure_getenv(variable);
    if (!root || !*root) return;
    if (!pattern) return all.push_back(std::string(root) + rest);
    for (std::string& p : matching(std::string(root) + rest)) all.push_back(std::move(p));
  };
  for (const char* python : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    add(python, "/lib/python3*/site-packages/nvidia/*/lib", true);
  add("CONDA_PREFIX", "/lib", false);
  for (std::string& p : matching("/usr/lib*/python3*/*-packages/nvidia/*/lib")) all.push_back(std::move(p));
  for (std::string& p : matching("/usr/local/lib/python3*/*-packages/nvidia/*/lib"))
    all.push_back(std::move(p));
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) add(home, "/lib64", false);
  all.emplace_back("/usr/local/cuda/lib64");
  std::vector<std::string> once;
  for (std::string& folder : all)
    if (std::find(once.begin(), once.end(), folder) == once.end()) once.push_back(std::move(folder));
  return once;
}

std::vector<std::string> files_of(std::initializer_list<const char*> names) {
  std::vector<std::string> files;
  const auto tried = folders();
  for (const char* name : names)
    for (const std::string& folder : tried) files.push_back(folder.empty() ? name : folder + "/" + name);
  return files;
}

}  // namespace

SharedLibrary::SharedLibrary(const char* what, std::initializer_list<const char*> names)
    : what_(what), library_(files_of(names)) {
  if (!path().empty()) {
    if (logging::enabled(logging::Channel::device))
      logging::print(logging::Channel::device, "%s: %s", what, path().c_str());
    return;
  }
  std::string places, wanted;
  for (const char* name : names) wanted += (wanted.empty() ? "" : ", ") + std::string(name);
  for (const std::string& folder : folders())
    places += (places.empty() ? "" : ", ") + (folder.empty() ? "the dynamic linker's folders" : folder);
  const bool there = !library_.why().empty() && library_.why().find("No such file") == std::string::npos;
  throw DeviceError("no " + what_ + ": looked for " + wanted + " in " +
                    (places.empty() ? "no folder" : places) + (there ? " (" + library_.why() + ")" : ""));
}

void SharedLibrary::fail(const char* symbol) const {
  throw DeviceError(what_ + " (" + path() + ") has no " + symbol + ": it is too old");
}

}  // namespace lazy::cuda_backend::api
