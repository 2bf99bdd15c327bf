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
  std::printf(
      "  %-24s recorded %llu ops, flushed %llu times: %llu programs from the cache, %llu new;\n"
      "  %-24s compiled %llu kernels in %.2f ms, launched %llu\n",
      title.c_str(), since(&M::nodes_recorded), since(&M::flushes), since(&M::program_hits),
      since(&M::program_misses), "", since(&M::kernels_compiled),
      static_cast<double>(since(&M::compile_ns)) * 1e-6, since(&M::launches));
  std::fflush(stdout);
  before = now;
}

}  // namespace demo
