#include "lazy/models/cache.hpp"

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy::models {

void KeyValueCache::reorder(const Tensor& rows, Site s) {
  for (std::vector<Tensor>* all : {&keys, &values})
    for (Tensor& t : *all) t = take(Arg(t, s), Arg(rows, s), 0);
}

KeyValueCache new_cache(int64_t layers, const Shape& shape, const Tensor& like, const Site& s) {
  KeyValueCache c;
  for (int64_t i = 0; i < layers; ++i) {
    c.keys.push_back(zeros(ShapeArg(shape), like.dtype(s), like.device(s), s));
    c.values.push_back(c.keys.back());
  }
  return c;
}

void check_cache(const char* name, const KeyValueCache& cache, const Shape& ids, const Site& s) {
  const Shape there = cache.keys.empty() ? Shape{} : cache.keys[0].shape(s);
  if (there.size() == 4 && there[0] == ids[0] && cache.length + ids[1] <= there[2]) return;
  lazy::detail::fail<ShapeError>(name,
                                 "ids " + to_string(ids) + " after " + std::to_string(cache.length) +
                                     " tokens don't fit a cache " + to_string(there),
                                 s);
}

void extend(KeyValueCache& cache, size_t layer, Tensor& keys, Tensor& values) {
  const Slice here = slice(cache.length, cache.length + keys.size(2));
  cache.keys[layer](_, _, here) = keys;
  cache.values[layer](_, _, here) = values;
  keys = cache.keys[layer], values = cache.values[layer];
}

Tensor seen_mask(const KeyValueCache* cache, int64_t length, int64_t window, const Site& s) {
  const int64_t before = cache ? cache->length : 0;
  const bool cut = window > 0 && before + length > window;
  if (!cache && !cut) return {};
  const Tensor query = reshape(arange(length), {length, 1}) + before,
               key = arange(cache ? cache->keys[0].size(2, s) : length);
  const Tensor seen = key <= query;
  return cut ? seen & (key > query - window) : seen;
}

}  // namespace lazy::models
