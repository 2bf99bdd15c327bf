#include "jit/flush/flush.hpp"

#include <algorithm>
#include <memory>

#include "jit/backend/registry.hpp"
#include "jit/flush/expand.hpp"
#include "jit/flush/faults.hpp"
#include "jit/flush/flush_reporting.hpp"
#include "jit/flush/folds.hpp"
#include "jit/flush/found_programs.hpp"
#include "jit/flush/halves.hpp"
#include "jit/flush/no_flush.hpp"
#include "jit/flush/program_cache.hpp"
#include "jit/flush/publish.hpp"
#include "jit/flush/recompiles.hpp"
#include "jit/flush/reviews.hpp"
#include "jit/flush/together.hpp"
#include "jit/graph/capturing.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/observed.hpp"
#include "jit/graph/planes.hpp"
#include "jit/graph/record.hpp"
#include "jit/observe/profile.hpp"
#include "jit/run/run.hpp"
#include "jit/verify/verify.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/float_mode.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"

namespace lazy::jit {
namespace {

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

thread_local int no_flush = 0;

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

[[noreturn]] void fail_not_allowed(const Node& wanted, Cause cause, const Site& site) {
  throw Error(std::string("a flush where none is allowed: ") + name_of(cause) + " needs the value of " +
                  name_of(wanted.op) + ", recorded at " + lazy::to_string(wanted.site),
              site);
}

/// Flushes what `wanted` needs, and what else its component has: take, find, run, finish. Where find() or
/// run() throw, fail() makes everything as it was before.
class Flush {
 public:
  Flush(Node& wanted, Backend& backend, Cause cause, const Site& site)
      : wanted_(wanted),
        graph_(*wanted.graph),
        backend_(backend),
        cause_(cause),
        site_(site),
        start_(profile::now()),
        reporting_(cause, wanted, site) {}

  /// Takes the component's nodes. False: another flush has taken them.
  bool take();
  /// Rewrites and numbers the nodes, chooses which values are stored, and finds or compiles their program.
  void find();
  /// Runs the program, unless its values are too large to be computed at once.
  void run();
  /// Makes the nodes pending again while an exception is handled, and tells of it.
  void fail();

  /// True if nothing was computed for good: the flush begins anew, after undo().
  bool begins_anew() const { return computed_ == Computed::nothing; }
  void undo() noexcept { jit::undo(graph_, *captured_); }
  /// True if two flushes compute the values, one after the other, after this one.
  bool is_in_two() const { return in_two_; }
  void finish_in_two() { flush_first_half(graph_, captured_->taken, *captured_, between_, site_); }
  /// Publishes the values, and tells of them.
  void finish();

 private:
  void choose_live();

