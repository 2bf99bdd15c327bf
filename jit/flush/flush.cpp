#include "jit/flush/flush.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/flush/expand.hpp"
#include "jit/flush/faults.hpp"
#include "jit/flush/folds.hpp"
#include "jit/flush/found_programs.hpp"
#include "jit/flush/halves.hpp"
#include "jit/flush/no_flush.hpp"
#include "jit/flush/program_cache.hpp"
#include "jit/flush/recompiles.hpp"
#include "jit/flush/together.hpp"
#include "jit/graph/capturing.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/observed.hpp"
#include "jit/graph/record.hpp"
#include "jit/key/report.hpp"
#include "jit/observe/profile.hpp"
#include "jit/plan/names.hpp"
#include "jit/run/run.hpp"
#include "jit/verify/verify.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/float_mode.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

/// Chooses the flushes whose phases are timed: one in eight. Time stamps are most of what a recording costs a
/// cached flush, whose phases take much the same time each time.
struct Phases {
  bool wanted = false;
  uint8_t flushes = 0;
  void next(bool recording) { wanted = recording && flushes++ % 8 == 0; }
};
thread_local Phases phases;

// Waits for values that other flushes are making, or computes those they failed to make: inputs must exist.
void await_leaves(const std::vector<Node*>& nodes, const Site& site) {
  for (Node* n : nodes)
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      if (!n->operand.is_input(i) || o->ready() || o->op == Op::constant || o->op == Op::iota) continue;
      o->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
      const Handle input = Handle::adopt(o);
      const Handle* one[] = {&input};
      evaluate(one, Cause::other_thread, site);
    }
}

// Makes a node ready whose value is there. It has no operands any more, whose references the caller drops.
[[gnu::always_inline]] inline void become_ready(Node* n) noexcept {
  n->state.store(State::ready, std::memory_order_release);
  if (!alone()) n->state.notify_all();
}

void become_ready_and_drop_operands(Node* n) noexcept {
  const int arity = std::exchange(n->arity, 0);
  become_ready(n);
  for (int i = 0; i < arity; ++i) drop_reference(n->operand[i]);
}

// Makes nodes ready whose values are there, when all nodes of the flush go or become ready. None has operands
// any more, so what each value's readers held of it is dropped at once.
[[gnu::noinline]] void finish_all(CapturedGraph& f) noexcept {
  const size_t values = f.values.size();
  for (size_t v = 0; v < values; ++v) {
    if (!f.pending[v]) continue;
    Node* const n = f.values[v];
    n->arity = 0;
    if (n->buffer) become_ready(n);
  }
  drop_references(f.values, f.uses.data());
}

// Makes nodes ready whose values are there; nodes that were dropped are pending again.
void finish(Graph& graph, CapturedGraph& f) noexcept {
  if (f.repended.empty()) {
    finish_all(f);
  } else {
    for (Node* n : f.taken)
      if (n->buffer) become_ready_and_drop_operands(n);
    graph.repend(f.repended, f.spare);
  }
  for (Node* n : f.held) drop_reference(n);
}

thread_local int no_flush = 0;

void log_memory(const Site& site) {
  const Metrics m = metrics();
  logging::print(logging::Channel::memory,
                 "after the flush at %s: %s in use, %s at most, %s donated so far, %s kept for later runs",
                 lazy::to_string(site).c_str(), text::human_size(m.bytes_live).c_str(),
                 text::human_size(m.bytes_peak).c_str(), text::human_size(m.bytes_donated).c_str(),
                 text::human_size(m.bytes_kept).c_str());
}

// Records the exception that is being handled.
void note_failure(const FlushTimes& times, Cause cause, const Site& site) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& e) { event::failed_flush(times, cause, site, e.what()); } catch (...) {
      event::failed_flush(times, cause, site, "an exception of another type");
    }
  } catch (...) {}  // no memory to record it
}

/// True for an output that was not kept of a call that has run, and must not run again.
bool has_passed(const Node& n) {
  return n.op == Op::part && !n.buffer && may_pass(*n.operand[0]) && n.operand[0]->buffer;
}

