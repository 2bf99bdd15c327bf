// slow_programs NAME slow|innocent: runs one of the programs.
#include <cstdio>
#include <cstring>

#include "tests/exercises/slow/program.hpp"

int main(int argc, char** argv) {
  const auto& all = exercises::programs();
  const auto at = argc == 3 ? all.find(argv[1]) : all.end();
  if (at == all.end()) {
    for (const auto& [name, functions] : all) std::printf("%s\n", name.c_str());
    return 2;
  }
  (std::strcmp(argv[2], "slow") == 0 ? at->second.first : at->second.second)();
}
