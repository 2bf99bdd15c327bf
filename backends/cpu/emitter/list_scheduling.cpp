#include "backends/cpu/emitter/list_scheduling.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lazy::cpu_backend {
namespace {
using vir::Inst;
using vir::Op;
using vir::Type;

constexpr uint32_t kNowhere = ~0u;
constexpr size_t kSeen = 64;  // so many of the instructions that may come next are compared

/// True for code that has an order of its own: loops, checks, loads at computed indices.
bool keeps_its_order(const Template& t) {
  return t.indexed || !t.carried.empty() || std::any_of(t.code.begin(), t.code.end(), [](const Inst& in) {
           return in.op == kRolledLoop || is_indexed_load(in.op) || has_effect(in.op);
         });
}

/// Returns the cycles until an instruction's result can be used, about as on today's processors.
int latency_of(const Inst& in) {
  if (in.op == Op::div || in.op == Op::sqrt) return 14;
  switch (in.op) {
    case Op::select:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn: return 1;
    case Op::cmp: return 3;
    default: return in.type == Type::f32 || in.type == Type::f64 ? 4 : 1;
  }
}

class ListScheduler {
 public:
  ListScheduler(const Template& t, int copies, int registers)
      : t_(t), copies_(copies), registers_(registers), info_(t.code.size()) {
    for (const auto& s : t.stores) keep(s.value);
    for (const auto& u : t.updates) keep(u.value);
    for (uint32_t v = size(); v-- > 0;) {
      Info& i = info_[v];
      if (i.height < 0) continue;  // dead
      i.height += latency_of(t.code[v]);
      each_operand(t.code[v], [&](uint32_t u) {
        Info& operand = info_[u];
        operand.height = std::max(operand.height, i.height);
        ++operand.readers;
      });
    }
    link_users();
  }

  /// Returns the computed values that are needed, in an order to compute them in.
  std::vector<uint32_t> run() {
    std::vector<uint32_t> order;
    for (uint32_t v = 0; v < size(); ++v)
      if (is_computed(v) && info_[v].height >= 0 && info_[v].waits_for == 0) ready_.push_back(v);
    int slots = 0;  // half cycles
    while (!ready_.empty()) {
      const size_t at = choose(slots / 2);
      const uint32_t v = ready_[at];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(at));
      slots = std::max(slots, info_[v].ready_at * 2);
      issue(v, slots / 2);
      order.push_back(v);
      slots += copies_;
    }
    return order;
  }

 private:
  struct Info {
    int height = -1;  // cycles from its beginning to the end; -1: nothing needs it
    int ready_at = 0;
    uint32_t readers = 0, waits_for = 0;
    uint32_t first_user = 0, users = 0;  // in users_
    bool alive = false;
  };

  uint32_t size() const { return static_cast<uint32_t>(t_.code.size()); }
  bool is_computed(uint32_t v) const { return block_arity(t_.code[v].op) > 0; }
  void keep(uint32_t v) {
    info_[v].height = 0;
    ++info_[v].readers;
  }
  void link_users() {
    const auto each_edge = [&](auto&& f) {
      for (uint32_t v = 0; v < size(); ++v)
        if (info_[v].height >= 0)
          each_operand(t_.code[v], [&](uint32_t u) {
            if (is_computed(u)) f(u, v);
          });
    };
    each_edge([&](uint32_t u, uint32_t v) { ++info_[u].users, ++info_[v].waits_for; });
    uint32_t at = 0;
    for (Info& i : info_) i.first_user = at, at += i.users, i.users = 0;
    users_.resize(at);
    each_edge([&](uint32_t u, uint32_t v) { users_[info_[u].first_user + info_[u].users++] = v; });
  }

  /// True for values that take a register while they are alive.
  bool takes_register(uint32_t v) const {
    const Inst& in = t_.code[v];
    if (in.type == Type::mask || in.op == Op::constant) return false;
    if (in.op != Op::input) return true;
    const Slot::Kind kind = Slot::unpack(in.imm).kind;
    return kind == Slot::Kind::load ? info_[v].readers > 0 : kind == Slot::Kind::iota;
  }
  /// Returns by how many the values in registers become more.
  int growth(uint32_t v) const {
    int g = takes_register(v);
    const Inst& in = t_.code[v];
    uint32_t seen[4];
    int n = 0;
    each_operand(in, [&](uint32_t u) {
      for (int k = 0; k < n; ++k)
        if (seen[k] == u) return;
      seen[n++] = u;
      uint32_t times = 0;
      each_operand(in, [&](uint32_t w) { times += w == u; });
      if (!takes_register(u)) return;
      const bool last = info_[u].readers == times;
      if (info_[u].alive) g -= last;
      else g += !last;
    });
    return g;
  }
  /// Returns the place in ready_ of what comes next.
  size_t choose(int cycle) const {
    const bool full = pressure_ >= registers_;
    const size_t seen = std::min(ready_.size(), kSeen);
    size_t best = 0;
    const auto rank = [&](uint32_t v) {  // greater is better
      const Info& i = info_[v];
      const int late = std::max(0, i.ready_at - cycle);
      return std::array<int, 3>{full ? -growth(v) : 0, -late, i.height};
    };
    auto most = rank(ready_[0]);
    for (size_t k = 1; k < seen; ++k)
      if (const auto r = rank(ready_[k]); r > most || (r == most && ready_[k] < ready_[best]))
        best = k, most = r;
    return best;
  }
  void issue(uint32_t v, int cycle) {
    pressure_ += growth(v);
    Info& i = info_[v];
    i.alive = true;
    each_operand(t_.code[v], [&](uint32_t u) { info_[u].alive = --info_[u].readers > 0; });
    const int done = cycle + latency_of(t_.code[v]);
    for (uint32_t k = 0; k < i.users; ++k) {
      const uint32_t u = users_[i.first_user + k];
      info_[u].ready_at = std::max(info_[u].ready_at, done);
      if (--info_[u].waits_for == 0) ready_.push_back(u);
    }
  }

  const Template& t_;
  const int copies_, registers_;
  int pressure_ = 0;
  std::vector<Info> info_;
  std::vector<uint32_t> users_, ready_;
};

void reorder(Template& t, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> to(t.code.size(), kNowhere);
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
  for (auto& u : t.updates) u.value = to[u.value];
}

}  // namespace

bool list_schedule(Template& t, int copies, int registers) {
  if (keeps_its_order(t)) return false;
  reorder(t, ListScheduler(t, copies, registers).run());
  return true;
}

}  // namespace lazy::cpu_backend
