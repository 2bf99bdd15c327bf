// Gives a test a separate cache of programs on disk, and lists its contents.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cache/process_store.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/common/folder.hpp"

namespace lazy::test {

/// Stores programs of this process there for a scope; none are in memory when it begins and when it ends.
struct ProgramCache {
  Folder folder;
  config::Override on{"LAZY_CACHE", "on"}, where{"LAZY_CACHE_DIR", folder / "c"};
  ProgramCache() { cache::clear(); }
  ~ProgramCache() { cache::clear(); }
};

/// Returns keys and values.
inline std::vector<std::pair<std::string, std::string>> records() {
  std::vector<std::pair<std::string, std::string>> all;
  cache::process_store()->for_each([&](const cache::Store::Listed& l) { all.emplace_back(l.key, l.value); });
  return all;
}

}  // namespace lazy::test
