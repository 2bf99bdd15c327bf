#include "lazy/core/dynamic.hpp"

#include "jit/graph/node.hpp"
#include "lazy/core/build.hpp"

namespace lazy {
namespace {

struct Axis {
  jit::Node* node;
  int dim;
};

Axis axis_of(const char* op, const Arg& x, int64_t dim) {
  if (!x.is_tensor()) detail::fail<DtypeError>(op, "expected a tensor", x.site());
  const detail::Operand h(op, x);
  return {h.operator->(), detail::normal_axis(op, dim, h->shape.size(), x.site())};
}

/// Sets one mark and clears the other: byte 0 has static ones, byte 1 dynamic ones.
void mark(const Axis& a, int byte) {
  const auto bit = [&](int b) { return static_cast<uint16_t>(1u << (a.dim + 8 * b)); };
  a.node->marks.fetch_or(bit(byte), std::memory_order_relaxed);
  a.node->marks.fetch_and(static_cast<uint16_t>(~bit(1 - byte)), std::memory_order_relaxed);
}

}  // namespace

void mark_static(const Arg& x, IntegerArg dim) { mark(axis_of("mark_static", x, dim), 0); }

void mark_dynamic(const Arg& x, IntegerArg dim, IntegerArg min, IntegerArg max) {
  const Axis a = axis_of("mark_dynamic", x, dim);
  const int64_t extent = a.node->shape[a.dim];
  if (extent < min || extent > max)
    detail::fail<ShapeError>("mark_dynamic",
                             "dimension " + std::to_string(a.dim) + " is " + std::to_string(extent) +
                                 ", expected " + std::to_string(min.value) + " to " +
                                 std::to_string(max.value),
                             x.site());
  mark(a, 1);
}

}  // namespace lazy
