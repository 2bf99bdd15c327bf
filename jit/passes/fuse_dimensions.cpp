// Which dimensions are equal by the ops' own rules, and numbers for iteration spaces made of them.
#include "jit/calls/call.hpp"
#include "jit/graph/indexed.hpp"
#include "jit/passes/fuser.hpp"

namespace lazy::jit {

// Dimension classes: two dimensions are of one class if some op's own rule makes their extents equal.
uint32_t Fuser::root(uint32_t d) {
  while (parent_[d] != d) d = parent_[d] = parent_[parent_[d]];
  return d;
}

void Fuser::tie(uint32_t a, uint32_t b) { parent_[root(b)] = root(a); }

uint32_t Fuser::dim(uint32_t v, int i) const { return v * kMaxRank + static_cast<uint32_t>(i); }

void Fuser::tie_dimensions() {
  parent_.resize(t_.values.size() * kMaxRank);
  for (uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  for (uint32_t v : order_) {
    const Value& x = at(v);
    const Shape& s = t_.shape(v);
    const Node& n = t_.node(v);
    switch (kind(v)) {
      case OpKind::pointwise:
        for (int k = 0; k < x.arity; ++k) tie_aligned(x.operand[k], v);
        break;
      case OpKind::view:
        if (x.op == Op::broadcast) tie_aligned(x.operand[0], v);
        if (x.op == Op::permute)
          for (int i = 0; i < s.size(); ++i) tie(dim(v, i), dim(x.operand[0], static_cast<int>(n.axes[i])));
        if (x.op == Op::window)
          for (int i = 0; i < t_.shape(x.operand[0]).size(); ++i)
            if (std::find(n.axes.begin(), n.axes.end(), i) == n.axes.end())
              tie(dim(v, i), dim(x.operand[0], i));
        if (x.op == Op::slice)
          for (int i = 0; i < s.size(); ++i)
            if (n.axes[i]) tie(dim(v, i), dim(x.operand[0], i));
        if (is_unit_reshape(n)) {
          const Shape& from = t_.shape(x.operand[0]);
          int j = 0;
          for (int i = 0; i < s.size(); ++i) {
            if (s[i] == 1) continue;
            while (from[j] == 1) ++j;
            tie(dim(v, i), dim(x.operand[0], j++));
          }
        }
        for (int i = 0; i < leading_kept(n); ++i) tie(dim(v, i), dim(x.operand[0], i));
        break;
      case OpKind::indexed: tie_indexed(v); break;
      case OpKind::reduce:
      case OpKind::scan:
      case OpKind::update:
        if (x.op == Op::scatter) tie_indexed(v);
        for (int i = 0; i < s.size(); ++i)
          if (s[i] != 1) tie(dim(v, i), dim(x.operand[0], i));
        break;
      case OpKind::contract: {
        for (int k = 0; k < 2; ++k) {
          const uint32_t o = x.operand[k];
          const int lead = s.size() - t_.shape(o).size();
          for (int i = 0; i < t_.shape(o).size() - 2; ++i)
            if (t_.shape(o)[i] != 1) tie(dim(v, lead + i), dim(o, i));
        }
        const int ra = t_.shape(x.operand[0]).size(), rb = t_.shape(x.operand[1]).size();
        tie(dim(v, s.size() - 2), dim(x.operand[0], ra - 2));
        tie(dim(v, s.size() - 1), dim(x.operand[1], rb - 1));
        tie(dim(x.operand[0], ra - 1), dim(x.operand[1], rb - 2));
        break;
      }
      case OpKind::part: tie_output(v); break;
      default: break;
    }
  }
}

// A call says itself which of its outputs' extents are an operand's.
void Fuser::tie_output(uint32_t part) {
  const Value& call = at(at(part).operand[0]);
  const CallSpec& spec = *t_.node(at(part).operand[0]).call;
  std::vector<Meta> operands;
  for (int i = 0; i < call.arity - spec.tokens(); ++i)
    operands.push_back({at(call.operand[i]).dtype, t_.shape(call.operand[i])});
  const CallOutput out = infer_outputs(spec, operands)[static_cast<size_t>(t_.node(part).axes[0])];
  for (int i = 0; i < out.meta.shape.size(); ++i)
    if (const auto& tie_to = out.tied[static_cast<size_t>(i)]; tie_to.operand >= 0 && out.meta.shape[i] != 1)
      tie(dim(part, i), dim(call.operand[tie_to.operand], tie_to.dim));
}

// Index, updates or result have the same extents, and operand 0 all of these but along the axis.
void Fuser::tie_indexed(uint32_t v) {
  const Value& x = at(v);
  const int axis = indexed_of(t_.node(v)).axis;
  const uint32_t like = x.operand[1];  // every index
  const Shape& s = t_.shape(like);
  for (int i = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    tie(dim(like, i), dim(x.op == Op::scatter ? x.operand[2] : v, i));
    if (i != axis) tie(dim(like, i), dim(x.operand[0], i));
  }
}

void Fuser::tie_aligned(uint32_t o, uint32_t v) {
  const Shape &from = t_.shape(o), &to = t_.shape(v);
  const int lead = to.size() - from.size();
  for (int i = 0; i < from.size(); ++i)
    if (from[i] != 1) tie(dim(v, lead + i), dim(o, i));
}

// A number for `form` and the classes of a shape's extents other than 1. `axis`: where a reduction runs.
uint32_t Fuser::space(uint32_t v, char form, int axis) {
  uint32_t words[2 + kMaxRank] = {static_cast<uint32_t>(form)};
  size_t count = 1;
  for (int i = 0; i < at(v).rank; ++i) {
    if (at(v).ones >> i & 1) continue;
    words[count++] = root(dim(v, i));
    if (i == axis) words[count++] = kNone;
  }
  return spaces_.intern({words, count}).first;
}

/// Whether `axis` of `o` is the innermost whose extent is not 1.
bool Fuser::is_last_axis(uint32_t o, int64_t axis) const {
  const Shape& s = t_.shape(o);
  int last = s.size() - 1;
  while (last > 0 && s[last] == 1) --last;
  return axis == last;
}

}  // namespace lazy::jit
