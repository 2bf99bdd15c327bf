// Keeps keys and values of growing sequences in blocks, which sequences that begin alike share.
//
//   nn::PagedCache cache({.layers = 12, .heads = 12, .width = 64, .blocks = 512});
//   const int64_t prompt = cache.add();
//   auto step = cache.extend({prompt}, {tokens});            // room for that many keys more
//   Tensor y = cache.attend(step, layer, q, k, v);           // in each layer: (tokens, heads, width)
//   const int64_t other = cache.fork(prompt);                // begins with the same keys: takes no memory
//   auto next = cache.extend({prompt, other}, {1, 1});       // both go on, in one batch
//
// How many sequences there are, and how long they are, is data: programs stay the same (Kwon et al., 2023).
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lazy/nn/functional/varlen_attention.hpp"

namespace lazy::nn {

/// Says how keys and values are stored. as_given: in the cache's dtype. int8 and float8 (Float8::e4m3): each
/// in a byte, with a float32 scale for each key and each value of each head, its largest magnitude over that
/// of the format.
enum class CacheFormat : uint8_t { as_given, int8, float8 };

struct PagedCacheOptions {
  IntegerArg layers = 1, heads = 1, width = 64;  // heads of keys, and the extent of a key
  IntegerArg value_width = 0;                    // extent of a value; 0: that of a key
  IntegerArg block = 16, blocks = 256;           // keys of a block, and how many blocks all sequences have
  MaybeDType dtype = {};                         // of keys that are stored as given
  MaybeDevice device = {};
  CacheFormat format = CacheFormat::as_given;
};

/// Says where the keys go that a step adds, and which keys its queries see. Valid until the cache is extended
/// by another step.
struct PagedStep {
  Tensor rows;            // (total), int64: of all blocks, one for each new key
  Tensor offsets;         // (N + 1), int64: of new keys, sequence by sequence
  Tensor table, lengths;  // of PagedKeys, with the new keys
};

/// Is changed by one thread at a time. Sequences have numbers, which are not used again.
class PagedCache {
 public:
  /// Makes blocks of zeros. Error for a number that is not positive.
  explicit PagedCache(const PagedCacheOptions& options = {}, Site s = Site::current());

  /// Starts a sequence without keys.
  int64_t add();
  /// Starts a sequence with the keys of another one. They share blocks; the last one is copied when one of
  /// them goes on in it.
  int64_t fork(int64_t sequence, Site s = Site::current());
  /// Ends a sequence: blocks that no other has are free again.
  void remove(int64_t sequence, Site s = Site::current());
  /// Returns how many keys a sequence has.
  int64_t length(int64_t sequence, Site s = Site::current()) const;
  int64_t free_blocks() const { return static_cast<int64_t>(free_.size()); }
  /// Returns the bytes of all blocks of all layers.
  int64_t nbytes(Site s = Site::current()) const;

  /// Makes room for counts[i] keys more of sequences[i], each of which is named once. Error, which changes
  /// nothing, if there are not enough free blocks, or for a sequence that there is not.
  PagedStep extend(const std::vector<int64_t>& sequences, const std::vector<int64_t>& counts,
                   Site s = Site::current());
  /// Puts a layer's new keys (total, heads, width) and values in their blocks, and returns what the queries
  /// (total, H, width), of the same tokens, attend to: (total, H, value_width). IndexError for a layer that
  /// there is not; ShapeError where shapes don't fit.
  Tensor attend(const PagedStep&, IntegerArg layer, Arg query, Arg key, Arg value,
                const VarlenOptions& options = {.causal = true});

 private:
  struct Sequence {
    std::vector<int64_t> blocks;
    int64_t length = 0;
  };
  struct Layer {
    Tensor keys, values;              // (blocks * block, heads, .)
    Tensor key_scales, value_scales;  // (blocks * block, heads) of formats that have them
    /// Calls f(tensor) for each that there is.
    template <class F>
    void each(F&& f) {
      for (Tensor* const t : {&keys, &values, &key_scales, &value_scales})
        if (t->defined()) f(*t);
    }
  };
  void put(Tensor& pool, Tensor& scales, const Tensor& rows, Arg given, const Site&) const;
  Sequence& at(const char* function, int64_t sequence, const Site&);
  const Sequence& at(const char* function, int64_t sequence, const Site&) const;
  void let_go(int64_t block);

  const int64_t block_;
  const CacheFormat format_;
  std::vector<Layer> layers_;
  std::vector<int64_t> users_;  // of each block
  std::vector<int64_t> free_;   // blocks, the next one last
  std::map<int64_t, Sequence> sequences_;
  int64_t next_ = 0;
};

}  // namespace lazy::nn
