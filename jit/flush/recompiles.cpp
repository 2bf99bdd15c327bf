#include "jit/flush/recompiles.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "jit/core/bytes.hpp"
#include "jit/flush/late_values.hpp"
#include "jit/flush/repeats.hpp"
#include "jit/flush/review_hint.hpp"
#include "jit/key/captured_graph.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

constexpr size_t kGrowing = 6;     // graphs in a row, each by the same number of ops larger
constexpr size_t kLarger = 10;     // graphs in a row, each larger: unrelated ones are in order by chance, too
constexpr size_t kDifferent = 16;  // programs in a row, each of which ran once
constexpr size_t kInVain = 32;   // such programs in a row from which on the next are expected to be like them
constexpr size_t kLines = 4096;  // lines that are watched at most
constexpr uint32_t kOften = 3;   // events of one kind before a warning

/// Counts what happens at a line until a warning says so.
struct Event {
  uint32_t times = 0;
  bool warned = false;
};
struct Line {
  std::weak_ptr<const Program> latest;
  std::vector<std::pair<uint64_t, uint64_t>> sizes;  // ops and inputs of the graphs that grew, up to kLarger
  uint64_t size = 0;                                 // ops of the latest graph
  uint64_t inputs = 0;                               // inputs of the latest graph
  bool more_inputs = true;  // each of those graphs had more inputs than the one before
  size_t in_a_row = 0;
  bool warned = false;
  Event limit;  // flushes by a limit
  Event copy;   // copies of a large buffer for a small change
};
constinit Mutex mutex;
using UserLines = std::map<std::pair<std::string_view, uint32_t>, Line>;
constinit UserLines* all_lines = nullptr;  // never destroyed: tensors may outlive static destruction
UserLines& lines(const Hold<Mutex>& hold) {
  if (!all_lines || !hold.intact()) all_lines = new UserLines;
  return *all_lines;
}

/// Counts an event at a line. True once a line: the time that a warning is due.
bool calls_for_warning(const Site& site, Event Line::*kind) {
  if (site.line() == 0) return false;
  const Hold hold(mutex);
  UserLines& all = lines(hold);
  if (all.size() >= kLines) return false;
  Event& event = all[{site.file_name(), site.line()}].*kind;
  return ++event.times >= kOften && !std::exchange(event.warned, true);
}

/// Tells if graphs grow like those of a loop that carries state: evenly from the second on, or for long.
bool grow(const std::vector<std::pair<uint64_t, uint64_t>>& sizes) {
  if (sizes.size() < kGrowing || sizes.size() == kLarger) return sizes.size() == kLarger;
  const uint64_t step = sizes.back().first - sizes[sizes.size() - 2].first;
  for (size_t i = 2; i < sizes.size(); ++i)
    if (sizes[i].first - sizes[i - 1].first != step) return false;
  return true;
}

std::string growth(const Site& site, const Line& line) {
  // The number of ops may stay the same while one joins ever more inputs.
  const bool ops = line.sizes[0].first != line.size;
  std::string sizes;
  for (size_t i = 0; i < 3; ++i)
    sizes += std::to_string(ops ? line.sizes[i].first : line.sizes[i].second) + ", ";
  std::string text = "the graph flushed at " + to_string(site) + " grows each time (" + sizes + "... " +
                     std::to_string(ops ? line.size : line.inputs) + (ops ? " ops" : " inputs") +
                     "), so each flush compiles a new program: ";
  return text +
         (line.more_inputs
              ? "it joins ever more values; append to one tensor instead (all = concat({all, next})), or "
                "join them once after the loop"
              : "evaluate what is carried from one iteration to the next (eval)");
}

std::string limited(const Site& site, Cause cause, const std::string& waited) {
  const bool nodes = cause == Cause::node_limit;
  return std::string("what is pending was flushed at ") + to_string(site) + " for the " +
         std::to_string(kOften) + "rd time by " + (nodes ? "LAZY_MAX_GRAPH" : "LAZY_MAX_BYTES") + ": " +
         (nodes ? "nothing asks for a value in that loop, so its work comes in bursts"
                : "pending work keeps its inputs alive") +
         waited + "; evaluating what is carried from one iteration to the next (eval) " +
         (nodes ? "spreads it" : "sets them free");
}

/// Returns "a.cpp:3, a.cpp:4 and 2 more lines": those of which there is most first, at most `most` of them.
std::string most_frequent(const std::map<std::string, uint64_t>& lines, size_t most) {
  std::vector<std::pair<std::string, uint64_t>> order(lines.begin(), lines.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) shown.push_back(order[i].first);
  if (order.size() > most) shown.push_back(text::counted(order.size() - most, "other line"));
  return listed(shown);
}

