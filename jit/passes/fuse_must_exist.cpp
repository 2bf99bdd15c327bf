// Finds operands that a kernel can only read from memory.
#include "jit/passes/fuse_materialise.hpp"

namespace lazy::jit {
namespace {

class MustExist {
 public:
  explicit MustExist(FusionDraft& d) : d_(d), has_iota_(d.facts.size(), 0) {}
  void run() {
    for (uint32_t v : d_.order)
      if (d_.facts[v].needed) visit(v);
  }

 private:
  void materialise(uint32_t v) {
    if (d_.at(v).op != Op::input) d_.facts[v].materialised = true;
  }
  /// True if computing `o` where it is read takes an index along an axis.
  bool brings_iota(uint32_t o) const { return has_iota_[o] && !d_.materialised(o); }

  void visit(uint32_t v) {
    const Value& x = d_.at(v);
    if (x.op == Op::iota) has_iota_[v] = 1;
    switch (d_.kind(v)) {
      case OpKind::pointwise:
        for (int i = 0; i < x.arity; ++i) has_iota_[v] |= brings_iota(x.operand[i]);
        break;
      case OpKind::indexed: visit_indexed(v); break;
      case OpKind::view: visit_view(v); break;
      case OpKind::contract: visit_product(v); break;
      case OpKind::update:
        if (!is_overwritten(d_.trace.node(x.operand[0]))) materialise(x.operand[0]);
        break;
      case OpKind::call: visit_call(v); break;
      default: break;
    }
  }

  void visit_indexed(uint32_t v) {
    const Value& x = d_.at(v);
    uint32_t o = x.operand[0];
    while (!d_.materialised(o) && d_.kind(o) == OpKind::view) o = d_.at(o).operand[0];
    materialise(o);
    has_iota_[v] |= brings_iota(x.operand[1]);
  }

  /// Visits a view. A reshape reads packed memory; an index along an axis can't be sliced, cut or reshaped,
  /// only moved and broadcast.
  void visit_view(uint32_t v) {
    const Value& x = d_.at(v);
    const uint32_t o = x.operand[0];
    for (int i = 0; i < x.arity; ++i) has_iota_[v] |= brings_iota(x.operand[i]);
    const bool general = x.op == Op::reshape && !is_unit_reshape(d_.trace.node(v));
    const bool needs_packed = general && !d_.facts[o].packed && d_.at(o).op != Op::input;
    const bool cuts = general || x.op == Op::slice || x.op == Op::window;
    if (!needs_packed && !(has_iota_[o] && cuts)) return;
    d_.facts[o].materialised = true;
    has_iota_[v] = 0;
  }

  /// Visits a product. Sides are read many times each: only casts and views are done on the way; on the host,
  /// those casts that round or narrow are done before: its kernels multiply small elements from memory.
  void visit_product(uint32_t v) {
    for (int i = 0; i < 2; ++i) {
      uint32_t o = d_.at(v).operand[i];
      while (!d_.materialised(o) && (d_.kind(o) == OpKind::view || is_cast_on_the_way(o)) && !d_.loop_of(o))
        o = d_.at(o).operand[0];
      materialise(o);
    }
  }

  bool is_cast_on_the_way(uint32_t v) const {
    if (d_.at(v).op != Op::cast || !d_.options.host) return d_.at(v).op == Op::cast;
    const DType to = d_.at(v).dtype, from = d_.at(d_.at(v).operand[0]).dtype;
    return !is_half(to) && size_of(to) >= size_of(from) && is_float(to) >= is_float(from);
  }

  void visit_call(uint32_t v) {
    const Value& x = d_.at(v);
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i],
                     from = packed_source(d_.trace, o, [&](uint32_t w) { return d_.materialised(w); });
      if (d_.at(from).op != Op::input) d_.facts[from].materialised = true;
      else if (!d_.facts[from].packed) d_.facts[o].materialised = true;
    }
  }

  FusionDraft& d_;
  std::vector<uint8_t> has_iota_;  // by value: computing it takes an index along an axis
};

}  // namespace

void materialise_operands_that_must_exist(FusionDraft& d) { MustExist(d).run(); }

}  // namespace lazy::jit