// Makes the nodes pending again, as before the flush, except those of CapturedGraph::stands, whose values are
// there, and what has passed: that is lost.
void undo(Graph& graph, CapturedGraph& f) noexcept {
  std::vector<Node*>& nodes = f.taken;
  auto stands = f.stands.begin();
  const auto last = std::remove_if(nodes.begin(), nodes.end(), [&](Node* n) {
    if (stands != f.stands.end() && *stands == n) return ++stands, true;
    n->lost |= has_passed(*n);
    n->buffer.reset();
    return false;
  });
  nodes.erase(last, nodes.end());
  for (Node* n : f.stands) add_reference(n);  // nodes that read it may be gone as soon as they are pending
  graph.restore(nodes, f.spare);
  for (Node* n : f.stands) become_ready_and_drop_operands(n);
  for (Node* n : f.stands) drop_reference(n);
  for (Node* n : f.held) drop_reference(n);
}

void describe(const Program& p, const CapturedGraph& f, FlushReport& report) {
  report.ops = p.nodes;
  report.outputs = p.results.size();
  report.kernels = p.steps.size();
  report.tile_groups = p.tile_groups.size();
  report.variant = p.variant;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    report.fused_ops += p.steps[i].ops;
    report.kernel_texts.push_back(step_text(p, i, &f));
  }
}

// Says what a flush has computed. nothing: an index was out of range after a call had run that runs once, so
// the flush begins anew, with the call's values as inputs.
enum class Computed : uint8_t { all, some, nothing };

// Runs the program, and again without the values that depend on an index out of range, which stay pending;
// throws IndexError if `wanted` is one of them, which are `failed` then.
Computed run_what_can_be(ProgramLease& found, CapturedGraph& f, const Node& wanted, Backend& backend,
                         const Site& site, std::vector<const Node*>& failed) {
  for (Computed computed = Computed::all;; computed = Computed::some) {
    try {
      run(found.program(), f, backend, found.arguments(), found.same());
      return computed;
    } catch (const Fault& fault) {
      const bool passed =
          std::any_of(f.taken.begin(), f.taken.end(), [](const Node* n) { return has_passed(*n); });
      if (passed || !leave_out_faulty(f, fault, wanted)) {
        if (is_fault_listened_to()) failed = failed_with(f, fault, backend);
        explain(fault, f, backend);
      }
    }
    if (!f.stands.empty()) return Computed::nothing;
    found.find(nullptr, f, backend, nullptr, site, false);
  }
}

