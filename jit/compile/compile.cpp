#include "jit/compile/compile.hpp"

#include <algorithm>
#include <chrono>

#include "jit/compile/copies.hpp"
#include "jit/compile/disk.hpp"
#include "jit/compile/kernels.hpp"
#include "jit/compile/profile_program.hpp"
#include "jit/lower/lower.hpp"
#include "jit/observe/dump.hpp"
#include "jit/observe/profile.hpp"
#include "jit/plan/names.hpp"
#include "jit/plan/tiling/row_groups.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

std::vector<uint64_t> trips_of(const loop::LoopKernel& k, const Step& step) {
  std::vector<uint64_t> trips;
  for (const loop::RolledLoop& r : k.rolled_loops) trips.push_back(step.scalars[r.trips].value);
  return trips;
}

// Adds guards that fix arguments. mark_static: the extents of marked dimensions. `all` (LAZY_DYNAMIC=never):
// all extents, scalars and positions, except inputs' dimensions that are marked dynamic and extents derived
// from those, recognised as multiples of one.
void fix_arguments(const Trace& t, Program& p, bool all) {
  const auto marked = [](const Node& n, int dim, int byte) {
    return (n.marks.load(std::memory_order_relaxed) >> (8 * byte + dim) & 1) != 0;
  };
  std::vector<int64_t> free;
  for (const Node* n : t.captured->values)
    for (int i = 0; i < n->shape.size(); ++i)
      if (marked(*n, i, 1) && n->shape[i] > 1) free.push_back(n->shape[i]);
  const auto fixed = [&](const Node& n, Op op, int dim) {
    if (op == Op::input) return all ? !marked(n, dim, 1) : marked(n, dim, 0);
    return all && std::none_of(free.begin(), free.end(), [&](int64_t f) { return n.shape[dim] % f == 0; });
  };
  const auto guard = [&](Guard::Kind kind, uint32_t node, int operand, int dim, int64_t value) {
    p.guards.push_back({kind, node, 0, static_cast<uint16_t>(operand), static_cast<uint16_t>(dim), value});
  };
  for (uint32_t v = 0; v < t.captured->values.size(); ++v) {
    const Node& n = *t.captured->values[v];
    const Op op = t.values[v].op;
    if (op == Op::input || op == Op::reshape || op == Op::broadcast || op == Op::slice || op == Op::window ||
        is_source(op))
      for (int i = 0; i < n.shape.size(); ++i)
        if (n.shape[i] != 1 && fixed(n, op, i)) guard(Guard::Kind::extent, v, 0, i, n.shape[i]);
    if (!all) continue;
    if (op == Op::constant) guard(Guard::Kind::scalar, v, 0, 0, static_cast<int64_t>(n.scalar.bits));
    if (op == Op::slice || op == Op::slice_update || op == Op::window)
      for (int i = 0; i < n.ints.size(); ++i) {
        guard(Guard::Kind::position, v, 0, i, n.ints[i]);
        guard(Guard::Kind::position, v, 1, i, n.steps[i]);
      }
  }
}

}  // namespace

const char* name_of(Variant v) {
  constexpr const char* names[] = {"generic", "strict", "fixed"};
  return names[static_cast<int>(v)];
}

Plan plan(const CapturedGraph& captured, Variant variant, Backend& backend) {
  Plan made(captured);
  const std::shared_ptr<Program>& program = made.program;
  Trace& trace = made.trace;
  std::vector<loop::LoopKernel>& loops = made.loops;
  program->variant = name_of(variant);
  for (uint8_t pending : captured.pending) program->nodes += pending;
  {
    const profile::Span span(event::kSimplify);
    simplify(trace);
    if (captured.contracts()) contract(trace);
  }
  const bool strict = variant == Variant::strict;
  {
    const profile::Span span(event::kFuse);
    made.fusion = fuse(trace, {strict, backend.host()});
  }
  const Fusion& fusion = made.fusion;
  if (!strict) fix_arguments(trace, *program, variant == Variant::fixed);
  {
    const profile::Span span(event::kLower);
    lower(trace, fusion, {strict, captured.exact_casts()}, *program, loops);
  }
  if (!backend.workers().all_on_each_block || backend.fuses_rows()) {
    const profile::Span span(event::kTileGroups);
    find_tile_groups(trace, fusion, loops, !backend.fuses_rows(), *program);
    if (backend.fuses_rows()) keep_row_groups(*program, loops);
  }
  mark_copies(*program, backend.host());
  for (size_t i = 0; i < loops.size(); ++i) {
    Step& step = program->steps[i];
    step.work = work_of(loops[i], trips_of(loops[i], step));
  }
  return made;
}

