#include "jit/run/run.hpp"

#include "jit/observe/profile.hpp"
#include "jit/plan/bind.hpp"
#include "jit/plan/names.hpp"
#include "jit/run/execution.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"

namespace lazy::jit {

void Run::steps(bool same) {
  if (profile::on()) event::name_run(p_, f_);
  try {
    if (!p_.faults.empty()) arguments_.faults.clear(p_.faults.size(), backend_);
    arguments_.begin(f_, backend_.context(), same);
    if (p_.steps.size() > 1 && !profile::on())
      capture_ = backend_.begin_capture(p_.number, arguments_.launch_graph);
    sequence(0, p_.steps.size(), p_.tile_groups);
    if (capture_) capture_->finish();
    capture_.reset();
    look_for_faults();
  } catch (...) {
    capture_.reset();
    for (Node* input : f_.overwritten) input->lost = true;
    sort_stands();
    publish(f_.stands);
    throw;
  }
  if (!f_.stands.empty()) sort_stands();
  metric::add(MetricCounter::launches, launches_);
}

void Run::publish() {
  if (p_.results.size() == 1 && p_.results[0].path == 0 && p_.results[0].input == kNone) {
    Node& n = *f_.values[p_.results[0].node];  // the most frequent case: the buffer changes hands
    n.contiguous = true;
    n.offset = 0;
    n.buffer = std::move(buffers_[static_cast<size_t>(p_.results[0].slot)]);
    return;
  }
  for (const Result& r : p_.results) publish(r);
}

void Run::publish(const std::vector<Node*>& nodes) noexcept {
  auto next = nodes.begin();
  for (const Result& r : p_.results)
    if (next != nodes.end() && f_.values[r.node] == *next) publish(r), ++next;
}

void Run::publish(const Result& r) {
  Node* n = f_.values[r.node];
  if (r.path == 0 && r.input == kNone) {
    n->contiguous = true;
    n->offset = 0;
    n->buffer = buffers_[static_cast<size_t>(r.slot)];
    return;
  }
  const Layout l = result_layout(p_, r, f_);
  n->contiguous = l.is_contiguous();
  n->offset = l.offset;
  n->strides = l.strides;
  n->buffer = r.input == kNone ? buffers_[static_cast<size_t>(r.slot)] : f_.values[r.input]->buffer;
}

void Run::sequence(size_t first, size_t last, const std::vector<TileGroup>& tile_groups) {
  size_t i = first;
  for (const TileGroup& tile_group : tile_groups) {
    for (; i < tile_group.first; ++i) one(i);
    i += tile_group.count;
    if (may_keep_any(tile_group)) {
      sequence(tile_group.first, i, tile_group.parts);
      continue;
    }
    if (tile_group.rows && row_by_row(tile_group)) continue;
    if (Planned& plan = planned(tile_group); plan.blocks.worth_it) block_by_block(plan);
    else sequence(tile_group.first, i, tile_group.parts);
  }
  for (; i < last; ++i) one(i);
}

void Run::one(size_t i) {
  const Step& s = p_.steps[i];
  if (s.ahead_of != kNone) return;
  if (s.call.spec) return call(i);
  if (s.of_inputs && take_kept(i)) return;
  if (s.folded_into != kNone) return unmade_.push_back(static_cast<uint32_t>(i));
  const FoldedOperands folds = s.folds.empty() ? FoldedOperands() : read_through(i);
  for (uint32_t slot : s.made)
    if (!buffers_[slot]) make(slot, i);
  if (s.initial == Initial::copy) initialise(s);
  launch(i, folds);
  for (uint32_t slot : s.dead) release(slot);
}

void Run::launch(size_t i, const FoldedOperands& folds) {
  const Step& s = p_.steps[i];
  if (!bind(i)) return;
  const nvtx::Range range([&] { return step_name(s, &f_); });
  const auto count = static_cast<size_t>(s.args.words());
  if (capture_) {
    capture_->launch(*s.kernel, arguments_.words(i), count, arguments_.changed(i));
    arguments_.note_captured(i);
  } else {
    const Words w(arguments_.words(i), count);
    const BufferRef pack = s.sequential < 0 ? BufferRef() : packed(s, w.data, folds);
    if (pack) w.data[loop::ArgLayout::kPacked] = reinterpret_cast<uint64_t>(pack->data());
    if (profile::on()) launch_timed(s, w.data, folds);
    else launch_now(s, w.data, folds);
  }
  ++launches_;
  unseen_faults_ |= s.fallible;
}

void Run::look_for_faults() {
  if (!unseen_faults_) return;
  if (capture_) capture_->finish();
  capture_.reset();
  arguments_.faults.look(p_.faults, f_.values, backend_);
  unseen_faults_ = false;
}

void Run::launch_now(const Step& s, uint64_t* words, const FoldedOperands& folds) {
  if (folds.empty()) s.kernel->launch(words);
  else s.kernel->launch_folded(words, folds, false);
}

void Run::launch_timed(const Step& s, uint64_t* words, const FoldedOperands& folds) {
  profile::Activity& now = profile::activity;
  const char* const outer = std::exchange(now.name, event::name_of(p_, s));
  const uint32_t outer_parts = std::exchange(now.parts, 0);
  const profile::Ticks start = profile::now();
  launch_now(s, words, folds);
  if (!backend_.host()) backend_.synchronize();  // so that the time measured is the launch's alone
  event::launch(start, profile::now(), p_, s, words, now.parts);
  now.name = outer;
  now.parts = outer_parts;
}

void run(const Program& p, CapturedGraph& f, Backend& backend, std::unique_ptr<Arguments>& arguments,
         bool same) {
  if (!arguments) arguments = p.arguments.take(p);
  try {
    Run r(p, f, backend, *arguments);
    r.steps(same);
    r.publish();
  } catch (...) {
    arguments.reset();  // its words may belong half to one run, half to another
    throw;
  }
}

void run(const Program& p, CapturedGraph& f, Backend& backend) {
  std::unique_ptr<Arguments> arguments;
  run(p, f, backend, arguments, false);
  p.arguments.put(std::move(arguments));
}

}  // namespace lazy::jit
