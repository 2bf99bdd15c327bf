#include "backends/cpu/emitter/copies.hpp"

#include <algorithm>

namespace lazy::cpu_backend {
using jit::loop::Stride;
using vir::Inst;
using vir::Op;
using vir::Type;
namespace {

constexpr uint32_t kNone = ~0u;

bool is_index(const Inst& in) { return in.op == Op::input && Slot::unpack(in.imm).kind == Slot::Kind::iota; }

}  // namespace

Copies::Copies(Assembly& as, const Template& t, const Addressing& w, int inner_axis) : as_(as), t_(t) {
  info_.resize(t.code.size());
  needed_later_.resize(t.code.size(), 0);
  find_stages(w, inner_axis);
  mark_live();
  if (inner_axis < 0)
    for (Info& i : info_) i.stage = 2;
  if (!as.kernel.rolled_loops.empty()) find_sections();
  find_needed_later();
}

void Copies::find_stage_of_input(Info& i, const Inst& in, const Addressing& w, int inner_axis) const {
  const Slot s = Slot::unpack(in.imm);
  switch (s.kind) {
    case Slot::Kind::load:
      moves_with(i, s.index, w, inner_axis);
      i.cheap = size_of(as_.kernel.operands[s.index].dtype) >= 4 && !i.vec;
      break;
    case Slot::Kind::iota:
      i.row = s.index == w.row_axis;
      i.vec = s.index == w.vector_axis;
      i.stage = inner_axis < 0 || s.index == inner_axis ? 2 : 1;
      break;
    case Slot::Kind::scalar: i.cheap = in.type != Type::mask; break;
    case Slot::Kind::tail: i.stage = 2; break;
    case Slot::Kind::stepped: i.stage = 2; break;
    default: i.stage = 2, i.row = i.vec = true; break;
  }
}

void Copies::find_stages(const Addressing& w, int inner_axis) {
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Inst& in = t_.code[v];
    Info& i = info_[v];
    if (in.op == Op::constant) {
      i.cheap = true;
    } else if (in.op == Op::input) {
      find_stage_of_input(i, in, w, inner_axis);
    } else if (is_indexed_load(in.op)) {
      moves_with(i, Slot::unpack(in.imm).index, w, inner_axis);
    }
    each_operand(in, [&](uint32_t u) {
      i.stage = std::max(i.stage, info_[u].stage);
      i.row |= info_[u].row;
      i.vec |= info_[u].vec;
    });
    if (in.op == kCarried) i.stage = 2, i.vec = true;
  }
}

void Copies::mark_live() {
  for (const auto& s : t_.stores) info_[s.value].live = true;
  for (uint32_t v = 0; t_.indexed && v < t_.code.size(); ++v)
    if (t_.code[v].op == kCheck) info_[v].live = true;
  for (const auto& u : t_.updates) info_[u.value].live = true;
  for (const auto& c : t_.carried) info_[c.value].live = info_[c.next].live = true;
  for (size_t v = t_.code.size(); v-- > 0;)
    if (info_[v].live) each_operand(t_.code[v], [&](uint32_t u) { info_[u].live = true; });
}

void Copies::find_needed_later() {
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (!i.live) continue;
    each_operand(t_.code[v], [&](uint32_t u) {
      if (info_[u].stage < i.stage) needed_later_[u] = 1;
    });
    const vir::OpCode op = t_.code[v].op;
    if (op != Op::constant && op != Op::input && op != kCarried) computed_[i.stage].push_back(v);
  }
  for (const auto& s : t_.stores)
    if (info_[s.value].stage < 2) needed_later_[s.value] = 1;
  for (const auto& c : t_.carried)
    if (info_[c.next].stage < 2) needed_later_[c.next] = 1;
  for (const auto& u : t_.updates)
    if (info_[u.value].stage < 2) needed_later_[u.value] = 1;
}

/// Marks where a load moves to another element: wherever its operand moves.
[[gnu::noinline]] void Copies::moves_with(Info& i, uint16_t operand, const Addressing& w,
                                          int inner_axis) const {
  const auto& o = as_.kernel.operands[operand];
  i.row = w.row_axis >= 0 && o.stride[w.row_axis] != Stride::zero;
  i.vec = o.stride[w.vector_axis] != Stride::zero;
  i.stage = inner_axis < 0 || o.stride[inner_axis] != Stride::zero ? 2 : 1;
}

