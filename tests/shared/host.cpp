// Loads plugins, in this order, and calls them side by side: host <copies> <plugin>... It links no part of
// lazy. `copies` says if each plugin contains the library ("own") or all share one ("one").
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Plugin {
  double (*compute)(int);
  long (*kernels)();
  bool (*catches)();
  double adds;
};

template <class F>
bool find(void* library, const char* name, F*& out) {
  out = reinterpret_cast<F*>(dlsym(library, name));
  if (!out) std::printf("%s\n", dlerror());
  return out != nullptr;
}

double expected(int n, double adds) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::tanh(double(i) / n) * (double(i) / n) + adds;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool own = std::strcmp(argv[1], "own") == 0;
  std::vector<Plugin> plugins;
  for (int i = 2; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::printf("%s\n", dlerror()), 1;
    Plugin p{};
    if (!find(library, "plugin_compute", p.compute) || !find(library, "plugin_kernels", p.kernels) ||
        !find(library, "plugin_catches", p.catches))
      return 1;
    p.adds = i - 1;
    plugins.push_back(p);
  }
  int wrong = 0;
  const auto check = [&](const Plugin& p, int n) {
    const double got = p.compute(n), want = expected(n, p.adds);
    if (!(std::abs(got - want) <= 1e-12 * std::abs(want)))
      std::printf("%d: %g, not %g\n", n, got, want), ++wrong;
  };
  // Runs the first alone, so that separate copies of the library are detected.
  check(plugins[0], 1000);
  if (plugins[0].kernels() == 0) std::printf("nothing was compiled\n"), ++wrong;
  for (size_t i = 1; i < plugins.size(); ++i)
    if ((plugins[i].kernels() == 0) != own) std::printf("plugin %zu: not the copies expected\n", i), ++wrong;
  for (const Plugin& p : plugins) {
    if (!p.catches()) std::printf("an error was not caught by its type\n"), ++wrong;
    for (int n = 1; n < 3'000'000; n = n * 7 + 1) check(p, n);  // the largest use several threads
  }
  std::vector<std::thread> threads;
  for (const Plugin& p : plugins) threads.emplace_back([&] { (void)p.compute(100); });
  for (std::thread& t : threads) t.join();
  if (wrong == 0) std::printf("all right\n");
  return wrong;
}
