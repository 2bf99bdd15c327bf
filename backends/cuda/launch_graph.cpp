#include "backends/cuda/launch_graph.hpp"

#include <algorithm>
#include <atomic>

#include "backends/cuda/code.hpp"
#include "backends/cuda/gpu.hpp"
#include "support/config.hpp"
#include "support/metrics.hpp"

namespace lazy::cuda_backend {
using jit::loop::ArgLayout;
namespace {

thread_local CudaLaunchCapture* recording = nullptr;
thread_local const Gpu* recorded_on = nullptr;

api::KernelNodeParams node_of(const Launched& l, void** params) {
  api::KernelNodeParams n{};
  // A launch takes a CUkernel for a CUfunction (cuLaunchKernel's documentation); a node has a member for it.
  n.kernel = reinterpret_cast<api::CudaKernel>(l.function);
  n.grid_x = l.blocks;
  n.grid_y = n.grid_z = 1;
  n.block_x = l.threads;
  n.block_y = n.block_z = 1;
  n.shared_bytes = l.shared_bytes;
  n.params = params;
  return n;
}

}  // namespace

LaunchGraphs::State& LaunchGraphs::state_of(uint64_t program) {
  if (const auto known = by_program_.find(program); known != by_program_.end()) {
    states_.splice(states_.begin(), states_, known->second);
    return states_.front();
  }
  if (states_.size() >= kMost) {
    destroy(states_.back());
    by_program_.erase(states_.back().program);
    states_.pop_back();
  }
  states_.emplace_front().program = program;
  by_program_.emplace(program, states_.begin());
  return states_.front();
}

void LaunchGraphs::destroy(State& s) const {
  if (s.exec) gpu_.check(gpu_.driver.graph_exec_destroy(s.exec), "cuGraphExecDestroy");
  if (s.graph) gpu_.check(gpu_.driver.graph_destroy(s.graph), "cuGraphDestroy");
  s.exec = nullptr;
  s.graph = nullptr;
  s.nodes.clear();
  s.version = 0;
}

void LaunchGraphs::build(State& s) {
  destroy(s);  // what an earlier attempt left
  gpu_.check(gpu_.driver.graph_create(&s.graph, 0), "cuGraphCreate");
  for (size_t i = 0; i < s.launches.size(); ++i) {
    const Launched l = s.launches[i];
    void* params[] = {const_cast<uint64_t*>(l.words)};
    const api::KernelNodeParams node = node_of(l, params);
    api::GraphNode made = nullptr;
    const api::GraphNode* before = s.nodes.empty() ? nullptr : &s.nodes.back();
    gpu_.check(gpu_.driver.graph_add_kernel(&made, s.graph, before, before ? 1 : 0, &node),
               "cuGraphAddKernelNode");
    s.nodes.push_back(made);
  }
  gpu_.check(gpu_.with_room([&] { return gpu_.driver.graph_instantiate(&s.exec, s.graph, 0); }),
             "cuGraphInstantiate");
}

bool LaunchGraphs::update(const State& s, const LaunchList& launches) const {
  for (size_t i = 0; i < launches.size(); ++i) {
    if (s.launches.same(i, launches[i])) continue;
    const Launched l = launches[i];
    void* params[] = {const_cast<uint64_t*>(l.words)};
    const api::KernelNodeParams node = node_of(l, params);
    if (gpu_.driver.graph_set_kernel(s.exec, s.nodes[i], &node) != api::kSuccess) return false;
  }
  return true;
}

void LaunchGraphs::run(uint64_t program, const CudaLaunchGraph& kept) {
  constexpr int kRunsBefore = 2;
  const LaunchList& launches = kept.launches;
  const std::lock_guard hold(lock_);
  State& s = state_of(program);
  gpu_.enter();
  if (!s.exec || s.version != kept.version) {
    if (!launches.like(s.launches)) {
      destroy(s);
      s.runs = 0;
    }
    if (++s.runs <= kRunsBefore) {
      for (size_t i = 0; i < launches.size(); ++i) gpu_.launch_now(launches[i]);
      s.launches = launches;
      return;
    }
    s.version = 0;  // should it fail halfway
    const bool fits = s.exec && update(s, launches);
    s.launches = launches;
    if (!fits) build(s);
    s.version = kept.version;
  }
  gpu_.check(gpu_.driver.graph_launch(s.exec, gpu_.stream), "cuGraphLaunch");
  metric::add(MetricCounter::graph_launches);
}

CudaLaunchCapture* CudaLaunchCapture::current(const Gpu& gpu) {
  return recorded_on == &gpu ? recording : nullptr;
}

config::Sums sums_on(const Gpu& gpu) {
  const CudaLaunchCapture* const r = CudaLaunchCapture::current(gpu);
  return r ? r->sums() : config::get().cuda_sums.get();
}

CudaLaunchCapture::CudaLaunchCapture(Gpu& gpu, uint64_t program, CudaLaunchGraph& kept)
    : gpu_(gpu), program_(program), kept_(kept) {
  if (const config::Sums sums = config::get().cuda_sums; kept_.sums != sums) {
    kept_ = {};
    kept_.sums = sums;
  }
  recording = this;
  recorded_on = &gpu;
}
CudaLaunchCapture::~CudaLaunchCapture() {
  recording = nullptr;
  recorded_on = nullptr;
  give_back();
}

void CudaLaunchCapture::launch(const jit::Kernel& kernel, const uint64_t* words, size_t count,
                               const jit::Change& change) {
  if (again(kernel, words, count, change)) return;
  open_ = {&kernel, count, 0, 0, false};
  fresh_.cut(0);
  fresh_launched_ = 0;
  copy_.assign(words, words + count);
  given_ = words;
  try {
    kernel.launch(copy_.data());
  } catch (...) {
    given_ = nullptr;
    throw;
  }
  given_ = nullptr;
  keep_step();
}

bool CudaLaunchCapture::again(const jit::Kernel& kernel, const uint64_t* words, size_t count,
                              const jit::Change& change) {
  if (step_ == kept_.steps.size()) return false;
  const CudaLaunchGraph::Step& s = kept_.steps[step_];
  if (s.kernel != &kernel || s.count != count || !s.plain || change.address_bits % kAddressesAlike)
    return false;
  const Borrowed memory(gpu_, s.scratch_bytes);
  const auto scratch = reinterpret_cast<uint64_t>(memory.get());
  for (; held_ < s.end; ++held_) {
    if (!change && !scratch) continue;
    uint64_t* const w = kept_.launches.words(held_);
    if (change) std::copy(words + ArgLayout::kBox, words + count, w + ArgLayout::kBox);
    if (change || (scratch && w[ArgLayout::kScratch] != scratch)) kept_.version = 0;
    if (scratch) w[ArgLayout::kScratch] = scratch;
  }
  ++step_;
  return true;
}

/// Replaces what its step launched before by what the kernel has just launched.
void CudaLaunchCapture::keep_step() {
  LaunchList& all = kept_.launches;
  const size_t n = fresh_.size();
  if (step_ < kept_.steps.size() && kept_.steps[step_].end == held_ + n && all.like(held_, n, fresh_, 0)) {
    for (size_t i = 0; i < n; ++i) {
      if (all.same(held_ + i, fresh_[i])) continue;
      all.put(held_ + i, fresh_[i]);
      kept_.version = 0;
    }
  } else {
    kept_.steps.resize(step_);
    all.cut(held_);
    for (size_t i = 0; i < n; ++i) all.add(fresh_[i]);
    kept_.version = 0;
  }
  if (fresh_launched_ > 0) launched_ = held_ + fresh_launched_;
  held_ += n;
  open_.end = held_;
  if (step_ == kept_.steps.size()) kept_.steps.push_back(open_);
  else kept_.steps[step_] = open_;
  ++step_;
}

void CudaLaunchCapture::note_plan(const jit::Kernel& kernel, size_t scratch_bytes) {
  open_.plain = open_.kernel == &kernel;
  open_.scratch_bytes = scratch_bytes;
}

void CudaLaunchCapture::add(const Launched& l) {
  if (!given_) {
    interrupt();
    return gpu_.launch_now(l);
  }
  open_.plain &= l.count == open_.count &&
                 std::equal(l.words + ArgLayout::kBox, l.words + l.count, given_ + ArgLayout::kBox);
  fresh_.add(l);
}

void CudaLaunchCapture::give_back() noexcept {
  for (const auto& [block, size] : freed_) gpu_.allocator.give_back(block, size);
  freed_.clear();
}

void CudaLaunchCapture::keep(void* block, size_t size) noexcept {
  try {
    freed_.push_back({block, size});
  } catch (...) {  // no memory to remember it: once what was recorded is in the stream anyone may have it
    try {
      interrupt();
      gpu_.allocator.give_back(block, size);
    } catch (...) {}  // the device takes nothing more: nobody can use the block
  }
}

bool CudaLaunchCapture::release() {
  if (freed_.empty()) return false;
  interrupt();
  give_back();
  return true;
}

void CudaLaunchCapture::interrupt() {
  interrupted_ = true;
  gpu_.enter();
  for (; launched_ < held_; ++launched_) gpu_.launch_now(kept_.launches[launched_]);
  if (!given_) return;
  open_.plain = false;
  for (; fresh_launched_ < fresh_.size(); ++fresh_launched_) gpu_.launch_now(fresh_[fresh_launched_]);
}

void CudaLaunchCapture::finish() {
  kept_.steps.resize(step_);
  kept_.launches.cut(held_);
  if (interrupted_ || held_ < 2) return interrupt();
  static std::atomic<uint64_t> versions{0};
  if (kept_.version == 0) kept_.version = ++versions;
  gpu_.graphs.run(program_, kept_);
}

void* CudaLaunchCapture::take(size_t size) {
  for (auto i = freed_.rbegin(); i != freed_.rend(); ++i)
    if (i->second == size) {
      void* const block = i->first;
      freed_.erase(std::next(i).base());
      return block;
    }
  return nullptr;
}

}  // namespace lazy::cuda_backend