/// Moves what a rolled loop computes without its carried values and stepped scalars before it.
void Copies::find_sections() {
  uint16_t now = 0;
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Inst& in = t_.code[v];
    if (in.op == kRolledLoop || in.op == kRepeatEnd) {
      ++now;
      continue;
    }
    bool varies =
        in.op == kCarried || (in.op == Op::input && Slot::unpack(in.imm).kind == Slot::Kind::stepped);
    if (in.op != kCarried) each_operand(in, [&](uint32_t u) { varies |= info_[u].section == now; });
    info_[v].section = static_cast<uint16_t>(now % 2 && !varies ? now - 1 : now);
  }
  sections_ = now + 1;
  Recycled<uint8_t> needed_after;  // read by a later section
  needed_after.resize(t_.code.size(), 0);
  const auto use = [&](uint32_t u, int section) {
    if (info_[u].section < section) needed_after[u] = 1;
  };
  for (uint32_t v = 0; v < t_.code.size(); ++v)
    if (info_[v].live && t_.code[v].op != kCarried)
      each_operand(t_.code[v], [&](uint32_t u) { use(u, info_[v].section); });
  for (const auto& c : t_.carried) {
    use(t_.code[c.value].a, info_[c.value].section - 1);
    use(c.next, info_[c.value].section);
  }
  for (const auto& s : t_.stores) use(s.value, sections_ - 1);
  kept_after_.resize(static_cast<size_t>(sections_));
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (i.live && i.stage == 2 && needed_after[v] && t_.code[v].op != Op::constant && becomes(v) == kNone)
      kept_after_[i.section].push_back(v);
  }
}

uint32_t Copies::becomes(uint32_t v) const {
  for (const auto& c : t_.carried)
    if (c.next == v && info_[v].section == info_[c.value].section && c.value != v &&
        t_.code[v].op != kCarried)
      return c.value;
  return kNone;
}

uint16_t Copies::kept(uint32_t v, int row, int vec) {
  if (const uint32_t c = becomes(v); c != kNone) return kept(c, row, vec);
  const auto [variable, fresh] = kept_.try_emplace(key(v, row, vec), uint16_t{0});
  if (fresh) variable = as_.new_variable(t_.code[v].type);
  return variable;
}
/// Finds where a carried value's last one is after the rolled loop, whose variable has been overwritten by
/// then.
uint16_t Copies::exit_of(uint32_t carried, int vec) {
  const auto [variable, fresh] = kept_.try_emplace(key(carried, 0, vec) | uint64_t{1} << 62, uint16_t{0});
  if (fresh) variable = as_.new_variable(t_.code[carried].type);
  return variable;
}
bool Copies::is_kept(uint32_t v, int row, int vec) const { return kept_.contains(key(v, row, vec)); }

Inst Copies::input(uint32_t v, int row, int vec, int step) {
  Inst in = t_.code[v];
  if (in.op != Op::input && !is_indexed_load(in.op)) return in;
  Slot s = Slot::unpack(in.imm);
  if (s.kind == Slot::Kind::acc || s.kind == Slot::Kind::result) {
    s.index = s.kind == Slot::Kind::acc ? accumulator(s.index, row, vec, step) : result(s.index, row, vec);
    s.kind = Slot::Kind::variable;
  } else if (s.kind == Slot::Kind::load || s.kind == Slot::Kind::iota) {
    s.row = info_[v].row ? static_cast<uint8_t>(row) : 0;
    s.vec = info_[v].vec ? static_cast<uint8_t>(vec + first_vec) : 0;
    s.step = static_cast<uint8_t>(step);
  }
  in.imm = s.pack();
  return in;
}

