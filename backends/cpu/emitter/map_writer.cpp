// Writes kernels whose axes are all parallel: full vectors several at a time, then the rest of the row under
// the tail mask.
#include <bit>

#include "backends/cpu/emitter/list_scheduling.hpp"
#include "backends/cpu/emitter/map_writer.hpp"

namespace lazy::cpu_backend {

namespace {

// The rest of a row is written out rather than looped over up to so many vector instructions.
constexpr int kLongRest = 100;
// Bodies of more computed values than this are ordered: a processor looks ahead over about as many.
constexpr int kLong = 56;
// Longer ones take long to compile already.
constexpr int kLongest = 240;

/// Estimates the cycles that the template takes: on its longest chain, and by how many instructions the units
/// can begin.
struct Estimate {
  int chain = 0, work = 0;
  int slow = 0;  // divisions and roots: copies would wait for the one unit that does them
};
bool is_slow(const vir::Inst& in) { return in.op == vir::Op::div || in.op == vir::Op::sqrt; }
/// Returns the cycles from the inputs, or what comes before line `first`, to each value.
std::vector<int> depths(const Template& t, size_t first = 0) {
  std::vector<int> depth(t.code.size(), 0);
  for (size_t v = first; v < t.code.size(); ++v) {
    const vir::Inst& in = t.code[v];
    if (block_arity(in.op) == 0 || in.op == kCarried) continue;
    int d = 0;
    each_operand(in, [&](uint32_t u) { d = std::max(d, depth[u]); });
    const bool is_float = in.type == vir::Type::f32 || in.type == vir::Type::f64;
    depth[v] = d + (is_slow(in) ? 12 : is_float ? 4 : 2);
  }
  return depth;
}
Estimate estimate(const Template& t) {
  Estimate e;
  const std::vector<int> depth = depths(t);
  for (size_t v = 0; v < depth.size(); ++v) {
    if (depth[v] == 0) continue;
    const bool slow = is_slow(t.code[v]);
    e.chain = std::max(e.chain, depth[v]);
    e.work += slow ? 6 : 1;
    e.slow += slow;
  }
  return e;
}

/// Returns how many vectors a template's repeats need so that one's latency is the others' work, two
/// instructions a cycle.
int wanted_vectors(const Template& t) {
  int most = 1;
  for (size_t v = 0; v < t.code.size(); ++v) {
    if (t.code[v].op != kRolledLoop) continue;
    const std::vector<int> depth = depths(t, v);
    int work = 0, chain = 0;
    size_t end = v;
    for (; t.code[end].op != kRepeatEnd; ++end)
      work += block_arity(t.code[end].op) > 0 && t.code[end].op != kCarried;
    for (const auto& c : t.carried)
      if (c.value > v && c.value < end) chain = std::max(chain, depth[c.next]);
    int vecs = 1;
    while (vecs < 8 && vecs * work < 2 * chain) vecs *= 2;
    most = std::max(most, vecs);
  }
  return most;
}

/// Returns the most values that one rolled loop carries.
int carried_together(const Template& t) {
  int most = 0;
  auto c = t.carried.begin();
  for (uint32_t v = 0; v < t.code.size(); ++v) {
    if (t.code[v].op != kRepeatEnd) continue;
    int n = 0;
    for (; c != t.carried.end() && c->value < v; ++c) ++n;
    most = std::max(most, n);
  }
  return most;
}

}  // namespace

/// Orders a body that is longer than a processor looks ahead, for as many vectors at once as fill the time of
/// its chains. Returns how many; 0: none, the body stays as it is.
int MapWriter::order_long_body() {
  int computed = 0;
  for (const vir::Inst& in : body_.code) computed += block_arity(in.op) > 0;
  if (computed <= kLong || computed > kLongest) return 0;
  const int vecs = as_->avx512() ? 4 : 2;
  // Constants are read from memory, and spilling some of a vector's values costs less than waiting for them.
  return list_schedule(body_, vecs, as_->avx512() ? 6 : 8) ? vecs : 0;
}

void MapWriter::prepare() { suits_rows_ = find_rows_alike(); }

void MapWriter::plan() {
  const int vecs_of_long = order_long_body();
  copies_ = std::make_unique<Copies>(*as_, body_, full_, vector_axis_);
  if (!k_.rolled_loops.empty()) return plan_rolled_loops();
  const Estimate e = estimate(body_);
  const auto size = static_cast<int>(copies_->stage2_size());
  // Short bodies share the loop's overhead; a long one is interleaved with itself if its chain is longer than
  // its work and too long for the processor's window to overlap.
  int vecs = size <= 12 ? 4 : size <= 40 ? 2 : 1;
  const bool chained = size > 40 && e.chain > e.work && e.slow <= 2;
  if (chained) vecs = e.chain > 2 * e.work || registers() == 32 ? 4 : 2;
  if (vecs_of_long > 0) vecs = vecs_of_long;
  if (size * vecs > 6000) vecs = 1;
  const int margin = as_->avx512() ? 2 : 3;
  // Copies that take turns need as many times the registers.
  single_ = copies_->block(2, {});
  const int each = pressure_of(*as_, single_);
  const int spilled = vecs_of_long > 0 ? 2 * registers() : chained ? registers() / 4 : 0;
  while (vecs > 1 && each * vecs + margin > registers() + spilled) --vecs;
  shape_ = {1, vecs, 1};
  single_loop_ = vecs == 1 && size > 300;
  const int of_rows = suits_rows_ ? plan_rows() : 0;
  if (copies_->pin(shape_, registers() - margin - std::max(each * vecs, of_rows)))
    single_ = copies_->block(2, {});
  limit_ = as_->reserve(8);
  if (!single_loop_) {
    as_->a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
    as_->a.sub(x86::rcx, vecs * lanes_);
    as_->a.mov(as_->frame(limit_), x86::rcx);
  }
  // More than the overhead of the loop would only make the code larger.
  schedule_.streams = !single_loop_ && size * vecs <= 1000;
  for (const jit::loop::Operand& o : k_.operands)
    if (o.output) schedule_.streams &= size_of(o.dtype) >= 4 && o.stride[vector_axis_] == Stride::unit;
  masked_.scalars = full_.scalars;
  if (!copies_->stage_is_empty(0)) write_block(copies_->block(0, shape_), full_);
  if (suits_rows_) begin_rows();
  if (std::has_single_bit(static_cast<unsigned>(vecs)) && size * (2 * vecs - 1) <= kLongRest) {
    rest_ = as_->reserve(8);
    as_->a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
    set_rest(rest_, vecs);
  }
}

/// Plans a map whose repeats are all that counts: it takes so many vectors that their chains fill the time of
/// each other's latency, as far as registers for what they carry last.
void MapWriter::plan_rolled_loops() {
  const int margin = as_->avx512() ? 2 : 3;
  int vecs = std::min(8, wanted_vectors(body_));
  int work = 0;
  const auto pressure = [&](int v) {
    int most = 0;
    for (int s = 1; s < copies_->sections(); s += 2)
      most = std::max(most, pressure_of(*as_, copies_->section(s, {1, v, 1})));
    return most + margin;
  };
  work = pressure(vecs);
  while (vecs > 1 && work + vecs * carried_together(body_) > registers()) work = pressure(vecs /= 2);
  shape_ = {1, vecs, 1};
  copies_->pin_rolled_loops(shape_, std::min(registers() - work, registers() - 6));
  limit_ = as_->reserve(8);
  trips_left_ = as_->reserve(8);
  full_.stepped = masked_.stepped = as_->reserve(8);
  as_->a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  as_->a.sub(x86::rcx, vecs * lanes_);
  as_->a.mov(as_->frame(limit_), x86::rcx);
  masked_.scalars = full_.scalars;
  if (!copies_->stage_is_empty(0)) write_block(copies_->block(0, shape_), full_);
}

void MapWriter::write_sections(Shape shape, const Addressing& w) {
  if (k_.rolled_loops.empty()) {
    if (shape.vecs == 1) write_block(single_, w);
    else write_block(copies_->block(2, shape), w);
    return;
  }
  x86::Assembler& a = as_->a;
  for (int s = 0; s < copies_->sections(); ++s) {
    if (s % 2 == 0) {
      write_block(copies_->section(s, shape), w);
      continue;
    }
    const jit::loop::RolledLoop& r = k_.rolled_loops[static_cast<size_t>(s / 2)];
    a.mov(x86::rcx, as_->arg(as_->args.scalar(r.trips)));
    a.mov(as_->frame(trips_left_), x86::rcx);
    a.mov(as_->frame(w.stepped), x86::rdi);
    const Label again = a.newLabel();
    a.align(asmjit::AlignMode::kCode, 32);
    a.bind(again);
    write_block(copies_->section(s, shape), w);
    x86::Mem left = as_->frame(trips_left_), stepped = as_->frame(w.stepped);
    left.setSize(8), stepped.setSize(8);
    if (r.scalar_step) a.add(stepped, r.scalar_step * 8);
    a.sub(left, 1);
    a.jnz(again);
  }
}

void MapWriter::row() {
  x86::Assembler& a = as_->a;
  for (int rows = kMostRows; suits_rows_ && rows > 1; rows /= 2) several_rows(rows);
  if (!copies_->stage_is_empty(1)) write_block(copies_->block(1, shape_), full_);
  const Label tail = a.newLabel(), finished = a.newLabel();
  a.xor_(x86::eax, x86::eax);
  const auto whole_vectors = [&](const Addressing& to) {
    const Label loop = a.newLabel();
    a.align(asmjit::AlignMode::kCode, 32);
    a.bind(loop);
    write_sections(shape_, to);
    a.add(x86::rax, shape_.vecs * lanes_);
    a.cmp(x86::rax, as_->frame(limit_));
    a.jle(loop);
  };
  if (!single_loop_) {
    a.cmp(x86::rax, as_->frame(limit_));
    a.jg(tail);
    if (schedule_.streams) {
      const Label cached = a.newLabel();
      a.cmp(as_->arg(jit::loop::ArgLayout::kScratch), 0);
      a.je(cached);
      Addressing past = full_;
      past.stream = true;
      whole_vectors(past);
      a.jmp(tail);
      a.bind(cached);
    }
    whole_vectors(full_);
  }
  a.bind(tail);
  if (rest_ >= 0) {
    const auto one = [&](int v, const Addressing& w) {
      copies_->first_vec = v;
      write_block(copies_->block(2, {}), w);
      copies_->first_vec = 0;
    };
    return write_rest(
        rest_, shape_.vecs, [&](int v) { one(v, full_); }, [&](int v) { one(v, masked_); });
  }
  a.mov(x86::rcx, as_->arg(as_->args.extent(vector_axis_)));
  a.sub(x86::rcx, x86::rax);
  a.jle(finished);
  set_tail();
  write_sections({}, masked_);
  a.add(x86::rax, lanes_);
  a.jmp(tail);
  a.bind(finished);
}

}  // namespace lazy::cpu_backend
