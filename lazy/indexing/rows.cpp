#include "lazy/indexing/rows.hpp"

#include "lazy/core/build.hpp"

namespace lazy {
namespace {

int64_t row_count(const char* name, const LocatedTensor& x) {
  if (!x.tensor->defined()) detail::throw_empty(name, x.site);
  const Shape& shape = x.tensor->shape();
  if (shape.empty()) detail::fail<ShapeError>(name, "a 0-d tensor has no rows", x.site);
  return shape[0];
}

}  // namespace

RowIterator begin(LocatedTensor x) {
  (void)row_count("begin", x);
  return {*x.tensor, 0, x.site};
}

RowIterator end(LocatedTensor x) { return {Tensor(), row_count("end", x), x.site}; }

}  // namespace lazy