uint32_t Copies::reference(Block& out, Known& known, uint32_t v, int stage, int row, int vec, int step) {
  const Info& i = info_[v];
  uint32_t& at = known.of(v, i, row, vec);
  if (at != kNone) return at;
  const bool carried = t_.code[v].op == kCarried;
  const bool earlier = i.stage < stage || i.section < current_;
  const auto read = [&](uint16_t variable) {
    out.push_back({Op::input, t_.code[v].type, Slot{Slot::Kind::variable, variable}.pack()});
  };
  if (carried) read(earlier ? exit_of(v, vec) : kept(v, row, vec));
  else if (earlier && !(i.cheap && !is_kept(v, row, vec))) read(kept(v, row, vec));
  else if (vec > 0 && i.vec && is_index(t_.code[v])) {  // counted on from the first vector's
    const Type type = t_.code[v].type;
    const uint32_t first = reference(out, known, v, stage, row, 0, step);
    out.push_back({Op::constant, type, static_cast<uint64_t>(vec) * static_cast<uint64_t>(as_.lanes)});
    out.push_back({Op::iadd, type, 0, first, static_cast<uint32_t>(out.size() - 1)});
  } else out.push_back(input(v, row, vec, step));
  return at = static_cast<uint32_t>(out.size() - 1);
}

void Copies::emit_value(Block& out, Known& known, uint32_t v, int stage, int row, int vec, int step) {
  Inst copy = t_.code[v];
  if (is_indexed_load(copy.op)) [[unlikely]]
    copy = input(v, row, vec, step);
  const auto ref = [&](uint32_t u) {
    const uint32_t at = known.of(u, info_[u], row, vec);
    return at != kNone ? at : reference(out, known, u, stage, row, vec, step);
  };
  const int arity = block_arity(copy.op);
  if (arity > 0) copy.a = ref(copy.a);
  if (arity > 1) copy.b = ref(copy.b);
  if (arity > 2) copy.c = ref(copy.c);
  if (arity > 3) copy.d = ref(copy.d);
  known.of(v, info_[v], row, vec) = static_cast<uint32_t>(out.size());
  out.push_back(copy);
}

void Copies::emit_values(Block& out, Known& known, int stage, Shape shape, int step) {
  for (const uint32_t v : computed_[stage]) {
    const Info& i = info_[v];
    for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
      for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec)
        emit_value(out, known, v, stage, row, vec, step);
  }
}

Block Copies::block(int stage, Shape shape) {
  Block out;
  out.reserve(t_.code.size() * static_cast<size_t>(stage == 2 ? shape.vecs * shape.rows : 1) + 16);
  Known known(t_.code.size(), shape);
  emit_values(out, known, stage, shape, 0);
  if (stage < 2) {
    for (uint32_t v = 0; v < t_.code.size(); ++v) {
      const Info& i = info_[v];
      if (!i.live || i.stage != stage || !needed_later_[v]) continue;
      for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
        for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec) {
          if (i.cheap && !is_kept(v, row, vec)) continue;
          const uint32_t value = reference(out, known, v, stage, row, vec, 0);
          out.push_back({kAssign, t_.code[v].type, kept(v, row, vec), value});
        }
    }
    return out;
  }
  for (const auto& u : t_.updates)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) {
        const uint32_t value = reference(out, known, u.value, 2, row, vec, 0);
        out.push_back({kAssign, t_.code[u.value].type, accumulator(u.accumulator, row, vec, 0), value});
      }
  store(out, known, shape);
  return out;
}

void Copies::store(Block& out, Known& known, Shape shape) {
  for (const auto& s : t_.stores)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) {
        const uint32_t value = reference(out, known, s.value, 2, row, vec, 0);
        out.push_back({kStore, t_.code[s.value].type,
                       Slot{Slot::Kind::load, s.operand, static_cast<uint8_t>(row),
                            static_cast<uint8_t>(vec + first_vec)}
                           .pack(),
                       value});
      }
}

// A short rolled loop's vectors follow each other: each needs few registers, and the processor overlaps them.
// Those of a long one take turns.
constexpr size_t kShortRepeat = 300;

