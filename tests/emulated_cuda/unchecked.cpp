#include "tests/emulated_cuda/unchecked.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "tests/emulated_cuda/compiler.hpp"
#include "tests/emulated_cuda/hash.hpp"
#include "tests/emulated_cuda/scan.hpp"

namespace emulated {
namespace {

struct Unchecked {
  std::mutex mutex;
  std::map<std::string, std::string> names;  // by text
  std::set<uint64_t> checked;                // hashes of texts
  pid_t owner = getpid();                    // a child of the process leaves them to it
};

// Never destroyed: threads compile until the process ends.
Unchecked& unchecked() {
  static Unchecked& all = *new Unchecked;
  return all;
}

/// Runs when the process ends by exit().
[[gnu::destructor]] void check_rest() {
  if (getpid() != unchecked().owner) return;
  const std::lock_guard lock(unchecked().mutex);
  if (unchecked().names.empty()) return;
  std::string source;
  for (const auto& [text, name] : unchecked().names) {
    // Kernels of two texts may have the same name: each text is in a namespace that tells them apart.
    source += "namespace text" + std::to_string(source.size()) + " {\n#line 1 \"" + name + "\"\n" +
              with_own_names(text) + "\n}\n";
  }
  const std::string errors = errors_in(source);
  if (errors.empty()) return;
  std::fprintf(stderr, "emulated_cuda: a kernel that was not launched does not compile\n%s", errors.c_str());
  std::_Exit(2);
}

}  // namespace

void note_unchecked(const std::string& name, const std::string& text) {
  const std::lock_guard lock(unchecked().mutex);
  if (unchecked().checked.count(hash(text)) == 0) unchecked().names.try_emplace(text, name);
}

void note_checked(const std::string& text) {
  const std::lock_guard lock(unchecked().mutex);
  unchecked().names.erase(text);
  unchecked().checked.insert(hash(text));
}

}  // namespace emulated
