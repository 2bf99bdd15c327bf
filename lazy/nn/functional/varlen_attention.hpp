// Has attention over sequences of different lengths, without padding.
#pragma once
#include <optional>

#include "lazy/nn/functional/ragged.hpp"

namespace lazy {

/// Says what the queries of sequences may attend to. The last query of a sequence stands at its last key:
/// query t of a sequence with L queries and K keys is at place K - L + t.
struct VarlenOptions {
  bool causal = false;            // a query sees keys up to its place
  std::optional<double> scale{};  // of scores; none: 1 / sqrt(E)
  IntegerArg window = 0;          // if > 0, keys `window` or more away from a query's place are hidden
  Tensor slopes = {};             // (H): slopes[h] |place - key| is taken from scores (Press et al., 2022)
};

/// Returns softmax(query key^T * scale) value for each sequence: query (total, H, E), key (total', G, E) and
/// value (total', G, V) -> (total, H, V). H / G heads of queries share a head of keys (Ainslie et al., 2023).
/// Dtypes promote to a floating-point one; 16-bit floats are computed in float32 and rounded once. A query
/// that sees no key gets zeros. Gradients go to query, key and value. ShapeError where shapes don't fit,
/// DtypeError for integers and bools; IndexError, when the value is computed, for offsets that don't fit the
/// rows.
Ragged scaled_dot_product_attention(const Ragged& query, const Ragged& key, const Ragged& value,
                                    const VarlenOptions& options = {}, Site s = Site::current());

/// Holds the keys and values of sequences in blocks of P rows, in any order, which sequences may share. With
/// scales they are int8, or uint8: codes of Float8::e4m3 (lazy/ops/float8.hpp), and a key is its integers, or
/// the codes' numbers, times its scale.
struct PagedKeys {
  Tensor keys, values;  // (B, P, G, E), (B, P, G, V)
  Tensor table;         // (N, M), int64: key j of sequence n is row j % P of block table[n, j / P]
  Tensor lengths;       // (N), int64: keys of each sequence
  Tensor key_scales = {},
         value_scales = {};  // (B, P, G), float32; undefined: keys and values are as they are
};
/// Likewise with keys in blocks, which are read as they are stored. There is no derivative. IndexError also
/// for a block that there is not, and for a sequence of more than M P keys.
Ragged scaled_dot_product_attention(const Ragged& query, const PagedKeys& keys,
                                    const VarlenOptions& options = {}, Site s = Site::current());

}  // namespace lazy
