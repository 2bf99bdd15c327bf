#include "lazy/nn/modules/paged_cache.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "lazy/core/build.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/writing.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/float8.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {
namespace {

using lazy::detail::fail;
constexpr const char* kPaged = "PagedCache";

int64_t positive(const char* what, IntegerArg n, const Site& s) {
  if (n <= 0) fail<Error>(kPaged, std::string(what) + " is " + std::to_string(n.value), s);
  return n;
}

}  // namespace

PagedCache::PagedCache(const PagedCacheOptions& o, Site s)
    : block_(positive("block", o.block, s)), format_(o.format) {
  const int64_t layers = positive("layers", o.layers, s), heads = positive("heads", o.heads, s),
                width = positive("width", o.width, s), blocks = positive("blocks", o.blocks, s);
  const int64_t value_width = o.value_width > 0 ? o.value_width.value : width;
  const MaybeDType dtype = format_ == CacheFormat::int8     ? MaybeDType(int8)
                           : format_ == CacheFormat::float8 ? MaybeDType(uint8)
                                                            : o.dtype;
  for (int64_t i = 0; i < layers; ++i) {
    Layer l;
    l.keys = zeros({blocks * block_, heads, width}, dtype, o.device, s);
    l.values = zeros({blocks * block_, heads, value_width}, dtype, o.device, s);
    if (format_ != CacheFormat::as_given)
      l.key_scales = l.value_scales = zeros({blocks * block_, heads}, float32, o.device, s);
    layers_.push_back(std::move(l));
  }
  users_.resize(static_cast<size_t>(blocks));
  for (int64_t i = blocks; i-- > 0;) free_.push_back(i);
}

PagedCache::Sequence& PagedCache::at(const char* function, int64_t sequence, const Site& s) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) fail<Error>(function, "there is no sequence " + std::to_string(sequence), s);
  return found->second;
}
const PagedCache::Sequence& PagedCache::at(const char* function, int64_t sequence, const Site& s) const {
  return const_cast<PagedCache*>(this)->at(function, sequence, s);
}

int64_t PagedCache::add() {
  sequences_.emplace(next_, Sequence());
  return next_++;
}
int64_t PagedCache::fork(int64_t sequence, Site s) {
  Sequence same = at("PagedCache::fork", sequence, s);
  for (const int64_t b : same.blocks) ++users_[static_cast<size_t>(b)];
  sequences_.emplace(next_, std::move(same));
  return next_++;
}
void PagedCache::let_go(int64_t block) {
  if (--users_[static_cast<size_t>(block)] == 0) free_.push_back(block);
}
void PagedCache::remove(int64_t sequence, Site s) {
  for (const int64_t b : at("PagedCache::remove", sequence, s).blocks) let_go(b);
  sequences_.erase(sequence);
}
int64_t PagedCache::length(int64_t sequence, Site s) const {
  return at("PagedCache::length", sequence, s).length;
}

PagedStep PagedCache::extend(const std::vector<int64_t>& sequences, const std::vector<int64_t>& counts,
                             Site s) {
  constexpr const char* kExtend = "PagedCache::extend";
  if (sequences.size() != counts.size())
    fail<Error>(
        kExtend,
        std::to_string(counts.size()) + " counts for " + std::to_string(sequences.size()) + " sequences", s);
  if (std::set(sequences.begin(), sequences.end()).size() != sequences.size())
    fail<Error>(kExtend, "a sequence is named twice", s);
  // Each sequence but the last that goes on in a shared block needs a copy of it.
  const auto blocks_of = [&](int64_t keys) { return (keys + block_ - 1) / block_; };
  std::map<int64_t, int64_t> users;
  const auto shares_last = [&](const Sequence& q, int64_t count) {
    if (count == 0 || q.length % block_ == 0) return false;
    const int64_t last = q.blocks.back();
    return users.emplace(last, users_[static_cast<size_t>(last)]).first->second-- > 1;
  };
  int64_t wanted = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& q = at(kExtend, sequences[i], s);
    if (counts[i] < 0) fail<Error>(kExtend, std::to_string(counts[i]) + " keys more", s);
    wanted += blocks_of(q.length + counts[i]) - blocks_of(q.length) + shares_last(q, counts[i]);
  }
  if (wanted > free_blocks())
    fail<Error>(
        kExtend,
        std::to_string(wanted) + " blocks are needed and " + std::to_string(free_blocks()) + " are free", s);

  std::vector<int64_t> rows, offsets{0}, lengths, from, to;
  users.clear();
  const auto fresh = [&] {
    const int64_t b = free_.back();
    free_.pop_back();
    users_[static_cast<size_t>(b)] = 1;
    return b;
  };
  size_t most = 2;  // an extent of 1 is a program of its own
  for (size_t i = 0; i < sequences.size(); ++i) {
    Sequence& q = at(kExtend, sequences[i], s);
    if (shares_last(q, counts[i])) {
      const int64_t own = fresh(), shared = q.blocks.back();
      for (int64_t j = 0; j < q.length % block_; ++j)
        from.push_back(shared * block_ + j), to.push_back(own * block_ + j);
      let_go(shared);
      q.blocks.back() = own;
    }
    for (int64_t j = 0; j < counts[i]; ++j, ++q.length) {
      if (q.length % block_ == 0) q.blocks.push_back(fresh());
      rows.push_back(q.blocks.back() * block_ + q.length % block_);
    }
    offsets.push_back(static_cast<int64_t>(rows.size()));
    lengths.push_back(q.length);
    most = std::max(most, q.blocks.size());
  }
  std::vector<int64_t> table(sequences.size() * most);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& q = at(kExtend, sequences[i], s);
    std::copy(q.blocks.begin(), q.blocks.end(), table.begin() + static_cast<ptrdiff_t>(i * most));
  }
  const lazy::detail::Handle& like = layers_[0].keys.handle();
  const auto integers = [&](const std::vector<int64_t>& v) {
    return Tensor(lazy::detail::values(v.data(), int64, {static_cast<int64_t>(v.size())}, like, s));
  };
  if (!from.empty()) {
    const Tensor source = integers(from), target = integers(to);
    for (Layer& l : layers_)
      l.each([&](Tensor& pool) {
        pool = index_copy(Arg(pool, s), 0, Arg(target, s), take(Arg(pool, s), Arg(source, s), 0));
      });
  }
  const auto n = static_cast<int64_t>(sequences.size());
  const Tensor flat = integers(table);
  return {integers(rows), integers(offsets), reshape(Arg(flat, s), {n, static_cast<int64_t>(most)}),
          integers(lengths)};
}

