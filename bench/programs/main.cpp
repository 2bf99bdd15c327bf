// Times ordinary programs. Prints one line each: peer, name, size, threads, the median in microseconds, a
// number that goes with the result, and the megabytes that the process had at most beyond what it had with
// the inputs made. Compare memory a program at a time: a process never shrinks.
//
//   bench_programs [--only NAME] [--seconds S]
//   bench_programs --list            prints their names
//   bench_programs --check FILE      runs each once on small inputs; fails unless the numbers are those of
//   FILE
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "../inputs.hpp"
#include "programs.hpp"

namespace programs {

std::vector<Program>& all() {
  static std::vector<Program> programs;
  return programs;
}

lazy::Tensor uniform(lazy::ShapeArg shape, float low, float high, uint64_t seed) {
  return lazy::from_span(bench::uniform(lazy::numel(shape), low, high, seed), shape);
}

namespace {
using clock = std::chrono::steady_clock;

/// Returns a mean of all elements in which the place of each counts.
double digest(const lazy::Tensor& t) {
  const std::vector<double> v = t.to_vector<double>();
  double sum = 0;
  for (size_t i = 0; i < v.size(); ++i) sum += v[i] * static_cast<double>(1 + i % 7);
  return sum / static_cast<double>(v.size());
}

/// Returns a line of /proc/self/status, such as VmHWM, in MB; 0 where there is none.
double memory_mb(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == line + ":") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1e3;
    }
  return 0;
}

void measure(const Program& p, double seconds) {
  const Run run = p.begin({false});
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const double before = memory_mb("VmRSS");
  for (int i = 0; i < 2; ++i) run().eval();
  const double peak = memory_mb("VmHWM") - before;
  std::vector<double> times;
  const auto begin = clock::now();
  const auto since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  lazy::Tensor result;
  while (times.size() < 3 || (since(begin) < seconds && times.size() < 1000)) {
    const auto start = clock::now();
    result = run();
    result.eval();
    times.push_back(since(start) * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
  const char* threads = std::getenv("LAZY_NUM_THREADS");
  std::printf("lazy,%s,%s,%s,%.5g,%.9g,%.1f\n", p.name.c_str(), p.size.c_str(), threads ? threads : "",
              times[times.size() / 2], digest(result), peak);
  std::fflush(stdout);
}

/// Returns how many programs differ from the numbers of a file, whose lines are name and number.
int check(const char* path) {
  std::ifstream file(path);
  std::map<std::string, double> expected;
  std::string name;
  for (double value; file >> name >> value;) expected[name] = value;
  int wrong = 0;
  for (const Program& p : all()) {
    const double found = digest(p.begin({true})());
    const auto at = expected.find(p.name);
    const bool same =
        at != expected.end() && std::abs(found - at->second) <= 1e-4 * std::max(1.0, std::abs(at->second));
    if (same) continue;
    std::printf("%s: %.9g, expected %s\n", p.name.c_str(), found,
                at == expected.end() ? "nothing" : std::to_string(at->second).c_str());
    ++wrong;
  }
  return wrong;
}

constexpr const char* kUsage =
    "usage: bench_programs [--only NAME] [--seconds S]   times programs; lines of CSV\n"
    "       bench_programs --check FILE                  runs each once on small inputs, compares with FILE\n"
    "       bench_programs --list                        names them\n";

int run(int argc, char** argv) {
  std::string only;
  double seconds = 1;
  std::sort(all().begin(), all().end(), [](const Program& a, const Program& b) { return a.name < b.name; });
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--help") return std::fputs(kUsage, stdout) < 0;
    if (option == "--list") {
      for (const Program& p : all()) std::puts(p.name.c_str());
      return 0;
    }
    if (option == "--check" && value) return check(value) != 0;
    if (option == "--only" && value) only = value;
    else if (option == "--seconds" && value) seconds = std::atof(value);
    else {
      std::fprintf(stderr, "bench_programs: what is %s?\n%s", argv[i], kUsage);
      return 2;
    }
    ++i;
  }
  for (const Program& p : all())
    if (p.name.find(only) != std::string::npos) measure(p, seconds);
  return 0;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) { return programs::run(argc, argv); }
