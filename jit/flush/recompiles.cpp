#include "jit/flush/recompiles.hpp"

#include <map>
#include <utility>
#include <vector>

#include "jit/flush/late_values.hpp"
#include "jit/flush/repeats.hpp"
#include "jit/flush/review_hint.hpp"
#include "support/lock.hpp"
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

std::string limited(const Site& site, Cause cause) {
  const bool nodes = cause == Cause::node_limit;
  return std::string("what is pending was flushed at ") + to_string(site) + " for the " +
         std::to_string(kOften) + "rd time by " + (nodes ? "LAZY_MAX_GRAPH" : "LAZY_MAX_BYTES") + ": " +
         (nodes ? "nothing asks for a value in that loop, so its work comes in bursts; evaluating what is "
                  "carried "
                  "from one iteration to the next (eval) spreads it"
                : "pending work keeps that much memory alive; evaluating what is carried from one iteration "
                  "to the "
                  "next (eval) sets it free");
}

std::string change(const Site& site, const std::string& difference) {
  return "each of the last " + std::to_string(kDifferent) + " flushes at " + to_string(site) +
         " compiled a new program; the latest because " + difference;
}

}  // namespace

void note_compile(const Site& site, const std::shared_ptr<const Program>& program, uint64_t inputs,
                  bool explained, const std::function<std::string()>& difference) {
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

void note_limit(const Site& site, Cause cause) {
  if (calls_for_warning(site, &Line::limit)) give_hint_again("limit", site, limited(site, cause));
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
