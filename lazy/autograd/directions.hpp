// Products with directions, of which derivatives along them are made. Internal to lazy/.
#pragma once
#include <vector>

#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Returns the sum of the products of all elements; of complex ones, of their parts.
Tensor inner_product(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const Site&);
/// ShapeError, or DtypeError, unless `v` has a direction for each of x, of its shape and dtype.
void check_directions(const char* op, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
                      const Site&);

}  // namespace lazy::detail