Block Copies::section(int section, Shape shape) {
  Block out;
  Known known(t_.code.size(), shape);
  current_ = section;
  Recycled<uint32_t> values;
  for (const uint32_t v : computed_[2])
    if (info_[v].section == section) values.push_back(v);
  const bool by_vector = section % 2 && values.size() * static_cast<size_t>(shape.vecs) <= kShortRepeat;
  const bool last = section + 1 == sections_;
  for (int first = 0; first < shape.vecs; first += by_vector ? 1 : shape.vecs) {
    const int end = by_vector ? first + 1 : shape.vecs;
    for (const uint32_t v : values)
      for (int vec = first; vec < end; ++vec)
        if (vec == 0 || info_[v].vec) emit_value(out, known, v, 2, 0, vec, 0);
    if (!last) keep(out, known, section, first, end);
  }
  if (last) store(out, known, shape);
  current_ = 0;
  return out;
}

/// Ends a section, of some vectors: what later ones need goes to its variables, all at once, as one may be
/// what another replaces.
void Copies::keep(Block& out, Known& known, int section, int first_vec, int last_vec) {
  Recycled<Inst> assignments;
  const auto assign = [&](uint32_t v, uint16_t variable, int vec) {
    uint32_t value = reference(out, known, v, 2, 0, vec, 0);
    if (t_.code[v].op == kCarried) {
      out.push_back({kCopy, t_.code[v].type, 0, value});
      value = static_cast<uint32_t>(out.size() - 1);
    }
    assignments.push_back({kAssign, t_.code[v].type, variable, value});
  };
  for (int vec = first_vec; vec < last_vec; ++vec) {
    for (const uint32_t v : kept_after_[static_cast<size_t>(section)]) {
      const Info& i = info_[v];
      if ((vec > 0 && !i.vec) || (i.cheap && !is_kept(v, 0, vec))) continue;
      assign(v, t_.code[v].op == kCarried ? exit_of(v, vec) : kept(v, 0, vec), vec);
    }
    for (const auto& c : t_.carried) {
      const int home = info_[c.value].section;
      if (home == section + 1) assign(t_.code[c.value].a, kept(c.value, 0, vec), vec);
      if (home == section && c.next != c.value) assign(c.next, kept(c.value, 0, vec), vec);
    }
  }
  out.insert(out.end(), assignments.begin(), assignments.end());
}

Block Copies::stepped_block(Shape shape, int advances_after) {
  Block out;
  Known known(t_.code.size(), shape);
  for (int step = 0; step < shape.steps; ++step) {
    // Values of earlier stages are the same in every step.
    for (uint32_t v = 0; v < t_.code.size(); ++v)
      if (info_[v].stage == 2)
        std::fill_n(known.at.begin() + static_cast<std::ptrdiff_t>(v * known.rows * known.vecs),
                    known.rows * known.vecs, kNone);
    emit_values(out, known, 2, shape, step);
    for (const auto& u : t_.updates)
      for (int row = 0; row < shape.rows; ++row)
        for (int vec = 0; vec < shape.vecs; ++vec) {
          const uint32_t value = reference(out, known, u.value, 2, row, vec, step);
          out.push_back({kAssign, t_.code[u.value].type, accumulator(u.accumulator, row, vec, step), value});
        }
    if (step < advances_after) out.push_back({kAdvance, Type::f32});
  }
  return out;
}

bool Copies::pin(Shape shape, int registers) {
  if (registers <= 0) return false;
  std::vector<Candidate> order;
  FlatMap<uint32_t> places;
  const auto use = [&](uint32_t u, int row, int vec) {
    if (info_[u].stage >= 2 || t_.code[u].type == Type::mask) return;
    if (t_.code[u].op == Op::constant && t_.code[u].imm == 0 && !as_.avx512()) return;
    const auto [place, fresh] = places.try_emplace(key(u, row, vec), static_cast<uint32_t>(order.size()));
    if (fresh) order.push_back({u, row, vec, 0});
    ++order[place].uses;
  };
  for (const uint32_t v : computed_[2])
    for (int row = 0; row < (info_[v].row ? shape.rows : 1); ++row)
      for (int vec = 0; vec < (info_[v].vec ? shape.vecs : 1); ++vec)
        each_operand(t_.code[v], [&](uint32_t u) { use(u, row, vec); });
  for (const auto& s : t_.stores)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) use(s.value, row, vec);
  pin_in_order(order, registers);
  return !order.empty();
}