int64_t PagedCache::nbytes(Site s) const {
  int64_t all = 0;
  for (Layer l : layers_) l.each([&](const Tensor& t) { all += static_cast<int64_t>(t.nbytes(s)); });
  return all;
}

/// Writes rows, which `rows` names, in a pool of the cache's format.
void PagedCache::put(Tensor& pool, Tensor& scales, const Tensor& rows, Arg given, const Site& s) const {
  if (format_ == CacheFormat::as_given) {
    pool = index_copy(Arg(pool, s), 0, Arg(rows, s), std::move(given));
    return;
  }
  const lazy::detail::Formula f("PagedCache::attend", {&given});
  const lazy::detail::Term x = f.term(f.as(float32, f.term(given).handle()));
  if (x.rank() != 3 || x.shape()[1] != pool.shape(s)[1] || x.shape()[2] != pool.shape(s)[2])
    f.fail<ShapeError>("rows " + to_string(x.shape()) + " for a cache of " + to_string(pool.shape(s)));
  constexpr double kLeast = 0x1p-100;  // so that a row of zeros stays one
  const double most = format_ == CacheFormat::int8 ? 127 : largest_of(Float8::e4m3);
  const lazy::detail::Term scale = maximum(max(abs(x), {2}) / most, kLeast), part = x / scale;
  const Tensor codes = format_ == CacheFormat::int8 ? f.tensor(round(part).as(int8).handle())
                                                    : to_float8(f.arg(part.handle()), Float8::e4m3);
  pool = index_copy(Arg(pool, s), 0, Arg(rows, s), Arg(codes, s));
  scales = index_copy(Arg(scales, s), 0, Arg(rows, s),
                      f.arg(reshape(scale, {x.shape()[0], x.shape()[1]}).handle()));
}

Tensor PagedCache::attend(const PagedStep& step, IntegerArg layer, Arg query, Arg key, Arg value,
                          const VarlenOptions& options) {
  const Site s = query.site();
  if (layer < 0 || layer >= static_cast<int64_t>(layers_.size()))
    fail<IndexError>("PagedCache::attend",
                     "layer " + std::to_string(layer.value) + " of " + std::to_string(layers_.size()), s);
  Layer& l = layers_[static_cast<size_t>(layer.value)];
  put(l.keys, l.key_scales, step.rows, std::move(key), s);
  put(l.values, l.value_scales, step.rows, std::move(value), s);
  const auto blocks = [&](const Tensor& pool) {
    if (!pool.defined()) return pool;
    const Shape& rows = pool.shape(s);
    Shape shape{rows[0] / block_, block_};
    for (int i = 1; i < rows.size(); ++i) shape.push_back(rows[i]);
    return reshape(Arg(pool, s), shape);
  };
  return scaled_dot_product_attention(Ragged{Tensor(query.take()), step.offsets},
                                      PagedKeys{blocks(l.keys), blocks(l.values), step.table, step.lengths,
                                                blocks(l.key_scales), blocks(l.value_scales)},
                                      options, s)
      .values;
}

}  // namespace lazy::nn
