#include "demo.hpp"

#include <charconv>
#include <cstdio>

namespace demo {

int run(int argc, char** argv, const char* help, size_t most, void (*body)(const Arguments&)) {
  const Arguments arguments(argv + 1, argv + argc);
  std::string name = argv[0];
  name = name.substr(name.rfind('/') + 1);
  for (const std::string& a : arguments) {
    if (a == "--help" || a == "-h") {
      std::printf("%s", help);
      return 0;
    }
  }
  try {
    for (const std::string& a : arguments) {
      if (a.starts_with("--")) throw Failure("unknown option " + a + " (try --help)");
    }
    if (arguments.size() > most) throw Failure("too many arguments (try --help)");
    body(arguments);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return 1;
  }
}

std::string argument(const Arguments& a, size_t i, const std::string& otherwise) {
  return i < a.size() ? a[i] : otherwise;
}

long number(const Arguments& a, size_t i, long otherwise, long low, long high) {
  if (i >= a.size()) return otherwise;
  long value = 0;
  const char* end = a[i].data() + a[i].size();
  const auto [stop, error] = std::from_chars(a[i].data(), end, value);
  if (error != std::errc{} || stop != end || value < low || value > high) {
    throw Failure("'" + a[i] + "' is not a number from " + std::to_string(low) + " to " +
                  std::to_string(high));
  }
  return value;
}

std::string data_file(const std::string& name) { return std::string(DEMO_DATA_DIR) + "/" + name; }

void report(const std::string& title) {
  static lazy::Metrics before;
  const auto now = lazy::metrics();
  const auto since = [&](auto counter) {
    return static_cast<unsigned long long>(now.*counter - before.*counter);
  };
  using M = std::decay_t<decltype(now)>;
  const auto counted = [&](auto counter, const std::string& what) {
    const auto n = since(counter);
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  std::printf(
      "  %-24s recorded %s, flushed %s: %s from the cache, %llu new;\n"
      "  %-24s compiled %s in %.2f ms, launched %llu\n",
      title.c_str(), counted(&M::nodes_recorded, "op").c_str(), counted(&M::flushes, "time").c_str(),
      counted(&M::program_hits, "program").c_str(), since(&M::program_misses), "",
      counted(&M::kernels_compiled, "kernel").c_str(), static_cast<double>(since(&M::compile_ns)) * 1e-6,
      since(&M::launches));
  std::fflush(stdout);
  before = now;
}

}  // namespace demo