void Copies::pin_in_order(std::vector<Candidate>& order, int registers) {
  std::sort(order.begin(), order.end(), [&](const Candidate& x, const Candidate& y) {
    return x.uses != y.uses ? x.uses > y.uses : key(x.v, x.row, x.vec) < key(y.v, y.row, y.vec);
  });
  for (const Candidate& c : order) {
    if (registers-- <= 0 || !as_.has_register_to_give()) break;
    needed_later_[c.v] = 1;
    as_.give_register(kept(c.v, c.row, c.vec));
  }
}

void Copies::pin_rolled_loops(Shape shape, int registers) {
  constexpr uint32_t kCarriedUses = 1u << 30;  // before all others
  std::vector<Candidate> order;
  FlatMap<uint32_t> places;
  const auto use = [&](uint32_t u, int vec, uint32_t uses) {
    if (t_.code[u].type == Type::mask) return;
    if (t_.code[u].op == Op::constant && t_.code[u].imm == 0 && !as_.avx512()) return;
    const auto [place, fresh] = places.try_emplace(key(u, 0, vec), static_cast<uint32_t>(order.size()));
    if (fresh) order.push_back({u, 0, vec, 0});
    order[place].uses += uses;
  };
  for (int vec = 0; vec < shape.vecs; ++vec) {
    for (const auto& c : t_.carried) use(c.value, vec, kCarriedUses);
    for (const uint32_t v : computed_[2]) {
      const Info& i = info_[v];
      if (i.section % 2 == 0 || (vec > 0 && !i.vec)) continue;
      each_operand(t_.code[v], [&](uint32_t u) {
        if (info_[u].section < i.section && t_.code[u].op != kCarried) use(u, vec, 1);
      });
    }
  }
  pin_in_order(order, registers);
}

bool Copies::stage_is_empty(int stage) const {
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (i.live && i.stage == stage &&
        ((t_.indexed && t_.code[v].op == kCheck) || (needed_later_[v] && (!i.cheap || is_kept(v, 0, 0)))))
      return false;
  }
  return true;
}

size_t Copies::stage2_size() const {
  size_t n = 0;
  for (uint32_t v = 0; v < t_.code.size(); ++v) n += info_[v].live && info_[v].stage == 2;
  return n;
}

int pressure_of(const Assembly& as, const Block& b) {
  struct State {
    uint32_t last = 0;
    uint16_t uses = 0;
    enum : uint8_t { before, live, dead } now = before;
    bool counted = false;
  };
  Recycled<State> state;
  state.resize(b.size());
  for (uint32_t i = 0; i < b.size(); ++i)
    if (b[i].op != kAssign)  // computed where the variable lives
      each_operand(b[i], [&](uint32_t u) {
        state[u].last = i;
        state[u].uses = static_cast<uint16_t>(state[u].uses + (state[u].uses < 2));
      });
  const auto counted = [&](uint32_t v) {
    if (as.avx512() && b[v].type == Type::mask) return false;
    if (b[v].op == Op::constant) return false;
    if (b[v].op != Op::input) return true;
    const Slot s = Slot::unpack(b[v].imm);
    if (s.kind == Slot::Kind::load) return state[v].uses > 1;  // read once: usually a memory operand
    return s.kind != Slot::Kind::variable && s.kind != Slot::Kind::scalar;
  };
  int live = 0, most = 0;
  for (uint32_t i = 0; i < b.size(); ++i) {
    state[i].counted = counted(i);
    if (b[i].op == Op::constant || b[i].op == Op::input) continue;
    each_operand(b[i], [&](uint32_t u) {
      State& s = state[u];
      if (s.counted && s.now == State::before) s.now = State::live, ++live;
    });
    most = std::max(most, live + 1);
    each_operand(b[i], [&](uint32_t u) {
      State& s = state[u];
      if (s.now == State::live && s.last == i) s.now = State::dead, --live;
    });
    if (!has_effect(b[i].op) && state[i].last > i && state[i].counted) state[i].now = State::live, ++live;
  }
  return most;
}

}  // namespace lazy::cpu_backend
