#include "lazy/ops/roots.hpp"

#include "lazy/core/planes.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {
namespace {

Recorder at(const char* name, const Differentiated& d) { return {name, d.site}; }

/// Returns `value` where the result is not 0, else 0.
Handle unless_zero(const Recorder& r, const Handle& result, const Handle& value) {
  return r.where(r.op(Op::equal, result, 0), 0, value);
}

}  // namespace

Handle root(const Recorder& r, const Handle& x) {
  Composite whole(r.name, {&x}, r.site);
  return whole.result(r.op(Op::sqrt, x), [name = r.name](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r = at(name, d);
    return {unless_zero(r, d.result, r.op(Op::divide, r.op(Op::multiply, d.gradient, 0.5), d.result))};
  });
}

Handle with_reduced_axes(const Recorder& r, const Handle& reduced, const Shape& whole, const Dims& axes) {
  if (reduced->shape.size() == whole.size()) return reduced;
  Shape kept = whole;
  for (const int64_t a : normal_axes(r.name, axes, whole.size(), r.site)) kept[static_cast<int>(a)] = 1;
  return r.reshape(reduced, kept);
}

Handle power_norm(const Recorder& r, const Handle& x, double order, const Dims& axes, KeepDims keep) {
  Composite whole(r.name, {&x}, r.site);
  const bool squares = order == 2;
  if (is_complex(x->dtype)) {  // gradients go through the parts
    if (!squares) return power_norm(r, r.op(Op::abs, x), order, axes, keep);
    return root(r, r.reduce(Op::sum, squared_modulus(r.name, x, r.site), axes, keep));
  }
  const Handle size = squares ? Handle() : r.op(Op::abs, x);
  const Handle sum =
      r.reduce(Op::sum, squares ? r.op(Op::multiply, x, x) : r.op(Op::power, size, order), axes, keep);
  const Handle norm =
      squares ? r.op(Op::sqrt, sum) : r.op(Op::power, sum, in_default_mode([&] { return 1 / order; }));
  return whole.result(norm, [=, name = r.name](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r = at(name, d);
    const Handle& x = d.operands[0];
    const Handle scale = squares ? d.result : r.op(Op::power, d.result, order - 1);
    const Handle along = unless_zero(r, d.result, r.op(Op::divide, d.gradient, scale));
    Handle by = x;
    if (!squares) {
      const Handle slope = r.op(Op::power, r.op(Op::abs, x), order - 1);
      by = r.op(Op::multiply, r.op(Op::sign, x), order < 1 ? unless_zero(r, x, slope) : slope);
    }
    return {r.op(Op::multiply, by, with_reduced_axes(r, along, x->shape, axes))};
  });
}

}  // namespace lazy::detail
