// Lists which fields of a program are stored on disk, struct by struct (support/archive.hpp), and checks that
// what was read makes sense.
#pragma once
#include <span>

#include "jit/built_in/registry.hpp"
#include "jit/plan/program.hpp"
#include "support/archive.hpp"

namespace lazy::jit {

template <class A>
void fields(A& a, PathStep& p) {
  a(p.parent, p.node, p.align);
}
template <class A>
void fields(A& a, Binding& b) {
  a(b.node, b.slot, b.path, b.dtype, b.output, b.region, b.packed, b.known_strides, b.moves, b.dim_of);
}
template <class A>
void fields(A& a, KernelDim& d) {
  a(d.node, d.dim);
}
template <class A>
void fields(A& a, ScalarArgument& s) {
  a(s.node, s.from, s.type, s.value, s.source, s.dim);
}
template <class A>
void fields(A& a, Work& w) {
  a(w.per_index, w.per_row, w.gathered);
}
/// Stores a call by name and attributes; where it is read, one that isn't known fails.
inline void fields(Saver& a, CallStep& c) {
  a(c.spec ? std::string_view(c.spec->identity()) : std::string_view());
  if (c.spec) a(c.shapes, c.outputs, c.workspace);
}
inline void fields(Loader& a, CallStep& c) {
  std::string_view identity;
  a(identity);
  if (identity.empty()) return;
  const size_t end = identity.find('\0');
  const CallDefinition* const d = end == identity.npos ? nullptr : find_call(identity.substr(0, end));
  if (!d || identity.size() > kMostAttributeBytes) return a.fail();
  c.spec = &intern_call(*d, identity.substr(end + 1));
  a(c.shapes, c.outputs, c.workspace);
}
template <class A>
void fields(A& a, Step& s) {  // but the kernel and what depends on the user's lines
  a(s.call, s.may_throw, s.fallible, s.args.rank, s.args.operands, s.args.scalars, s.dims, s.axis_of,
    s.operands, s.scalars, s.made, s.dead, s.sequential, s.initial, s.initial_from, s.ahead_of, s.ops,
    s.label, s.named_by, s.work);
}
template <class A>
void fields(A& a, TileGroup::Source& s) {
  a(s.node, s.slot, s.dtype, s.moves, s.matrix);
}
template <class A>
void fields(A& a, Skip::Needed& n) {
  a(n.step, n.scalar, n.lowest);
}
template <class A>
void fields(A& a, Mask& m) {
  a(m.step, m.operand, m.dim, m.hides);
}
template <class A>
void fields(A& a, Skip& s) {
  a(s.step, s.dim, s.masked, s.mask, s.before, s.sign, s.scalar, s.scalar_step, s.bias, s.finite, s.sums,
    s.zeros, s.needed);
}
template <class A>
void fields(A& a, TileGroup& b) {
  a(b.first, b.count, b.levels, b.dim_of, b.sources, b.inner, b.skips, b.mask, b.parts);
}
template <class A>
void fields(A& a, Slot& s) {
  a(s.node, s.dtype, s.kept, s.workspace_of, s.donor_slot, s.donor_input, s.other_inputs);
}
template <class A>
void fields(A& a, Result& r) {
  a(r.node, r.slot, r.input, r.path);
}
template <class A>
void fields(A& a, Guard& g) {
  a(g.kind, g.node, g.step, g.operand, g.dim, g.value);
}
template <class A>
void fields(A& a, Program& p) {  // but the size of its code
  a(p.steps, p.tile_groups, p.slots, p.results, p.paths, p.guards, p.faults, p.variant, p.nodes,
    p.compile_ns);
}

/// True if every number in the program is that of something that exists: of a value of the key, a slot, a
/// path, a step, an operand, a dimension. Then running it reads and writes nothing but descriptions of its
/// buffers.
bool sound(const Program&, std::span<const uint32_t> key);

}  // namespace lazy::jit
