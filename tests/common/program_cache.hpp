// A cache of programs on disk that a test has for itself, and what lies in it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cache/process_store.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/common/folder.hpp"

namespace lazy::test {

/// Programs of this process are kept there for a scope; none are in memory when it begins and when it ends.
struct ProgramCache {
  Folder folder;
  config::Override on{"LAZY_CACHE", "on"}, where{"LAZY_CACHE_DIR", folder / "c"};
  ProgramCache() { cache::clear(); }
  ~ProgramCache() { cache::clear(); }
};

/// Keys and values.
inline std::vector<std::pair<std::string, std::string>> records() {
  std::vector<std::pair<std::string, std::string>> all;
  cache::process_store()->for_each([&](const cache::Store::Listed& l) { all.emplace_back(l.key, l.value); });
  return all;
}

}  // namespace lazy::test
