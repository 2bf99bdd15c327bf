// Finds which dimensions are equal by the rules of the ops.
#include <numeric>

#include "jit/calls/call.hpp"
#include "jit/graph/indexed.hpp"
#include "jit/passes/fusion_draft.hpp"

namespace lazy::jit {
namespace {

class DimensionTies {
 public:
  explicit DimensionTies(const FusionDraft& d) : d_(d), t_(d.trace), classes_(t_.values.size()) {}
  DimensionClasses run() && {
    for (uint32_t v : d_.order) tie_value(v);
    return std::move(classes_);
  }

 private:
  void tie_value(uint32_t v) {
    const Value& x = d_.at(v);
    switch (d_.kind(v)) {
      case OpKind::pointwise:
        for (int k = 0; k < x.arity; ++k) tie_aligned(x.operand[k], v);
        break;
      case OpKind::view: tie_view(v); break;
      case OpKind::indexed: tie_indexed(v); break;
      case OpKind::reduce:
      case OpKind::scan:
      case OpKind::update:
        if (x.op == Op::scatter) tie_indexed(v);
        for (int i = 0; i < t_.shape(v).size(); ++i)
          if (t_.shape(v)[i] != 1) classes_.tie(v, i, x.operand[0], i);
        break;
      case OpKind::contract: tie_product(v); break;
      case OpKind::part: tie_output(v); break;
      default: break;
    }
  }

  /// Ties extents other than 1 of `o` to those of `v`, counted from the last.
  void tie_aligned(uint32_t o, uint32_t v) {
    const Shape& from = t_.shape(o);
    const int lead = t_.shape(v).size() - from.size();
    for (int i = 0; i < from.size(); ++i)
      if (from[i] != 1) classes_.tie(v, lead + i, o, i);
  }

  void tie_view(uint32_t v) {
    const Node& n = t_.node(v);
    const uint32_t o = d_.at(v).operand[0];
    const Shape &s = t_.shape(v), &from = t_.shape(o);
    switch (d_.at(v).op) {
      case Op::broadcast: tie_aligned(o, v); break;
      case Op::permute:
        for (int i = 0; i < s.size(); ++i) classes_.tie(v, i, o, static_cast<int>(n.axes[i]));
        break;
      case Op::window:
        for (int i = 0; i < from.size(); ++i)
          if (std::find(n.axes.begin(), n.axes.end(), i) == n.axes.end()) classes_.tie(v, i, o, i);
        break;
      case Op::slice:
        for (int i = 0; i < s.size(); ++i)
          if (n.axes[i]) classes_.tie(v, i, o, i);
        break;
      default: break;
    }
    if (is_unit_reshape(n)) {
      int j = 0;
      for (int i = 0; i < s.size(); ++i) {
        if (s[i] == 1) continue;
        while (from[j] == 1) ++j;
        classes_.tie(v, i, o, j++);
      }
    }
    for (int i = 0; i < leading_kept(n); ++i) classes_.tie(v, i, o, i);
  }

  /// Ties the extents of an indexed op. Index, updates or result have the same extents, and operand 0 all of
  /// these but along the axis.
  void tie_indexed(uint32_t v) {
    const Value& x = d_.at(v);
    const int axis = indexed_of(t_.node(v)).axis;
    const uint32_t like = x.operand[1];  // every index
    const Shape& s = t_.shape(like);
    for (int i = 0; i < s.size(); ++i) {
      if (s[i] == 1) continue;
      classes_.tie(like, i, x.op == Op::scatter ? x.operand[2] : v, i);
      if (i != axis) classes_.tie(like, i, x.operand[0], i);
    }
  }

  void tie_product(uint32_t v) {
    const uint32_t left = d_.at(v).operand[0], right = d_.at(v).operand[1];
    const int rank = t_.shape(v).size(), left_rank = t_.shape(left).size(),
              right_rank = t_.shape(right).size();
    for (const uint32_t o : {left, right}) {
      const int lead = rank - t_.shape(o).size();
      for (int i = 0; i < t_.shape(o).size() - 2; ++i)
        if (t_.shape(o)[i] != 1) classes_.tie(v, lead + i, o, i);
    }
    classes_.tie(v, rank - 2, left, left_rank - 2);
    classes_.tie(v, rank - 1, right, right_rank - 1);
    classes_.tie(left, left_rank - 1, right, right_rank - 2);
  }

  /// Ties the extents of a call's output that are an operand's, as the call itself says.
  void tie_output(uint32_t part) {
    const uint32_t made_by = d_.at(part).operand[0];
    const Value& call = d_.at(made_by);
    const CallSpec& spec = *t_.node(made_by).call;
    std::vector<Meta> operands;
    for (int i = 0; i < call.arity - spec.tokens(); ++i)
      operands.push_back({d_.at(call.operand[i]).dtype, t_.shape(call.operand[i])});
    const CallOutput out = infer_outputs(spec, operands)[output_of(t_.node(part))];
    for (int i = 0; i < out.meta.shape.size(); ++i)
      if (const auto& tie_to = out.tied[static_cast<size_t>(i)];
          tie_to.operand >= 0 && out.meta.shape[i] != 1)
        classes_.tie(part, i, call.operand[tie_to.operand], tie_to.dim);
  }

  const FusionDraft& d_;
  const Trace& t_;
  DimensionClasses classes_;
};

}  // namespace

DimensionClasses::DimensionClasses(size_t values) : parent_(values * kMaxRank) {
  std::iota(parent_.begin(), parent_.end(), 0u);
}

DimensionClasses tie_dimensions(const FusionDraft& d) { return DimensionTies(d).run(); }

}  // namespace lazy::jit
