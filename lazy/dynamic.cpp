#include "lazy/dynamic.hpp"

#include "jit/graph/node.hpp"
#include "lazy/build.hpp"

namespace lazy {
namespace {

int marked(const char* op, const Arg& x, int dim, int shift, int unshift) {
  const jit::Handle& h = x.handle();
  if (!h) detail::fail<DtypeError>(op, "expected a tensor", x.site());
  const int axis = detail::normal_axis(op, dim, h->shape.size(), x.site());
  const auto bit = static_cast<uint16_t>(1u << (axis + shift)),
             other = static_cast<uint16_t>(1u << (axis + unshift));
  h->marks.fetch_or(bit, std::memory_order_relaxed);
  h->marks.fetch_and(static_cast<uint16_t>(~other), std::memory_order_relaxed);
  return axis;
}

}  // namespace

void mark_static(const Arg& x, int dim) { marked("mark_static", x, dim, 0, 8); }

void mark_dynamic(const Arg& x, int dim, int64_t min, int64_t max) {
  const int axis = marked("mark_dynamic", x, dim, 8, 0);
  const int64_t extent = x.handle()->shape[axis];
  if (extent < min || extent > max)
    detail::fail<ShapeError>("mark_dynamic",
                             "dimension " + std::to_string(axis) + " is " + std::to_string(extent) +
                                 ", expected " + std::to_string(min) + " to " + std::to_string(max),
                             x.site());
}

}  // namespace lazy
