#include "tools/launch/ranks.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/launch/cores.hpp"
#include "tools/launch/gpus.hpp"
#include "tools/launch/traces.hpp"

namespace lazy::tool {
namespace {

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

/// Gives this process what a rank finds: its cores and GPUs, and its environment.
void become(const Process& rank, int local, const Launch& l, int port, const std::vector<std::string>& gpus) {
  const Cores cores = cores_here();
  const int threads = l.threads ? l.threads : std::max(1, static_cast<int>(cores.size()) / l.processes);
  if (l.bind) bind_to(share_of(cores, local, l.processes));
  if (!gpus.empty()) set("CUDA_VISIBLE_DEVICES", gpus[static_cast<size_t>(local)]);
  set("RANK", std::to_string(rank.number)), set("LOCAL_RANK", std::to_string(local));
  set("WORLD_SIZE", std::to_string(l.world ? l.world : l.processes * l.machines));
  set("LOCAL_WORLD_SIZE", std::to_string(l.processes));
  set("MASTER_ADDR", l.host), set("MASTER_PORT", std::to_string(port));
  if (l.threads || !std::getenv("LAZY_NUM_THREADS")) set("LAZY_NUM_THREADS", std::to_string(threads));
  for (const auto& [name, value] : l.variables) set(name.c_str(), value);
  if (!l.profile.empty()) set("LAZY_PROFILE", trace_of_rank(l.profile, rank.number));
}

/// Drops what standard input has, and tells if it has ended. `change`: whether a change was announced.
bool input_ended(bool& change) {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  char bytes[256];
  if (::poll(&p, 1, 0) != 1) return false;
  const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
  change |= n > 0 && std::find(bytes, bytes + n, 'r') != bytes + n;
  return n <= 0;
}

/// Says why a process is given up; empty: it is well.
std::string lateness(const Process& p, const Watch& w) {
  const auto since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  char text[80] = "";
  if (p.ended) return text;
  if (w.heartbeat > 0 && (p.began || p.stopped) && since(p.heard) > w.heartbeat)
    std::snprintf(text, sizeof text,
                  p.stopped ? "was stopped for %.1f seconds" : "was silent for %.1f seconds", since(p.heard));
  else if (w.progress > 0 && p.progresses && since(p.progressed) > w.progress)
    std::snprintf(text, sizeof text, "committed nothing for %.1f seconds", since(p.progressed));
  return text;
}

/// Writes kBeatLine if it is time.
void beat(Clock::time_point& last) {
  if (Clock::now() - last < std::chrono::seconds(1)) return;
  last = Clock::now();
  std::printf("%s\n", kBeatLine);
  std::fflush(stdout);
}

void say_who_failed(const std::vector<Process>& all, const Outcome& o, const char* member) {
  const Process& p = all[static_cast<size_t>(o.failed)];
  std::fprintf(stderr, "lazy-launch: %s %d was the first to fail: it %s\n", member, p.number, o.how.c_str());
  for (const std::string& line : p.last) std::fprintf(stderr, "  | %s\n", line.c_str());
}

}  // namespace

Outcome wait_for(std::vector<Process>& all, const Watch& w) {
  Outcome o;
  int passed_on = 0;
  bool ending = false, announced = false, change = false;
  Clock::time_point last_moment{}, beaten{};
  const auto grace = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(w.grace));
  const auto fail = [&](size_t i, const std::string& how) {
    if (o.failed >= 0 || passed_on) return;
    o.failed = static_cast<int>(i), o.how = how;
  };
  for (;;) {
    listen(all, w.prefix);
    if (w.beat) beat(beaten);
    if (w.watch_stdin && !asked_to_end() && input_ended(change)) ask_to_end(SIGTERM);
    if (!announced && (change || (w.changes && w.changes()))) {
      announced = true;
      for (Process& p : all) announce_change(p);
    }
    bool all_ended = true;
    for (size_t i = 0; i < all.size(); ++i) {
      Process& p = all[i];
      if (look_at(p, w.prefix) && p.status != 0) {
        fail(i, how_ended(p.status));
        if (o.failed == static_cast<int>(i)) o.status = exit_status(p.status);
      }
      if (const std::string late = lateness(p, w); !late.empty() && !ending) {
        fail(i, late);
        if (o.failed == static_cast<int>(i)) o.status = 128 + SIGKILL;
      }
      all_ended &= p.ended;
    }
    if (all_ended) break;
    if (asked_to_end() && !passed_on) passed_on = asked_to_end(), tell(all, passed_on);
    if ((o.failed >= 0 || passed_on) && !ending) {
      ending = true, last_moment = Clock::now() + grace;
      if (o.failed >= 0) tell(all, SIGTERM);
    }
    if (ending && Clock::now() > last_moment) tell(all, SIGKILL), last_moment = Clock::now() + grace;
  }
  clear(all);
  if (passed_on) {
    o.status = 128 + passed_on, o.failed = -1, o.signalled = true;
    return o;
  }
  o.changed = announced && o.failed >= 0;
  if (o.changed) o.status = kWorldChanges;
  else if (o.failed >= 0 && !w.quiet) say_who_failed(all, o, w.member);
  return o;
}

std::vector<Process> start_ranks(const Launch& l) {
  const int port = l.port ? l.port : l.machines > 1 ? 29500 : free_port();
  std::vector<Process> ranks(static_cast<size_t>(l.processes));
  const std::vector<std::string> gpus = l.bind ? gpus_of_ranks(l.processes) : std::vector<std::string>();
  for (int i = 0; i < l.processes; ++i) {
    Process& rank = ranks[static_cast<size_t>(i)];
    rank.number = (l.first >= 0 ? l.first : l.machine * l.processes) + i;
    start(rank, l.command, {.beats = l.heartbeat > 0, .prepare = [&] { become(rank, i, l, port, gpus); }});
  }
  return ranks;
}

int run_ranks(const Launch& l) {
  hear_signals();
  std::vector<Process> ranks = start_ranks(l);
  return wait_for(ranks, {.prefix = l.prefix,
                          .watch_stdin = l.watch_stdin,
                          .beat = l.beat,
                          .heartbeat = l.heartbeat,
                          .progress = l.progress,
                          .grace = l.heartbeat > 0 ? 2.0 : 5.0})
      .status;
}

int run_machines(const std::vector<std::vector<std::string>>& commands) {
  hear_signals();
  std::vector<Process> machines(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    machines[i].number = static_cast<int>(i);
    // Its input ends with this process, whatever ends it: then the ranks there end, too.
    start(machines[i], commands[i], {.own_input = true, .prepare = [] {}});
  }
  return wait_for(machines, {.prefix = false, .member = "machine"}).status;
}

}  // namespace lazy::tool
