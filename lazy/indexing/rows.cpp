#include "lazy/indexing/rows.hpp"

#include "lazy/core/build.hpp"

namespace lazy {
namespace {

int64_t row_count(const char* name, const Shape& shape, const Site& s) {
  if (shape.empty()) detail::fail<ShapeError>(name, "a 0-d tensor has no rows", s);
  return shape[0];
}

}  // namespace

RowIterator Tensor::begin(Site s) const {
  (void)row_count("begin", node("begin", s).shape, s);
  return {*this, 0, s};
}

RowIterator Tensor::end(Site s) const { return {Tensor(), row_count("end", node("end", s).shape, s), s}; }

}  // namespace lazy
