#include "lazy/core/dynamic.hpp"

#include "jit/graph/node.hpp"
#include "lazy/core/build.hpp"

namespace lazy {
namespace {

int marked(const char* op, const Arg& x, int64_t dim, int shift, int unshift) {
  if (!x.is_tensor()) detail::fail<DtypeError>(op, "expected a tensor", x.site());
  const jit::Handle& h = detail::tensor_of(op, x);
  const int axis = detail::normal_axis(op, dim, h->shape.size(), x.site());
  const auto bit = static_cast<uint16_t>(1u << (axis + shift)),
             other = static_cast<uint16_t>(1u << (axis + unshift));
  h->marks.fetch_or(bit, std::memory_order_relaxed);
  h->marks.fetch_and(static_cast<uint16_t>(~other), std::memory_order_relaxed);
  return axis;
}

}  // namespace

void mark_static(const Arg& x, Integer dim) { marked("mark_static", x, dim, 0, 8); }

void mark_dynamic(const Arg& x, Integer dim, Integer min, Integer max) {
  const int axis = marked("mark_dynamic", x, dim, 8, 0);
  const int64_t extent = x.handle()->shape[axis];
  if (extent < min || extent > max)
    detail::fail<ShapeError>("mark_dynamic",
                             "dimension " + std::to_string(axis) + " is " + std::to_string(extent) +
                                 ", expected " + std::to_string(min.value) + " to " +
                                 std::to_string(max.value),
                             x.site());
}

}  // namespace lazy
