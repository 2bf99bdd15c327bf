#include "tools/launch/elastic.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace lazy::tool {
namespace {

constexpr double kGrace = 2;  // seconds that ranks of a generation that failed have to end
constexpr int kPorts = 100;   // that generations take in turn, so that no rank of an older one is met

int ranks_of(const std::vector<Host>& plan) {
  return std::accumulate(plan.begin(), plan.end(), 0, [](int n, const Host& h) { return n + h.slots; });
}
bool same(const std::vector<Host>& a, const std::vector<Host>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const Host& x, const Host& y) {
           return x.name == y.name && x.slots == y.slots;
         });
}

/// Returns a plan for at least as many ranks as are needed; an empty one if there are none in time, or this
/// is asked to end.
std::vector<Host> wait_for_slots(Slots& slots, const Elastic& e) {
  const auto end = Clock::now() + std::chrono::duration<double>(e.slots_timeout);
  for (bool said = false; !asked_to_end(); ::poll(nullptr, 0, 50)) {
    slots.look();
    std::vector<Host> plan = slots.plan(e.most);
    if (ranks_of(plan) >= e.least) return plan;
    if (Clock::now() > end) {
      std::fprintf(stderr, "lazy-launch: %d slots, of %d that are needed, after %.0f seconds\n",
                   ranks_of(plan), e.least, e.slots_timeout);
      return {};
    }
    if (!said &&
        Clock::now() > end - std::chrono::duration<double>(e.slots_timeout) + std::chrono::seconds(2)) {
      said = true;
      std::fprintf(stderr, "lazy-launch: waits for slots: there are %d of %d, %d hosts are left alone\n",
                   ranks_of(plan), e.least, slots.left_alone());
    }
  }
  return {};
}

/// Starts a generation: ranks of this machine, or a launcher on each host.
std::vector<Process> start_generation(const std::vector<Host>& plan, const Elastic& e, Launch l,
                                      int generation) {
  l.world = ranks_of(plan);
  if (l.port) l.port += generation % kPorts;
  if (plan[0].name.empty()) {
    l.processes = plan[0].slots;
    return start_ranks(l);
  }
  if (l.host.empty()) l.host = plan[0].name == "localhost" ? "127.0.0.1" : plan[0].name;
  if (!l.port) l.port = 29500 + generation % kPorts;
  std::vector<Process> hosts(plan.size());
  l.first = 0, l.beat = true;
  for (size_t i = 0; i < plan.size(); ++i) {
    l.processes = plan[i].slots;
    hosts[i].number = static_cast<int>(i);
    start(hosts[i], command_on(plan[i].name, e.rsh, l), {.own_input = true, .prepare = [] {}});
    l.first += plan[i].slots;
  }
  return hosts;
}

}  // namespace

int run_elastic(const Elastic& e, const Launch& launch) {
  hear_signals();
  Slots slots(e.slots);
  const std::string run = std::to_string(::getpid());
  int restarts = 0;
  for (int generation = 0;; ++generation) {
    const std::vector<Host> plan = wait_for_slots(slots, e);
    if (plan.empty()) return asked_to_end() ? 128 + asked_to_end() : 1;
    const bool local = plan[0].name.empty();
    Launch l = launch;
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"ELASTIC_GENERATION", std::to_string(generation)},
          {"TORCHELASTIC_RESTART_COUNT", std::to_string(restarts)},
          {"TORCHELASTIC_MAX_RESTARTS", std::to_string(e.max_restarts)},
          {"TORCHELASTIC_RUN_ID", run}})
      l.variables.emplace_back(name, value);
    std::vector<Process> all = start_generation(plan, e, l, generation);
    const auto changes = [&] {
      slots.look();
      const std::vector<Host> now = slots.plan(e.most);
      return ranks_of(now) >= e.least && !same(now, plan);
    };
    const Outcome o = wait_for(all, {.prefix = local && l.prefix,
                                     .member = local ? "rank" : "host",
                                     .heartbeat = l.heartbeat,
                                     .progress = local ? l.progress : 0,
                                     .grace = kGrace,
                                     .changes = changes});
    if (o.signalled || o.status == 0) return o.status;
    if (o.changed) {
      std::fprintf(stderr, "lazy-launch: other slots: generation %d begins\n", generation + 1);
      continue;
    }
    if (!local) slots.failed(plan[static_cast<size_t>(o.failed)].name);
    if (++restarts > e.max_restarts) {
      std::fprintf(stderr, "lazy-launch: %d restart%s used up\n", e.max_restarts,
                   e.max_restarts == 1 ? " is" : "s are");
      return o.status;
    }
    std::fprintf(stderr, "lazy-launch: generation %d begins, restart %d of %d\n", generation + 1, restarts,
                 e.max_restarts);
  }
}

}  // namespace lazy::tool