std::shared_ptr<const Program> compile(const CapturedGraph& captured, Variant variant, Backend& backend,
                                       Keep keep) {
  using clock = std::chrono::steady_clock;
  const nvtx::Range range([] { return std::string("compile"); });
  const metric::Compiling compiling;
  const auto start = clock::now();
  const profile::Ticks start_ticks = profile::start_time();
  const Plan planned = plan(captured, variant, backend);
  const std::shared_ptr<Program>& program = planned.program;
  const std::vector<loop::LoopKernel>& loops = planned.loops;
  const Trace& trace = planned.trace;
  const Fusion& fusion = planned.fusion;
  std::vector<TileGroup*> rows;  // tile groups that may become one kernel
  if (backend.fuses_rows())
    for (TileGroup* b : tile_groups_in(*program))
      if (rows_of(*program, *b, loops)) rows.push_back(b);
  // Kernels that take longest to compile come first.
  const auto compile_one = [&](int64_t i) {
    auto n = static_cast<size_t>(i);
    if (n < rows.size()) {
      TileGroup& tile_group = *rows[n];
      tile_group.rows =
          rows_for(*rows_of(*program, tile_group, loops), loops[tile_group.first].name + "_rows", backend);
      return;
    }
    n -= rows.size();
    Step& step = program->steps[n];
    if (step.call.spec) {
      step.call.kernel = call_kernel_for(*step.call.spec, backend);
      return;
    }
#ifndef NDEBUG
    loop::check(loops[n]);
#endif
    step.kernel = kernel_for(loops[n], backend);
  };
  const auto count = static_cast<int64_t>(loops.size() + rows.size());
  if (backend.compiles_slowly() && count > 1) {
    backend.for_each(count, compile_one);
  } else {
    for (int64_t i = 0; i < count; ++i) compile_one(i);
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!program->steps[i].kernel) continue;
    program->code_bytes += program->steps[i].kernel->code_bytes();
    if (logging::enabled(logging::Channel::kernels)) {
      const size_t ops = program->steps[i].ops, bytes = program->steps[i].kernel->code_bytes();
      std::string line = "kernel " + std::to_string(i) + " of " + std::to_string(loops.size()) + ": " +
                         loops[i].name + ", " + text::counted(ops, "op") + ", " + std::to_string(bytes) +
                         " bytes of code";
      if (logging::enabled(logging::Channel::kernels, logging::kDetail)) line += "\n" + loop::print(loops[i]);
      logging::write(
          logging::Channel::kernels, line,
          logging::Fields().add("kernel", loops[i].name).add("ops", ops).add("bytes_of_code", bytes));
    }
  }
  for (const TileGroup* b : rows) program->code_bytes += b->rows->code_bytes();
  name_steps(*program, &captured);
  if (logging::enabled(logging::Channel::fusion))
    logging::write(
        logging::Channel::fusion,
        text::counted(program->nodes, "op") + " -> " + text::counted(loops.size(), "kernel") +
            (logging::enabled(logging::Channel::fusion, logging::kDetail) ? "\n" + print(trace) : ""),
        logging::Fields().add("ops", program->nodes).add("kernels", loops.size()));
  if (logging::enabled(logging::Channel::fusion))
    for (const TileGroup& b : program->tile_groups)
      logging::write(logging::Channel::fusion, describe(b),
                     logging::Fields().add("tile_group_of", b.count).add("first_kernel", b.first));
  dump_program(trace, fusion, *program, loops);
  if (start_ticks) {
    event::compiled(start_ticks, *program);
    event::program(trace, fusion, *program, loops);
  }
  program->compile_ns = static_cast<uint64_t>((clock::now() - start).count());
  metric::add(MetricCounter::compile_ns, program->compile_ns);
  std::vector<uint32_t> key = captured.key;
  CapturedGraph::set_code_class(key, backend.code_class());
  if (keep == Keep::on_disk) store_program(key, captured, *program, loops, backend);
  return program;
}

}  // namespace lazy::jit
