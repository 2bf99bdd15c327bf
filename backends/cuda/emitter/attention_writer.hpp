// Writes the text of an attention's module (attention_module.hpp).
#pragma once
#include <memory>

#include "backends/cuda/emitter/attention_module.hpp"
#include "backends/cuda/emitter/product_writer.hpp"

namespace lazy::cuda_backend {

/// Give the queries of a block, the keys that it looks at at a time, its threads; the results' columns that a
/// function has room for.
inline constexpr int kAttentionQueries = 128, kAttentionKeys = 64, kAttentionThreads = 256;
inline constexpr const char* kLowest = "__uint_as_float(0xff800000u)";  // -inf
inline constexpr int kAttentionColumns[] = {64, 128};

class AttentionWriter {
 public:
  AttentionWriter(const jit::loop::FusedRows&, const AttentionSchedule&);
  std::string module(size_t function);

 private:
  const jit::loop::LoopKernel& loop(size_t member) const { return rows_.members[member].kernel; }
  /// Begins a scope in which `args` and `i` are the member's, at the block's query `y`.
  void open_member(size_t member);
  /// Evaluates some of the member's instructions there. `own` gives the text of a value that belongs to the
  /// row.
  const Values& evaluate(size_t member, size_t first, size_t last,
                         const std::function<std::string(int16_t value)>& own, const std::string& result);
  /// Returns `f32` as a value that belongs to the row.
  std::string as_own(int16_t value, const std::string& f32);
  /// Makes float `sum` of query y NaN where nothing larger than -inf was seen, unless the softmax provides
  /// for that.
  void write_unseen();
  void each(const char* variable, int count, const std::function<void()>& body);

  // Write the parts of a function; `y` is a query of the block, `left` how many there are.
  void write_head(size_t function);
  /// Writes names for what rows have in shared memory.
  void write_row_memory();
  /// Skips keys that no query of the block sees.
  void write_hidden();
  /// Writes float `value`, the softmax's operand at (y, key), from float `score`, the product's; -inf unless
  /// `there`.
  void write_value(const std::string& there);
  /// Writes float `shift`, which is subtracted from a query's values, from `now`, the largest.
  void write_shift();
  /// Writes what is made of the sum of weights of query y, after the last keys.
  void write_row_results();
  /// Writes one result, from float `sum`, at column `x`.
  void write_result();
  /// Writes all results, 64 columns at a time: `put` writes those of a group to shared memory, where `there`
  /// is one.
  void write_results(int groups, const std::function<void(const std::string& group)>& put,
                     const std::string& there);
  // --- by fused multiply-adds ---
  void write_tiles(size_t function, int columns);
  /// Returns the side of a member's product that has this name, and the axis that it has besides depth.
  std::pair<const jit::loop::Side&, int> side_of(size_t member, const char* name) const;
  void stage(size_t member, const char* side, int tile, const std::string& origin, const std::string& first,
             const std::string& end);
  void put(size_t member, const char* side, int tile);
  /// Writes the function that does one step of a thread's part of a product.
  void write_tile_step();
  void write_tile_scores();
  /// Replaces scores in shared memory by weights.
  void write_tile_softmax();
  /// Adds the values, times their weights, to the results.
  void write_tile_results(int columns);
  /// Writes an array of a thread's, [8][4], to the transposed tile in shared memory.
  void put_in_tile(const std::string& from);
  // --- by tensor cores ---
  void write_mma(size_t function, int columns);
  void write_mma_prelude(DType query, DType value);
  void write_mma_sources();
  /// Loads the block's queries into registers.
  void write_mma_queries(int columns);
  /// Describes a copy of one side's rows from `from` to shared memory.
  struct Fill {
    size_t member;
    int operand;
    int key_axis, element_axis;
    const char *to, *from;
    std::string first;     // key
    const char* elements;  // of a row
    int packed_flag;       // bit of the launch's plan: rows are packed and aligned
  };
  void write_fill(int columns, const Fill&);
  void write_mma_keys(int columns);
  void write_mma_results(int columns);
  void write_mma_softmax();
  std::string stride(size_t member, int operand, int axis) const;

  const jit::loop::FusedRows& rows_;
  const AttentionSchedule& schedule_;
  const jit::loop::Attention& form_;
  Prelude prelude_;
  Text text_;
  std::vector<bool> whole_;
  std::vector<std::unique_ptr<ProductWriter>> writers_;
};

}  // namespace lazy::cuda_backend
