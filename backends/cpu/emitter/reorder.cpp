#include "backends/cpu/emitter/reorder.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

namespace lazy::cpu_backend {
namespace {
using vir::Inst;

/// True for code that has an order of its own: loops, checks, calls, loads at computed indices.
bool keeps_its_order(const Template& t) {
  return t.indexed || !t.carried.empty() || !t.updates.empty() ||
         std::any_of(t.code.begin(), t.code.end(), [](const Inst& in) {
           return in.op == vir::Op::patch || in.op == kRolledLoop || is_indexed_load(in.op) ||
                  has_effect(in.op);
         });
}

class Scheduler {
 public:
  explicit Scheduler(const Template& t)
      : t_(t), users_(t.code.size()), height_(t.code.size(), -1), waits_for_(t.code.size(), 0) {
    for (const auto& s : t.stores) height_[s.value] = 0;
    for (uint32_t v = size(); v-- > 0;) {
      if (height_[v] < 0) continue;  // dead
      each_operand(t.code[v], [&](uint32_t u) {
        height_[u] = std::max(height_[u], height_[v] + latency_of(t.code[v]));
        if (!is_computed(u)) return;
        users_[u].push_back(v);
        ++waits_for_[v];
      });
    }
  }

  /// Returns the computed values that are needed, in an order to compute them in.
  std::vector<uint32_t> run() {
    std::vector<uint32_t> order;
    std::vector<int> ready_at(t_.code.size(), 0);
    // The highest of those that can begin now, and the others by the time when they can. Of equals the first.
    using Entry = std::pair<int, uint32_t>;
    std::priority_queue<Entry> now;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> later;
    for (uint32_t v = 0; v < size(); ++v)
      if (is_computed(v) && height_[v] >= 0 && waits_for_[v] == 0) later.emplace(0, v);
    for (int cycle = 0; !now.empty() || !later.empty(); ++cycle) {
      if (now.empty()) cycle = std::max(cycle, later.top().first);
      for (; !later.empty() && later.top().first <= cycle; later.pop())
        now.emplace(height_[later.top().second], ~later.top().second);
      const uint32_t v = ~now.top().second;
      now.pop();
      order.push_back(v);
      for (const uint32_t u : users_[v]) {
        ready_at[u] = std::max(ready_at[u], cycle + latency_of(t_.code[v]));
        if (--waits_for_[u] == 0) later.emplace(ready_at[u], u);
      }
    }
    return order;
  }

  /// Returns the most computed values that are alive at a time.
  int pressure(const std::vector<uint32_t>& order) const {
    std::vector<uint32_t> left(t_.code.size(), 0);
    for (const uint32_t v : order) each_operand(t_.code[v], [&](uint32_t u) { ++left[u]; });
    int alive = 0, most = 0;
    for (const uint32_t v : order) {
      each_operand(t_.code[v], [&](uint32_t u) { alive -= --left[u] == 0 && is_computed(u); });
      most = std::max(most, ++alive);
    }
    return most;
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(t_.code.size()); }
  bool is_computed(uint32_t v) const { return block_arity(t_.code[v].op) > 0; }

  const Template& t_;
  std::vector<std::vector<uint32_t>> users_;
  std::vector<int> height_;  // cycles from a value's result to the end; -1: nothing needs it
  std::vector<uint32_t> waits_for_;
};

void apply(Template& t, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> to(t.code.size(), 0);
  std::vector<Inst> out;
  out.reserve(t.code.size());
  const auto move = [&](uint32_t v) {
    Inst in = t.code[v];
    const int arity = block_arity(in.op);
    if (arity > 0) in.a = to[in.a];
    if (arity > 1) in.b = to[in.b];
    if (arity > 2) in.c = to[in.c];
    if (arity > 3) in.d = to[in.d];
    to[v] = static_cast<uint32_t>(out.size());
    out.push_back(in);
  };
  for (uint32_t v = 0; v < t.code.size(); ++v)
    if (block_arity(t.code[v].op) == 0) move(v);
  for (const uint32_t v : order) move(v);
  t.code = std::move(out);
  for (auto& s : t.stores) s.value = to[s.value];
}

constexpr size_t kShort = 40;  // what a processor looks ahead over anyway

}  // namespace

void interleave_chains(Template& t, int registers) {
  if (t.code.size() <= kShort || keeps_its_order(t)) return;
  Scheduler s(t);
  const std::vector<uint32_t> order = s.run();
  if (s.pressure(order) <= registers) apply(t, order);
}

}  // namespace lazy::cpu_backend