/// Says that the cache on disk is off, by code, where a process compiles much.
void tell_of_cache_off() {
  constexpr uint64_t kMany = 16, kLong = 100'000'000;  // programs, and nanoseconds compiling them
  if (config::get().cache.get() != config::CacheMode::off) return;
  const Metrics m = metrics();
  if (m.program_misses < kMany || m.compile_ns < kLong) return;
  const Site set = config::set_at("LAZY_CACHE");
  if (set.line() == 0) return;  // by the environment: whoever set it knows
  give_hint("cache off", set,
            "LAZY_CACHE is off, set at " + to_string(set) + ": " + std::to_string(m.program_misses) +
                " programs were compiled in " + std::to_string(m.compile_ns / 1'000'000) +
                " ms, which the next process will do again");
}

std::string change(const Site& site, const std::string& difference) {
  return "each of the last " + std::to_string(kDifferent) + " flushes at " + to_string(site) +
         " compiled a new program; the latest because " + difference;
}

}  // namespace

void note_compile(const Site& site, const std::shared_ptr<const Program>& program, uint64_t inputs,
                  bool explained, const std::function<std::string()>& difference) {
  tell_of_cache_off();
  if (site.line() == 0) return;
  bool grows = false, differs = false;
  Line copy;
  {
    const Hold hold(mutex);
    UserLines& all = lines(hold);
    if (all.size() >= kLines) return;
    Line& line = all[{site.file_name(), site.line()}];
    const auto before = line.latest.lock();
    const bool once = before && before->runs.get() <= 1;
    if (!once) line.in_a_row = 0;
    line.warned |= explained;
    if (line.warned) {
      ++line.in_a_row;
      line.latest = program;
      return;
    }
    const bool larger = program->nodes > line.size || (program->nodes == line.size && inputs > line.inputs);
    if (!once || !larger) line.sizes.clear();
    if (line.sizes.empty()) line.more_inputs = true;
    else line.more_inputs &= inputs > line.inputs;
    line.inputs = inputs;
    ++line.in_a_row;
    line.size = program->nodes;
    line.sizes.push_back({line.size, inputs});
    line.latest = program;
    grows = grow(line.sizes);
    differs = !grows && line.in_a_row == kDifferent;
    line.warned = grows || differs;
    if (line.warned) copy = line;
  }
  if (grows) give_hint_again("growing", site, growth(site, copy));
  if (differs) give_hint_again("recompiles", site, change(site, difference()));
}

bool compiles_in_vain(const Site& site) {
  if (site.line() == 0) return false;
  const Hold hold(mutex);
  const UserLines& all = lines(hold);
  const auto line = all.find({site.file_name(), site.line()});
  if (line == all.end() || line->second.in_a_row < kInVain) return false;
  const auto latest = line->second.latest.lock();
  return latest && latest->runs.get() <= 1;
}

void note_load(const Site& site) {
  if (site.line() == 0) return;
  const Hold hold(mutex);
  UserLines& all = lines(hold);
  const auto line = all.find({site.file_name(), site.line()});
  if (line == all.end()) return;
  line->second.latest.reset();
  line->second.sizes.clear();
  line->second.in_a_row = 0;
}

std::string what_waited(const CapturedGraph& f) noexcept {
  try {
    std::map<std::string, uint64_t> carried, read;  // by line: values, bytes
    uint64_t ops = 0, inputs = 0, bytes = 0;
    for (size_t v = 0; v < f.values.size(); ++v) {
      const Node& n = *f.values[v];
      if (f.pending[v]) {
        ++ops;
        if (n.handles() > 0 && n.site.line() != 0) ++carried[line_of(n)];
      } else if (!is_source(n.op) && n.site.line() != 0) {
        ++inputs;
        const uint64_t size = bytes_of(n.shape, n.dtype);
        bytes += size;
        read[line_of(n)] += size;
      }
    }
    std::string s = " of " + text::counted(ops, "op");
    if (inputs > 0)
      s += " that read " + text::counted(inputs, "input") + " of " + text::human_size(bytes) + ", made at " +
           most_frequent(read, 2);
    if (!carried.empty()) s += "; what is carried on is made at " + most_frequent(carried, 3);
    return s;
  } catch (...) { return {}; }
}

void note_limit(const Site& site, Cause cause, const std::string& waited) {
  if (calls_for_warning(site, &Line::limit)) give_hint_again("limit", site, limited(site, cause, waited));
}

void note_copy(const Site& site, uint64_t bytes) {
  if (!calls_for_warning(site, &Line::copy)) return;
  give_hint_again(
      "copy", site,
      "the update at " + to_string(site) + " copied all of its tensor (" + text::human_size(bytes) +
          ") for a small change for the " + std::to_string(kOften) +
          "rd time: something else still has, or later reads, the values from before; where that goes "
          "first, or after eval() of what reads them, updates are in place");
}

void forget_compiles() {
  forget_repeats();
  forget_late_values();
  const Hold hold(mutex);
  for (auto& [where, line] : lines(hold)) {
    Line fresh;
    fresh.warned = line.warned;
    fresh.limit.warned = line.limit.warned;
    fresh.copy.warned = line.copy.warned;
    line = std::move(fresh);
  }
}

}  // namespace lazy::jit
