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

Copies::Copies(Assembly& as, const Template& t, const Addressing& w, int inner_axis)
    : as_(as), t_(t), info_(t.code.size()), needed_later_(t.code.size(), 0) {
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
  for (uint32_t v = 0; v < t.code.size(); ++v)
    if (info_[v].live)
      each_operand(t.code[v], [&](uint32_t u) {
        if (info_[u].stage < info_[v].stage) needed_later_[u] = 1;
      });
  for (const auto& s : t.stores)
    if (info_[s.value].stage < 2) needed_later_[s.value] = 1;
  for (const auto& u : t.updates)
    if (info_[u.value].stage < 2) needed_later_[u.value] = 1;
}

uint16_t Copies::kept(uint32_t v, int row, int vec) {
  const auto [it, fresh] = kept_.try_emplace(key(v, row, vec), uint16_t{0});
  if (fresh) it->second = as_.new_variable(t_.code[v].type);
  return it->second;
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

uint32_t Copies::reference(Block& out, std::vector<uint32_t>& known, uint32_t v, int stage, int row, int vec,
                           int step, Shape shape) {
  const Info& i = info_[v];
  const size_t at =
      (static_cast<size_t>(v) * static_cast<size_t>(shape.rows) + static_cast<size_t>(i.row ? row : 0)) *
          static_cast<size_t>(shape.vecs) +
      static_cast<size_t>(i.vec ? vec : 0);
  if (known[at] != kNone) return known[at];
  const bool earlier = i.stage < stage;
  if (earlier && !(i.cheap && !is_kept(v, row, vec)))
    out.push_back({Op::input, t_.code[v].type, Slot{Slot::Kind::variable, kept(v, row, vec)}.pack()});
  else out.push_back(leaf(v, row, vec, step));
  return known[at] = static_cast<uint32_t>(out.size() - 1);
}

void Copies::emit_values(Block& out, std::vector<uint32_t>& known, int stage, Shape shape, int step) {
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (!i.live || i.stage != stage) continue;
    const Inst& in = t_.code[v];
    if (in.op == Op::constant || in.op == Op::input) continue;
    for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
      for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec) {
        Inst copy = in;
        const auto ref = [&](uint32_t u) { return reference(out, known, u, stage, row, vec, step, shape); };
        const int arity = block_arity(in.op);
        if (arity > 0) copy.a = ref(in.a);
        if (arity > 1) copy.b = ref(in.b);
        if (arity > 2) copy.c = ref(in.c);
        if (arity > 3) copy.d = ref(in.d);
        out.push_back(copy);
        known[(static_cast<size_t>(v) * static_cast<size_t>(shape.rows) + static_cast<size_t>(row)) *
                  static_cast<size_t>(shape.vecs) +
              static_cast<size_t>(vec)] = static_cast<uint32_t>(out.size() - 1);
      }
  }
}

Block Copies::block(int stage, Shape shape) {
  Block out;
  out.reserve(t_.code.size() * static_cast<size_t>(stage == 2 ? shape.vecs * shape.rows : 1) + 16);
  std::vector<uint32_t> known(t_.code.size() * static_cast<size_t>(shape.rows * shape.vecs), kNone);
  emit_values(out, known, stage, shape, 0);
  if (stage < 2) {
    for (uint32_t v = 0; v < t_.code.size(); ++v) {
      const Info& i = info_[v];
      if (!i.live || i.stage != stage || !needed_later_[v]) continue;
      for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
        for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec) {
          if (i.cheap && !is_kept(v, row, vec)) continue;
          const uint32_t value = reference(out, known, v, stage, row, vec, 0, shape);
          out.push_back({kAssign, t_.code[v].type, kept(v, row, vec), value});
        }
    }
    return out;
  }
  for (const auto& u : t_.updates)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) {
        const uint32_t value = reference(out, known, u.value, 2, row, vec, 0, shape);
        out.push_back({kAssign, t_.code[u.value].type, accumulator(u.accumulator, row, vec, 0), value});
      }
  for (const auto& s : t_.stores)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) {
        const uint32_t value = reference(out, known, s.value, 2, row, vec, 0, shape);
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
  std::vector<uint32_t> known(t_.code.size() * static_cast<size_t>(shape.rows * shape.vecs), kNone);
  for (int step = 0; step < shape.steps; ++step) {
    // Earlier stages' values are the same in every step.
    for (uint32_t v = 0; v < t_.code.size(); ++v)
      if (info_[v].stage == 2)
        std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(v) *
                                                                static_cast<size_t>(shape.rows * shape.vecs)),
                    shape.rows * shape.vecs, kNone);
    emit_values(out, known, 2, shape, step);
    for (const auto& u : t_.updates)
      for (int row = 0; row < shape.rows; ++row)
        for (int vec = 0; vec < shape.vecs; ++vec) {
          const uint32_t value = reference(out, known, u.value, 2, row, vec, step, shape);
          out.push_back({kAssign, t_.code[u.value].type, accumulator(u.accumulator, row, vec, step), value});
        }
    if (step < advances_after) out.push_back({kAdvance, Type::f32});
  }
  return out;
}

