#include "jit/flush/flush_reporting.hpp"

#include <exception>

#include "jit/graph/recording.hpp"
#include "jit/plan/names.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

/// Chooses the flushes whose phases are timed: one in eight. Time stamps are most of what a recording costs a
/// cached flush, whose phases take much the same time each time.
bool next_is_timed(bool recording) noexcept {
  thread_local uint8_t flushes = 0;
  return recording && flushes++ % 8 == 0;
}

void log_memory(const Site& site) {
  const Metrics m = metrics();
  logging::write(logging::Channel::memory,
                 "after the flush at " + lazy::to_string(site) + ": " + text::human_size(m.bytes_live) +
                     " in use, " + text::human_size(m.bytes_peak) + " at most, " +
                     text::human_size(m.bytes_donated) + " donated so far, " +
                     text::human_size(m.bytes_kept) + " kept for later runs",
                 logging::Fields()
                     .at(site)
                     .add("bytes_live", m.bytes_live)
                     .add("bytes_peak", m.bytes_peak)
                     .add("bytes_donated", m.bytes_donated)
                     .add("bytes_kept", m.bytes_kept));
}

void add_folds(FlushReport& r, const Folds& folds) {
  for (const Fold& f : folds) r.rewritten.push_back(jit::describe(f));
}

void log_flush(const FlushReport& r) {
  const auto us = [](uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  logging::Fields fields;
  fields.at(r.site)
      .add("cause", r.replay ? "replay" : name_of(r.cause))
      .add("ops", r.ops)
      .add("kernels", r.kernels)
      .add("tile_groups", r.tile_groups)
      .add("values_kept", r.outputs)
      .add("state", r.load_ns ? "loaded"
                    : r.hit   ? "hit"
                              : "compiled")
      .add("variant", r.variant)
      .add("load_us", us(r.load_ns))
      .add("compile_us", us(r.compile_ns))
      .add("us", us(r.total_ns))
      .add("rewritten", r.rewritten)
      .add("kernel_texts", r.kernel_texts);
  if (!r.miss.empty()) fields.add("miss", r.miss);
  if (r.function) fields.add("function", r.function);
  if (r.recorded.line()) fields.add("recorded_at", lazy::to_string(r.recorded));
  logging::write(logging::Channel::flush, jit::describe(r), fields);
}

}  // namespace

FlushReporting::FlushReporting(Cause cause, const Node& wanted, const Site& site)
    : cause_(cause),
      recorded_(wanted.site),
      site_(site),
      listener_(FlushListener::current()),
      logged_(logging::enabled(logging::Channel::flush)) {
  times_.start = profile::start_time();
  phases_timed_ = next_is_timed(times_.start != 0);
}

void FlushReporting::taken(profile::Ticks first_op) noexcept {
  times_.first_op = first_op;
  if (told()) start_ = Clock::now();
}

void FlushReporting::keyed() {
  if (phases_timed_) times_.keyed = profile::now();
  if (!told() && !times_.start && !logging::enabled(logging::Channel::miss)) return;
  report_ = std::make_unique<FlushReport>();
  report_->cause = cause_;
  report_->site = site_;
  add_folds(*report_, folds_);
  if (cause_ == Cause::count) report_->function = Purpose::current();
  if (cause_ == Cause::other_thread) report_->recorded = recorded_;
}

void add_program(FlushReport& report, const Program& p, const CapturedGraph& f) {
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

bool ReplayReporting::wanted() {
  return FlushListener::current() || logging::enabled(logging::Channel::flush);
}

ReplayReporting::ReplayReporting(const Site& site, const Folds& folds) {
  report_.replay = true;
  report_.site = site;
  add_folds(report_, folds);
}

void ReplayReporting::finish(const Program& p, const CapturedGraph& f) {
  add_program(report_, p, f);
  if (logging::enabled(logging::Channel::flush)) log_flush(report_);
  if (FlushListener* const listener = FlushListener::current())
    listener->flushes.push_back(std::move(report_));
}

void FlushReporting::failed() const noexcept {
  if (!times_.start) return;
  try {
    try {
      throw;
    } catch (const std::exception& e) { event::failed_flush(times_, cause_, site_, e.what()); } catch (...) {
      event::failed_flush(times_, cause_, site_, "an exception of another type");
    }
  } catch (...) {}  // no memory to record it
}

void FlushReporting::stop() noexcept {
  report_->total_ns = static_cast<uint64_t>((Clock::now() - start_).count());
}

void FlushReporting::finish() {
  if (logged_) log_flush(*report_);
  if (logging::enabled(logging::Channel::memory)) log_memory(site_);
  if (listener_) listener_->flushes.push_back(std::move(*report_));
}

}  // namespace lazy::jit
