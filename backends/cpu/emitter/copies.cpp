#include "backends/cpu/emitter/copies.hpp"

#include <algorithm>

namespace lazy::cpu {
using jit::loop::Stride;
using vir::Inst;
using vir::Op;
using vir::Type;
namespace {

constexpr uint32_t kNone = ~0u;

}  // namespace

Copies::Copies(Assembly& as, const Template& t, const Addressing& w, int inner_axis) : as_(as), t_(t) {
  info_.resize(t.code.size());
  needed_later_.resize(t.code.size(), 0);
  for (uint32_t v = 0; v < t.code.size(); ++v) {
    const Inst& in = t.code[v];
    Info& i = info_[v];
    if (in.op == Op::constant) {
      i.cheap = true;
    } else if (in.op == Op::input) {
      const Slot s = Slot::unpack(in.imm);
      switch (s.kind) {
        case Slot::Kind::load: {
          const auto& o = as.kernel.operands[s.index];
          i.row = w.row_axis >= 0 && o.stride[w.row_axis] != Stride::zero;
          i.vec = o.stride[w.vector_axis] != Stride::zero;
          i.stage = inner_axis < 0 || o.stride[inner_axis] != Stride::zero ? 2 : 1;
          i.cheap = size_of(o.dtype) >= 4 && !i.vec;
          break;
        }
        case Slot::Kind::iota:
          i.row = s.index == w.row_axis;
          i.vec = s.index == w.vector_axis;
          i.stage = inner_axis < 0 || s.index == inner_axis ? 2 : 1;
          break;
        case Slot::Kind::scalar: i.cheap = in.type != Type::mask; break;
        case Slot::Kind::tail: i.stage = 2; break;
        default: i.stage = 2, i.row = i.vec = true; break;
      }
    }
    each_operand(in, [&](uint32_t u) {
      i.stage = std::max(i.stage, info_[u].stage);
      i.row |= info_[u].row;
      i.vec |= info_[u].vec;
    });
  }
  for (const auto& s : t.stores) info_[s.value].live = true;
  for (const auto& u : t.updates) info_[u.value].live = true;
  for (size_t v = t.code.size(); v-- > 0;)
    if (info_[v].live) each_operand(t.code[v], [&](uint32_t u) { info_[u].live = true; });
  if (inner_axis < 0)
    for (Info& i : info_) i.stage = 2;
  for (uint32_t v = 0; v < t.code.size(); ++v) {
    const Info& i = info_[v];
    if (!i.live) continue;
    each_operand(t.code[v], [&](uint32_t u) {
      if (info_[u].stage < i.stage) needed_later_[u] = 1;
    });
    if (t.code[v].op != Op::constant && t.code[v].op != Op::input) computed_[i.stage].push_back(v);
  }
  for (const auto& s : t.stores)
    if (info_[s.value].stage < 2) needed_later_[s.value] = 1;
  for (const auto& u : t.updates)
    if (info_[u.value].stage < 2) needed_later_[u.value] = 1;
}

uint16_t Copies::kept(uint32_t v, int row, int vec) {
  const auto [variable, fresh] = kept_.try_emplace(key(v, row, vec), uint16_t{0});
  if (fresh) variable = as_.new_variable(t_.code[v].type);
  return variable;
}
bool Copies::is_kept(uint32_t v, int row, int vec) const { return kept_.contains(key(v, row, vec)); }

Inst Copies::leaf(uint32_t v, int row, int vec, int step) {
  Inst in = t_.code[v];
  if (in.op != Op::input) return in;
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
  const bool earlier = i.stage < stage;
  if (earlier && !(i.cheap && !is_kept(v, row, vec)))
    out.push_back({Op::input, t_.code[v].type, Slot{Slot::Kind::variable, kept(v, row, vec)}.pack()});
  else out.push_back(leaf(v, row, vec, step));
  return at = static_cast<uint32_t>(out.size() - 1);
}

void Copies::emit_values(Block& out, Known& known, int stage, Shape shape, int step) {
  for (const uint32_t v : computed_[stage]) {
    const Info i = info_[v];
    const Inst in = t_.code[v];
    const int arity = block_arity(in.op);
    for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
      for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec) {
        Inst copy = in;
        const auto ref = [&](uint32_t u) {
          const uint32_t at = known.of(u, info_[u], row, vec);
          return at != kNone ? at : reference(out, known, u, stage, row, vec, step);
        };
        if (arity > 0) copy.a = ref(in.a);
        if (arity > 1) copy.b = ref(in.b);
        if (arity > 2) copy.c = ref(in.c);
        if (arity > 3) copy.d = ref(in.d);
        known.of(v, i, row, vec) = static_cast<uint32_t>(out.size());
        out.push_back(copy);
      }
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
  return out;
}

Block Copies::stepped_block(Shape shape, int advances_after) {
  Block out;
  Known known(t_.code.size(), shape);
  for (int step = 0; step < shape.steps; ++step) {
    // Earlier stages' values are the same in every step.
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
  struct Candidate {
    uint32_t v;
    int row, vec;
    uint32_t uses;
  };
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
  std::sort(order.begin(), order.end(), [&](const Candidate& x, const Candidate& y) {
    return x.uses != y.uses ? x.uses > y.uses : key(x.v, x.row, x.vec) < key(y.v, y.row, y.vec);
  });
  for (const Candidate& c : order) {
    if (registers-- <= 0) break;
    const uint32_t free = (as_.avx512() ? ~0u : 0xffffu) & ~as_.reserved_vec;
    const int r = 31 - __builtin_clz(free);
    as_.reserved_vec |= 1u << r;
    needed_later_[c.v] = 1;
    as_.variables[kept(c.v, c.row, c.vec)].reg = static_cast<int8_t>(r);
  }
  return !order.empty();
}

bool Copies::stage_is_empty(int stage) const {
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (i.live && i.stage == stage && needed_later_[v] && (!i.cheap || is_kept(v, 0, 0))) return false;
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

}  // namespace lazy::cpu
