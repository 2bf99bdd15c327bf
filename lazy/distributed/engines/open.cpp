// Opens the shared objects of engines of others: beside the program, beside the library, where the library
// was built, and where the linker looks.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "lazy/distributed/engines/engines.hpp"
#include "lazy/distributed/engines/plugin.hpp"
#include "support/error.hpp"
#include "support/optional_library.hpp"

namespace lazy::distributed::detail {
namespace {

constexpr size_t kWhyBytes = 1000;

struct Plugin {
  std::string why;  // it can't be used; empty: it can
  PluginMake make = nullptr;
  PluginPlace place = nullptr;
  PluginTell tell = nullptr;
};

std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> all;
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&places_of), &own) && own.dli_fname)
    all.push_back((std::filesystem::path(own.dli_fname).parent_path() / file).string());
  if (!folder.empty()) {
    all.push_back((folder / file).string());
    // Programs of a build folder lie in folders of their own beside the library.
    for (auto up = folder; up.has_relative_path(); up = up.parent_path()) {
      all.push_back((up / "engines" / file).string());
      all.push_back((up / "lib" / file).string());
    }
  }
  all.push_back(file);
  return all;
}

const Plugin& plugin(const std::string& name) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::string, Plugin>;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = all.try_emplace(name);
  Plugin& p = at->second;
  if (!fresh) return p;
  std::vector<std::string> files;
  std::error_code ignored;
  for (const std::string& f : places_of("liblazy_" + name + ".so"))
    if (f.find('/') == f.npos || std::filesystem::exists(f, ignored)) files.push_back(f);
  OptionalLibrary library(files);
  PluginVersion version = nullptr;
  library.need("lazy_plugin_version", version).need("lazy_plugin_make", p.make);
  p.why = library.why();
  library.find("lazy_plugin_place", p.place);
  library.find("lazy_plugin_tell", p.tell);
  if (p.why.empty() && version() != kPluginVersion) p.why = library.file() + " is of another version";
  return p;
}

const Plugin& usable(const std::string& name) {
  const Plugin& p = plugin(name);
  if (!p.why.empty()) throw CommunicationError("LAZY_COMM=" + name + ": the engine can't be used: " + p.why);
  return p;
}

}  // namespace

bool has_plugin(const std::string& name, std::string* why) {
  const Plugin& p = plugin(name);
  if (why) *why = p.why;
  return p.why.empty();
}

std::unique_ptr<Engine> plugin_engine(const std::string& name, Meeting& meeting, Clock::time_point deadline) {
  const Plugin& p = usable(name);
  const Gather gather = [&](const std::string& own) { return meeting.gather(own, deadline); };
  EngineRequest request;
  request.rank = meeting.rank(), request.size = meeting.size();
  request.host = meeting.hosts()[static_cast<size_t>(meeting.rank())].c_str();
  request.gather = &gather;
  char why[kWhyBytes] = {};
  std::unique_ptr<Engine> engine(p.make(request, why, sizeof why));
  if (!engine) throw CommunicationError(name + ": " + why);
  return engine;
}

std::pair<int, int> place_by_plugin(const std::string& name) {
  const Plugin& p = usable(name);
  char why[kWhyBytes] = {};
  int rank = 0, size = 1;
  if (!p.place || !p.place(&rank, &size, why, sizeof why)) throw CommunicationError(name + ": " + why);
  return {rank, size};
}

Meeting meet_by_plugin(const std::string& name, Clock::time_point deadline) {
  const auto [rank, size] = place_by_plugin(name);
  const PluginTell tell = usable(name).tell;
  return Meeting::told(
      [&](std::string& place) {
        char text[512] = {};
        std::strncpy(text, place.c_str(), sizeof text - 1);
        tell(text, sizeof text);
        place = text;
      },
      rank, size, deadline);
}

}  // namespace lazy::distributed::detail