void Copies::pin(Shape shape, int registers) {
  if (registers <= 0) return;
  struct Candidate {
    uint32_t v;
    int row, vec;
    uint32_t uses;
  };
  std::unordered_map<uint64_t, Candidate> count;
  const auto use = [&](uint32_t u, int row, int vec) {
    if (info_[u].stage >= 2 || t_.code[u].type == Type::mask) return;
    if (t_.code[u].op == Op::constant && t_.code[u].imm == 0 && !as_.avx512()) return;
    auto& c = count.try_emplace(key(u, row, vec), Candidate{u, row, vec, 0}).first->second;
    ++c.uses;
  };
  for (uint32_t v = 0; v < t_.code.size(); ++v) {
    const Info& i = info_[v];
    if (!i.live || i.stage != 2) continue;
    for (int row = 0; row < (i.row ? shape.rows : 1); ++row)
      for (int vec = 0; vec < (i.vec ? shape.vecs : 1); ++vec)
        each_operand(t_.code[v], [&](uint32_t u) { use(u, row, vec); });
  }
  for (const auto& s : t_.stores)
    for (int row = 0; row < shape.rows; ++row)
      for (int vec = 0; vec < shape.vecs; ++vec) use(s.value, row, vec);
  std::vector<Candidate> order;
  for (const auto& [k, c] : count) order.push_back(c);
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
  std::vector<uint32_t> last(b.size(), 0), uses(b.size(), 0);
  for (uint32_t i = 0; i < b.size(); ++i)
    each_operand(b[i], [&](uint32_t u) {
      if (b[i].op == kAssign) return;  // computed where the variable lives
      last[u] = i, ++uses[u];
    });
  int live = 0, most = 0;
  std::vector<uint8_t> in(b.size(), 0);
  const auto counted = [&](uint32_t v) {
    if (as.avx512() && b[v].type == Type::mask) return false;
    if (b[v].op == Op::constant) return false;
    if (b[v].op != Op::input) return true;
    const Slot s = Slot::unpack(b[v].imm);
    if (s.kind == Slot::Kind::load) return uses[v] > 1;  // read once: usually a memory operand
    return s.kind != Slot::Kind::variable && s.kind != Slot::Kind::scalar;
  };
  for (uint32_t i = 0; i < b.size(); ++i) {
    const bool leaf = b[i].op == Op::constant || b[i].op == Op::input;
    if (leaf) continue;
    each_operand(b[i], [&](uint32_t u) {
      if (counted(u) && !in[u]) in[u] = 1, ++live;
    });
    most = std::max(most, live + 1);
    each_operand(b[i], [&](uint32_t u) {
      if (in[u] == 1 && last[u] == i) in[u] = 2, --live;
    });
    if (!has_effect(b[i].op) && last[i] > i && counted(i)) in[i] = 1, ++live;
  }
  return most;
}

}  // namespace lazy::cpu