void flush(Node* wanted, Cause cause, const Site& site) {
  if (no_flush > 0)
    throw Error(std::string("a flush where none is allowed: ") + name_of(cause) + " needs the value of " +
                    name_of(wanted->op) + ", recorded at " + lazy::to_string(wanted->site),
                site);
  using clock = std::chrono::steady_clock;
  const FloatMode mode;
  Backend& backend =
      backend_of(wanted->device, site);  // the first call takes a while: before the flush is timed
  const nvtx::Range range(
      [&] { return std::string("flush: ") + name_of(cause) + " " + lazy::to_string(site); });
  FlushTimes times;
  times.start = profile::start_time();
  phases.next(times.start != 0);
  CapturedGraphLease captured;
  std::vector<Node*>& nodes = captured->taken;
  captured->spare.fill();
  Graph& graph = *wanted->graph;
  times.first_op = graph.take(wanted, nodes, captured->held);
  if (nodes.empty()) return;
  watch::need_taken(*wanted);
  FlushListener* const listener = FlushListener::current();
  const bool logged = logging::enabled(logging::Channel::flush);
  const clock::time_point start = listener || logged ? clock::now() : clock::time_point{};
  Folds folds;
  std::unique_ptr<FlushReport> report;  // made if someone wants it: it costs as much as a small flush's key
  std::shared_ptr<ProgramEntry> learning;  // entry of the key with all outputs
  std::vector<uint32_t>& dropped = captured->dropped;
  dropped.clear();
  captured->stands.clear();
  captured->copied = kNone;
  ProgramLease found;
  bool in_two = false;
  Computed computed = Computed::all;
  std::vector<Handle> between;  // values that the second half reads
  std::vector<const Node*> failed;
  try {
    for (bool expanded = false; !captured->build(nodes, backend.code_class(), expanded); expanded = true) {
      await_leaves(nodes, site);
      if (expanded) continue;
      fold(graph, nodes, captured->held, backend, listener || logged ? &folds : nullptr);
      expand(graph, nodes, captured->held, backend);
    }
    if (captured->outputs > 1 && config::get().liveness.get() == config::Liveness::adaptive) {
      learning = found.entry_of(*captured);
      learning->liveness.choose(*captured, dropped);
      if (!dropped.empty()) captured->drop(dropped);
    }
    if (phases.wanted) times.keyed = profile::now();
    if (listener || logged || times.start || logging::enabled(logging::Channel::miss)) {
      report = std::make_unique<FlushReport>();
      report->cause = cause;
      report->site = site;
      for (const Fold& f : folds) report->rewritten.push_back(describe(f));
      if (cause == Cause::count) report->function = Purpose::current();
    }
    found.find(dropped.empty() ? learning : nullptr, *captured, backend, report.get(), site, phases.wanted);
    if (times.start) times.ready = report->hit ? report->checked : profile::now();
    in_two = is_cut_in_two(nodes, found.program(), *captured);
    if (in_two) {
      between = read_by_second_half(nodes);
    } else {
      if (listener || logged) describe(found.program(), *captured, *report);
      computed = run_what_can_be(found, *captured, *wanted, backend, site, failed);
      found.program().runs.add();
      if (computed == Computed::all && captured->verify != config::Verify::off) {
        const profile::Span span(event::kVerify);
        verify(found.program(), *captured, site);
      }
    }
  } catch (...) {
    undo(graph, *captured);
    if (times.start) note_failure(times, cause, site);
    if (!failed.empty()) tell_of_fault(failed);
    throw;
  }
  if (computed == Computed::nothing) {
    undo(graph, *captured);
    return flush(wanted, cause, site);
  }
  if (in_two) return flush_first_half(graph, nodes, *captured, between, site);
  // Inputs may be overwritten by now: nodes must get their values before anything else can fail.
  if (learning) learning->liveness.watch(*captured, dropped);
  metric::flushed(static_cast<size_t>(cause));
  uint64_t copied = 0;
  Site copied_at;
  if (captured->copied != kNone) [[unlikely]] {
    const Node& update = *captured->values[captured->copied];
    copied = static_cast<uint64_t>(numel(update.shape)) * size_of(update.dtype), copied_at = update.site;
  }
  finish(graph, *captured);
  if (times.start) event::flush(times, *report, cause, site, found.program());
  if (listener || logged) report->total_ns = static_cast<uint64_t>((clock::now() - start).count());
  if (cause == Cause::node_limit || cause == Cause::byte_limit) note_limit(site, cause);
  if (copied) note_copy(copied_at, copied);
  if (logged) logging::write(logging::Channel::flush, describe(*report));
  if (logging::enabled(logging::Channel::memory)) log_memory(site);
  if (listener) listener->flushes.push_back(std::move(*report));
  found.keep(*captured);
}

[[noreturn]] void fail_while_capturing(std::span<const Handle* const> handles, Cause cause,
                                       const Site& site) {
  const Node& n = *handles.front()->get();
  throw Error(std::string("a replay reads no values while it records: ") + name_of(cause) +
                  " needs that of " + name_of(n.op) + ", recorded at " + lazy::to_string(n.site),
              site);
}

}  // namespace

void evaluate(std::span<const Handle* const> handles, Cause cause, const Site& site) {
  if (Capturing::current() && cause != Cause::other_thread) [[unlikely]]
    fail_while_capturing(handles, cause, site);
  for (const Handle* h : handles)
    if (h->get()->ready()) watch::note_use(*h->get());
    else if (handles.size() > 1) watch::need(*h->get());
  if (handles.size() > 1 && no_flush == 0) join_for_flush(handles, site);
  for (const Handle* h : handles) {
    Node* n = h->get();
    for (;;) {
      const State s = n->state.load(std::memory_order_acquire);
      if (s == State::ready) break;
      located<DeviceError>(site, [&] {
        if (s == State::pending) located<CompileError>(site, [&] { flush(n, cause, site); });
        else if (s == flushing_here()) watch::need(*n), n->state.wait(s, std::memory_order_acquire);
        else forks::fail_left_behind();
      });
    }
  }
}

NoFlush::NoFlush() { ++no_flush; }
NoFlush::~NoFlush() { --no_flush; }

}  // namespace lazy::jit
