// Shares what models of sequences have in common. Internal to lazy/models.
#pragma once
#include <string>

#include "lazy/core/build.hpp"
#include "lazy/models/cache.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::models {

/// Returns (N, heads, T, width / heads) of (N, T, width).
inline Tensor split_heads(const Tensor& x, int64_t heads) {
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}
/// Returns (N, T, width) of (N, heads, T, width / heads).
inline Tensor join_heads(const Tensor& x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}
/// Returns dropout(x) with probability `p` while training, else `x`.
inline Tensor dropped(const Tensor& x, double p, bool training) {
  return training && p > 0 ? dropout(x, p, true) : x;
}
/// Throws ShapeError unless the heads divide the width.
inline void check_heads(const char* name, int64_t width, int64_t heads, const Site& s) {
  if (heads <= 0 || width % heads != 0)
    lazy::detail::fail<ShapeError>(
        name, std::to_string(heads) + " heads don't divide a width of " + std::to_string(width), s);
}
/// Returns the shape of ids (N, T). ShapeError for another number of dimensions and for more than `longest`
/// tokens, DtypeError unless they are integers.
inline Shape check_ids(const char* name, const Arg& ids, int64_t longest) {
  const lazy::detail::Operand h(name, ids);
  const Shape& shape = h->shape;
  if (!is_int(h->dtype))
    lazy::detail::fail<DtypeError>(name, std::string("ids are integers, not ") + name_of(h->dtype),
                                   ids.site());
  if (shape.size() != 2)
    lazy::detail::fail<ShapeError>(name, "ids " + to_string(shape) + " instead of (sequences, tokens)",
                                   ids.site());
  if (shape[1] > longest)
    lazy::detail::fail<ShapeError>(name,
                                   "ids " + to_string(shape) + " have more tokens than the " +
                                       std::to_string(longest) + " positions that there are",
                                   ids.site());
  return shape;
}
/// Returns an empty cache, zeros of a shape (N, heads, positions, width) for each layer, like a parameter.
KeyValueCache new_cache(int64_t layers, const Shape&, const Tensor& like, const Site&);
/// Throws ShapeError unless a cache is for as many sequences as ids (N, T) has, with places for its tokens.
void check_cache(const char* name, const KeyValueCache&, const Shape& ids, const Site&);
/// Writes keys and values of new tokens, (N, heads, T, width), into a layer of a cache, and returns all that
/// it has in their place. Invariant: check_cache() has seen that they fit; the length stays as it is.
void extend(KeyValueCache&, size_t layer, Tensor& keys, Tensor& values);
/// Returns what so many new tokens see, (T, keys): those before, and less than `window` tokens back unless
/// that is 0. Undefined if that is what a causal product without a mask sees.
Tensor seen_mask(const KeyValueCache*, int64_t length, int64_t window, const Site&);

}  // namespace lazy::models