  Node& wanted_;
  Graph& graph_;
  Backend& backend_;
  const Cause cause_;
  const Site& site_;
  const profile::Ticks start_;
  FlushReporting reporting_;
  CapturedGraphLease captured_;
  std::shared_ptr<ProgramEntry> learning_;  // entry of the key with all outputs; null: nothing to learn
  ProgramLease found_;
  Computed computed_ = Computed::all;
  bool in_two_ = false;
  std::vector<Handle> between_;      // values that the second half reads
  std::vector<const Node*> failed_;  // an index of theirs was out of range
};

bool Flush::take() {
  captured_->spare.fill();
  const profile::Ticks first_op = graph_.take(&wanted_, captured_->taken, captured_->held);
  if (captured_->taken.empty()) return false;
  watch::need_taken(wanted_);
  reporting_.taken(first_op);
  captured_->dropped.clear();
  captured_->stands.clear();
  captured_->copied = kNone;
  return true;
}

// Values that nobody has read so far are not stored, where the user lets us learn that.
void Flush::choose_live() {
  if (captured_->outputs <= 1 || config::get().liveness.get() != config::Liveness::adaptive) return;
  learning_ = found_.entry_of(*captured_);
  learning_->liveness.choose(*captured_, captured_->dropped);
  if (!captured_->dropped.empty()) captured_->drop(captured_->dropped);
}

void Flush::find() {
  std::vector<Node*>& nodes = captured_->taken;
  for (bool expanded = false; !captured_->build(nodes, backend_.code_class(), expanded); expanded = true) {
    await_leaves(nodes, site_);
    if (expanded) continue;
    fold(graph_, nodes, captured_->held, backend_, reporting_.folds());
    expand(graph_, nodes, captured_->held, backend_);
  }
  choose_live();
  reporting_.keyed();
  found_.find(captured_->dropped.empty() ? learning_ : nullptr, *captured_, backend_, reporting_.report(),
              site_, reporting_.phases_timed());
  reporting_.found();
}

void Flush::run() {
  const Program& program = found_.program();
  in_two_ = is_cut_in_two(captured_->taken, program, *captured_);
  if (in_two_) {
    between_ = read_by_second_half(captured_->taken);
    return;
  }
  reporting_.runs(program, *captured_, backend_);
  computed_ = run_what_can_be(found_, *captured_, wanted_, backend_, site_, failed_);
  const Program& ran = found_.program();
  ran.runs.add();
  if (const uint64_t runs = ran.runs.get(); is_reviewed(runs) && computed_ == Computed::all) [[unlikely]]
    review({ran, *captured_, *found_.arguments(), wanted_, cause_, site_, profile::now() - start_, runs});
  if (computed_ == Computed::all && captured_->verify != config::Verify::off) {
    const profile::Span span(event::kVerify);
    verify(found_.program(), *captured_, site_);
  }
}

void Flush::fail() {
  undo();
  reporting_.failed();
  if (!failed_.empty()) tell_of_fault(failed_);
}

void Flush::finish() {
  // Inputs may be overwritten by now: nodes must get their values before anything else can fail.
  if (learning_) learning_->liveness.watch(*captured_, captured_->dropped);
  metric::flushed(static_cast<size_t>(cause_));
  uint64_t copied = 0;
  Site copied_at;
  if (captured_->copied != kNone) [[unlikely]] {
    const Node& update = *captured_->values[captured_->copied];
    copied = static_cast<uint64_t>(numel(update.shape)) * size_of(update.dtype), copied_at = update.site;
  }
  const bool limited = cause_ == Cause::node_limit || cause_ == Cause::byte_limit;
  const std::string waited = limited ? what_waited(*captured_) : std::string();
  publish(graph_, *captured_);
  reporting_.computed(found_.program());
  if (limited) note_limit(site_, cause_, waited);
  if (copied) note_copy(copied_at, copied);
  reporting_.finish();
  found_.keep(*captured_);
}

void flush(Node* wanted, Cause cause, const Site& site) {
  if (no_flush > 0) fail_not_allowed(*wanted, cause, site);
  const FloatMode mode;
  Backend& backend =
      backend_of(wanted->device, site);  // the first call takes a while: before the flush is timed
  const nvtx::Range range(
      [&] { return std::string("flush: ") + name_of(cause) + " " + lazy::to_string(site); });
  Flush one(*wanted, backend, cause, site);
  if (!one.take()) return;
  try {
    one.find();
    one.run();
  } catch (...) {
    one.fail();
    throw;
  }
  if (one.begins_anew()) {
    one.undo();
    return flush(wanted, cause, site);
  }
  if (one.is_in_two()) return one.finish_in_two();
  one.finish();
}

[[noreturn]] void fail_while_capturing(std::span<const Handle* const> handles, Cause cause,
                                       const Site& site) {
  const Node& n = *handles.front()->get();
  throw Error(std::string("a replay reads no values while it records: ") + name_of(cause) +
                  " needs that of " + name_of(n.op) + ", recorded at " + lazy::to_string(n.site),
              site);
}

}  // namespace

namespace {

/// Evaluates the planes in the place of complex values.
[[gnu::noinline]] void evaluate_planes(std::span<const Handle* const> handles, Cause cause,
                                       const Site& site) {
  std::vector<Handle> planes;
  for (const Handle* h : handles) {
    const bool pair = h->get()->op == Op::complex;
    planes.push_back(pair ? real_plane(*h) : *h);
    if (pair) planes.push_back(imaginary_plane(*h));
  }
  std::vector<const Handle*> all;
  for (const Handle& h : planes) all.push_back(&h);
  evaluate(all, cause, site);
}

}  // namespace

void evaluate(std::span<const Handle* const> handles, Cause cause, const Site& site) {
  for (const Handle* h : handles)
    if (h->get()->op == Op::complex) [[unlikely]]
      return evaluate_planes(handles, cause, site);
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
