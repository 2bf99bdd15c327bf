// Composes attention of ordinary ops. The runtime computes it block by block: the complete matrix of scores
// never exists.
#pragma once
#include <optional>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns softmax(query key^T * scale) value, (..., l, e) x (..., s, e) x (..., s, v) -> (..., l, v);
/// leading axes broadcast, dtypes promote to a floating-point one (Vaswani et al. 2017, equation 1).
/// `mask` broadcasts to the scores (..., l, s): true lets a query attend to a key, numbers are added to
/// the scores; none if it is a default-constructed Tensor. `causal`: query i attends to keys 0 to i
/// only. `scale`: 1 / sqrt(e) if not given. With `enable_gqa` the axis before the last two has heads, and
/// those of keys and values may be fewer, if they divide those of queries: neighbouring heads of queries
/// share one (Ainslie et al., 2023). A query that may attend to nothing gets zeros. ShapeError if an operand
/// has fewer than 2 dimensions or the shapes don't fit; DtypeError for integers and bools.
Tensor scaled_dot_product_attention(Arg query, Arg key, Arg value, const MaybeTensor& mask = {},
                                    bool causal = false, std::optional<double> scale = std::nullopt,
                                    bool enable_gqa = false);

}  // namespace lazy
