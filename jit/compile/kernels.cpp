#include "jit/compile/kernels.hpp"

#include "cache/lru.hpp"
#include "jit/observe/profile.hpp"
#include "support/config.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

cache::LruCache<const Kernel>& kernels() {
  static constinit Once<cache::LruCache<const Kernel>> cache;
  return cache.get([] {
    return cache::LruCache<const Kernel>(config::get().cache_entries * 4u, config::get().cache_size);
  });
}

template <class Make>
std::shared_ptr<const Kernel> find_or_make(std::string_view identity, Backend& backend, MetricCounter made,
                                           Make&& make) {
  std::string key = backend.name();
  key += '\0';
  key += identity;
  bool here = false;
  auto kernel = kernels().get_or_fill(cache::KeyView(key.data(), key.size()), [&] {
    here = true;
    std::shared_ptr<const Kernel> k = make();
    const size_t weight = k ? k->code_bytes() + key.size() : 0;
    return cache::Filled<const Kernel>{std::move(k), weight};
  });
  if (kernel) metric::add(here ? made : MetricCounter::kernel_hits);
  return kernel;
}

}  // namespace

std::shared_ptr<const Kernel> kernel_for(const loop::LoopKernel& k, Backend& backend) {
  return find_or_make(loop::identity(k), backend, MetricCounter::kernels_compiled, [&] {
    const profile::Ticks start = profile::start_time();
    auto made = backend.compile(k);
    if (start) event::codegen(start, k.name, made->code_bytes());
    return made;
  });
}

std::shared_ptr<const Kernel> kernel_from(std::string_view identity, std::string_view name,
                                          std::string_view at, std::string_view stored, Backend& backend) {
  return find_or_make(identity, backend, MetricCounter::kernels_loaded, [&]() -> std::unique_ptr<Kernel> {
    auto k = loop::from_identity(identity);
    if (!k) return nullptr;
    k->name = name;
    k->at = at;
    return backend.load(*k, stored);
  });
}

std::shared_ptr<const Kernel> rows_for(const loop::FusedRows& r, const std::string& name, Backend& backend) {
  return find_or_make(loop::identity(r), backend, MetricCounter::kernels_compiled, [&] {
    const profile::Ticks start = profile::start_time();
    auto made = backend.compile_rows(r);
    if (start && made) event::codegen(start, name, made->code_bytes());
    return made;
  });
}

std::shared_ptr<const Kernel> rows_from(const loop::FusedRows& r, std::string_view stored, Backend& backend) {
  return find_or_make(loop::identity(r), backend, MetricCounter::kernels_loaded,
                      [&] { return backend.load_rows(r, stored); });
}

void clear_kernel_cache() { kernels().clear(); }

}  // namespace lazy::jit
