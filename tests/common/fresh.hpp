// Shared by the tests of jit/: a clean start for each test, and a backend whose every call can be observed or
// made to fail.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "jit/backend/registry.hpp"
#include "jit/flush/flush.hpp"
#include "jit/key/report.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"

namespace fresh {

using lazy::config::Override;

/// Empties the cache of programs and zeroes counters; restores the limits at the end.
struct Fixture {
  Fixture() { reset(); }
  ~Fixture() { reset(); }
  static void reset() {
    lazy::cache::clear();
    lazy::cache::set_limits(4096, 256u << 20);
    lazy::reset_metrics();
  }
};

/// Wraps the real backend. The hooks are empty unless a test sets them.
class Probe final : public lazy::jit::Backend {
 public:
  /// Installs it at the first call, for good: memory refers to the backend it came from.
  static Probe& instance() {
    static Probe* const probe = [] {
      auto owned = std::make_unique<Probe>(std::move(lazy::jit::backends().main));
      Probe* p = owned.get();
      lazy::jit::backends().main = std::move(owned);
      return p;
    }();
    return *probe;
  }
  explicit Probe(std::unique_ptr<lazy::jit::Backend> inner) : inner_(std::move(inner)) {}

  std::function<void(lazy::jit::loop::LoopKernel&)> on_compile;  // may change the kernel, wait or throw
  std::function<void(size_t)> on_allocate;                       // may throw
  std::function<void()> on_launch;  // may throw; for kernels compiled while it is set

  /// Sets hooks for a scope. Kernels made with them are forgotten at its end.
  struct Hooks {
    ~Hooks() {
      instance().on_compile = nullptr;
      instance().on_allocate = nullptr;
      instance().on_launch = nullptr;
      lazy::cache::clear();
    }
  };

  const char* name() const override { return "probe"; }
  std::unique_ptr<lazy::jit::Kernel> compile(const lazy::jit::loop::LoopKernel& k) override {
    lazy::jit::loop::LoopKernel changed = k;
    if (on_compile) on_compile(changed);
    auto kernel = inner_->compile(changed);
    if (on_launch) return std::make_unique<Watched>(*this, std::move(kernel));
    return kernel;
  }
  std::string target() const override { return on_compile || on_launch ? "" : inner_->target(); }
  std::unique_ptr<lazy::jit::Kernel> load(const lazy::jit::loop::LoopKernel& k,
                                          std::string_view stored) override {
    return inner_->load(k, stored);
  }
  void* allocate(size_t bytes) override {
    if (on_allocate) on_allocate(bytes);
    return inner_->allocate(bytes);
  }
  void deallocate(void* p, size_t bytes) noexcept override { inner_->deallocate(p, bytes); }
  lazy::jit::Workers workers() const override { return inner_->workers(); }
  void for_each(int64_t pieces, const std::function<void(int64_t)>& task) override {
    inner_->for_each(pieces, task);
  }

 private:
  struct Watched final : lazy::jit::Kernel {
    Watched(Probe& p, std::unique_ptr<lazy::jit::Kernel> k) : probe(p), kernel(std::move(k)) {}
    void launch(uint64_t* args) const override {
      if (probe.on_launch) probe.on_launch();
      kernel->launch(args);
    }
    void launch_here(uint64_t* args) const override { kernel->launch_here(args); }
    Probe& probe;
    std::unique_ptr<lazy::jit::Kernel> kernel;
  };
  std::unique_ptr<lazy::jit::Backend> inner_;
};

/// Returns what a function writes to standard error.
template <class F>
std::string standard_error_of(F&& f) {
  char name[] = "/tmp/lazy_stderr_XXXXXX";
  const int file = mkstemp(name), kept = dup(2);
  dup2(file, 2);
  try {
    f();
  } catch (...) {
    dup2(kept, 2);
    close(kept);
    close(file);
    unlink(name);
    throw;
  }
  dup2(kept, 2);
  close(kept);
  std::string text;
  lseek(file, 0, SEEK_SET);
  char part[4096];
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  close(file);
  unlink(name);
  return text;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// Returns values 1, 2, 3, ... that exist: no node waits.
inline lazy::Tensor numbers(lazy::Shape shape, lazy::DType t = lazy::float32) {
  lazy::Tensor x = lazy::reshape(lazy::arange(1, lazy::numel(shape) + 1, 1, t), shape).copy();
  x.eval();
  return x;
}

}  // namespace fresh
