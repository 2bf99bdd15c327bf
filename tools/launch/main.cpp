// Runs lazy-launch: starts a program as the ranks of a world, and what belongs to that.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "tools/launch/commands.hpp"
#include "tools/launch/words.hpp"

namespace {

struct Command {
  const char* name;
  int (*run)(int, char**);
};
constexpr Command kCommands[] = {{"run", lazy::tool::run_command},
                                 {"config", lazy::tool::config_command},
                                 {"env", lazy::tool::env_command},
                                 {"estimate-memory", lazy::tool::estimate_command},
                                 {"merge-weights", lazy::tool::merge_command},
                                 {"test", lazy::tool::test_command},
                                 {"test-rank", [](int, char**) { return lazy::tool::test_rank(); }}};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1)
      for (const Command& c : kCommands)
        if (!std::strcmp(argv[1], c.name)) return c.run(argc - 1, argv + 1);
    if (argc > 1) {
      std::vector<std::string> names;
      for (const Command& c : kCommands)
        if (std::strcmp(c.name, "test-rank")) names.push_back(c.name);
      if (const std::string wrong = lazy::tool::misspelt_command(argv[1], names); !wrong.empty()) {
        std::fprintf(stderr, "lazy-launch: %s\n", wrong.c_str());
        return 2;
      }
    }
    return lazy::tool::run_command(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lazy-launch: %s\n", e.what());
    return 1;
  }
}
