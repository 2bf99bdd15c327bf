// Values that are read as packed memory: copies of those that are not, before anything is fused.
#include "jit/passes/fuser.hpp"

namespace lazy::jit {

// A general reshape reads its operand as packed memory. An input that is not packed (or of which nothing may
// be assumed) is copied first. Pointwise operands whose own inputs are packed and not broadcast need no
// memory: `flat`.
void Fuser::pack_reshaped_operands() {
  const auto count = static_cast<uint32_t>(t_.values.size());
  flat_.assign(count, 0);
  std::vector<uint32_t> copy_of(count, kNone);
  for (uint32_t v = 0; v < count; ++v) {
    Value& x = t_.values[v];
    const OpKind k = kind_of(x.op);
    if (k == OpKind::input) flat_[v] = !strict_ && t_.node(v).contiguous;
    else if (k == OpKind::constant) flat_[v] = 1;
    else if (k == OpKind::pointwise) {
      flat_[v] = 1;
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i];
        flat_[v] &= flat_[o] && (at(o).extents == 0 || same_index(t_, o, v));
      }
    } else if (x.op == Op::reshape) {
      const uint32_t o = x.operand[0];
      if (!is_unit_reshape(t_.node(v))) {
        if (at(o).op == Op::input && !flat_[o]) copy_input(v, 0, copy_of);
        flat_[v] = 1;
      } else {
        flat_[v] = flat_[o];
      }
    } else if (always_materialised(k)) {
      flat_[v] = 1;
      if (k == OpKind::update && at(x.operand[0]).op == Op::input && !flat_[x.operand[0]])
        copy_input(v, 0, copy_of);
    } else if (k == OpKind::call) {
      const int arity = x.arity;  // appending moves values
      for (int i = 0; i < arity; ++i)
        if (const uint32_t o = at(v).operand[i]; at(o).op == Op::input && !flat_[o])
          copy_input(v, i, copy_of);
    }
  }
  flat_.resize(t_.values.size(), 0);  // a copy is packed because it is put into memory, and only then
  // Copies were appended, but are read by earlier values: visit them first.
  for (uint32_t v = count; v < t_.values.size(); ++v) order_.push_back(v);
  std::vector<uint32_t> copy_before(count, kNone);
  for (uint32_t v = 0; v < count; ++v) {
    if (kind(v) != OpKind::contract || !packs_right_side(v)) continue;
    const uint32_t o = at(v).operand[1], copy = t_.append_copy(o);
    t_.values[v].operand[1] = copy;
    transposed_.push_back(copy);
    if (at(o).op == Op::input) order_.push_back(copy);
    else copy_before[v] = copy;
  }
  for (uint32_t v = 0; v < count; ++v) {
    if (copy_before[v] != kNone) order_.push_back(copy_before[v]);
    order_.push_back(v);
  }
  flat_.resize(t_.values.size(), 0);
}

/// Operand `operand` of `v`, an input, becomes a packed copy of it; one serves all who ask.
void Fuser::copy_input(uint32_t v, int operand, std::vector<uint32_t>& copy_of) {
  const uint32_t input = at(v).operand[operand];
  if (copy_of[input] == kNone) copy_of[input] = t_.append_copy(input);
  t_.values[v].operand[operand] = copy_of[input];
}

/// A stack of matrices that a product reads transposed, as the keys of an attention: its rows are taken
/// block by block, and the transposition should not be done again for each block. (Devices take whole
/// matrices as they lie.)
bool Fuser::packs_right_side(uint32_t v) const {
  if (!host_) return false;
  const Shape& left = t_.shape(at(v).operand[0]);
  uint32_t o = at(v).operand[1];
  if (left[left.size() - 2] == 1 || at(o).extents < 3) return false;
  int column = t_.shape(o).size() - 1;
  for (; at(o).op == Op::permute; o = at(o).operand[0]) column = static_cast<int>(t_.node(o).axes[column]);
  if (at(o).op == Op::input && !t_.node(o).contiguous) return t_.node(o).strides[column] != 1;
  return column != t_.shape(o).size() - 1;
}

}  // namespace lazy::jit
