// Finds values that are read as packed memory and copies those that are not, before anything is fused.
#include "jit/passes/fusion_draft.hpp"

namespace lazy::jit {
namespace {

class Packer {
 public:
  explicit Packer(FusionDraft& d)
      : d_(d),
        t_(d.trace),
        count_(static_cast<uint32_t>(t_.values.size())),
        copy_of_(count_, kNone),
        copy_before_(count_, kNone) {}
  void run() {
    d_.facts.resize(count_);
    for (uint32_t v = 0; v < count_; ++v) d_.facts[v].packed = make_packed(v);
    // Copies were appended, but are read by earlier values: visit them first.
    for (uint32_t v = count_; v < t_.values.size(); ++v) d_.order.push_back(v);
    for (uint32_t v = 0; v < count_; ++v)
      if (d_.kind(v) == OpKind::contract && reads_right_side_transposed(v)) pack_right_side(v);
    for (uint32_t v = 0; v < count_; ++v) {
      if (copy_before_[v] != kNone) d_.order.push_back(copy_before_[v]);
      d_.order.push_back(v);
    }
  }

 private:
  bool is_unpacked_input(uint32_t v) const { return d_.at(v).op == Op::input && !d_.facts[v].packed; }

  /// Returns true if `v` can be read as packed memory. Has operands copied that it reads so. A general
  /// reshape reads its operand as packed memory; an input that is not packed (or of which nothing may be
  /// assumed) is copied first. Pointwise operands whose inputs are packed and not broadcast need no
  /// memory.
  bool make_packed(uint32_t v) {
    const Value& x = d_.at(v);
    const OpKind k = kind_of(x.op);
    if (k == OpKind::input) return !d_.options.strict_layout && t_.node(v).contiguous;
    if (k == OpKind::constant) return true;
    if (k == OpKind::pointwise) {
      for (int i = 0; i < x.arity; ++i)
        if (const uint32_t o = x.operand[i];
            !d_.facts[o].packed || (d_.at(o).extents != 0 && !same_index(t_, o, v)))
          return false;
      return true;
    }
    if (x.op == Op::reshape) {
      const uint32_t o = x.operand[0];
      if (is_unit_reshape(t_.node(v))) return d_.facts[o].packed;
      if (is_unpacked_input(o)) copy_input(v, 0);
      return true;
    }
    if (k == OpKind::update && is_unpacked_input(x.operand[0])) copy_input(v, 0);
    if (k == OpKind::call) {
      const int arity = x.arity;  // appending moves values
      for (int i = 0; i < arity; ++i)
        if (is_unpacked_input(d_.at(v).operand[i])) copy_input(v, i);
    }
    return always_materialised(k);
  }

  /// Appends a packed copy. It is packed because it is put into memory, and only then.
  uint32_t append_copy(uint32_t of) {
    const uint32_t copy = t_.append_copy(of);
    d_.facts.emplace_back();
    return copy;
  }

  /// Makes operand `operand` of `v`, an input, a packed copy of it; one copy serves all of its readers.
  void copy_input(uint32_t v, int operand) {
    const uint32_t input = d_.at(v).operand[operand];
    if (copy_of_[input] == kNone) copy_of_[input] = append_copy(input);
    t_.values[v].operand[operand] = copy_of_[input];
  }

  void pack_right_side(uint32_t v) {
    const uint32_t o = d_.at(v).operand[1], copy = append_copy(o);
    t_.values[v].operand[1] = copy;
    d_.facts[copy].packs_side = true;
    if (d_.at(o).op == Op::input) d_.order.push_back(copy);
    else copy_before_[v] = copy;
  }

  /// Returns true for a product of a stack of matrices with one that it reads transposed, as the keys of an
  /// attention: its rows are taken block by block, and the transposition should not be done again for each
  /// block. A side of 16 bits is packed in any case, and the packing transposes as well. (Devices take
  /// complete matrices as they lie.)
  bool reads_right_side_transposed(uint32_t v) const {
    if (!d_.options.host) return false;
    const Shape& left = t_.shape(d_.at(v).operand[0]);
    uint32_t o = d_.at(v).operand[1];
    if (left[left.size() - 2] == 1 || d_.at(o).extents < 3) return false;
    int column = t_.shape(o).size() - 1;
    for (; d_.at(o).op == Op::permute; o = d_.at(o).operand[0])
      column = static_cast<int>(t_.node(o).axes[column]);
    if (d_.at(o).op == Op::cast && is_half(d_.at(d_.at(o).operand[0]).dtype)) return false;
    if (d_.at(o).op == Op::input && !t_.node(o).contiguous) return t_.node(o).strides[column] != 1;
    return column != t_.shape(o).size() - 1;
  }

  FusionDraft& d_;
  Trace& t_;
  const uint32_t count_;               // values before any was appended
  std::vector<uint32_t> copy_of_;      // by value: its packed copy, or kNone
  std::vector<uint32_t> copy_before_;  // by value: a copy of what it reads, visited right before it, or kNone
};

}  // namespace

void pack_operands(FusionDraft& d) { Packer(d).run(); }

}  // namespace lazy::jit
