// Attention with several heads, by torch.nn's names.
#pragma once
#include <string>

#include "lazy/nn/functional/varlen_attention.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // of the weights, while it is trained
  bool bias = true;
  bool add_bias_kv = false;       // a learned key and value are added to the sequence
  bool add_zero_attn = false;     // a key and a value of zeros are added
  IntegerArg kdim = 0, vdim = 0;  // extents of keys and values; 0: embed_dim
  bool batch_first = false;       // (N, L, E), not (L, N, E)
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Says what queries may attend to. Masks are torch's: true, or -inf added, keeps a query from a key. (That
/// is the opposite of scaled_dot_product_attention().)
struct AttentionOptions {
  Tensor key_padding_mask = {};  // (N, S), or (S) without a batch
  bool need_weights = true;      // without them scores are never in memory as a whole
  Tensor attn_mask = {};         // (L, S) or (N heads, L, S)
  bool average_attn_weights = true;
  bool is_causal = false;  // query i attends to keys 0 to i only
};
struct AttentionOutput {
  Tensor output;   // of the query's shape
  Tensor weights;  // (N, L, S), or of each head (N, heads, L, S); undefined if they were not asked for
};

/// Computes softmax(q k^T / sqrt(E / heads)) v of projections, for each head, and projects the joined heads
/// (Vaswani et al., 2017): query (L, N, E), key (S, N, kdim), value (S, N, vdim), or without N. ShapeError
/// where shapes don't fit, or the heads don't divide E.
struct MultiheadAttention : Module {
  Parameter in_proj_weight;                               // (3 E, E): of q, k, v
  Parameter q_proj_weight, k_proj_weight, v_proj_weight;  // in its place if kdim or vdim differ from E
  Parameter in_proj_bias;                                 // (3 E)
  Linear out_proj;
  Parameter bias_k, bias_v;  // (1, 1, E)

  MultiheadAttention(IntegerArg embed_dim, IntegerArg num_heads,
                     const MultiheadAttentionOptions& options = {}, Site s = Site::current());
  AttentionOutput operator()(Arg query, Arg key, Arg value, const AttentionOptions& options = {}) const;
  /// Attends within sequences of different lengths (total, E): there is no padding. `scale` is not for this
  /// module. Error where weights are dropped while it is trained, and for add_bias_kv and add_zero_attn.
  Ragged operator()(const Ragged& query, const Ragged& key, const Ragged& value,
                    const VarlenOptions& options = {}, Site = Site::current()) const;

  int64_t embed_dim() const { return embed_dim_; }
  int64_t num_heads() const { return heads_; }
  bool batch_first() const { return batch_first_; }
  LAZY_MODULE(in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v,
              out_proj)

 private:
  struct Operands {
    Tensor q, k, v;  // (N, L, E) and twice (N, S, E)
  };
  Operands project(const Tensor& query, const Tensor& key, const Tensor& value, const Site&) const;
  /// Adds the learned key and value, and those of zeros.
  void extend(Operands&, const Site&) const;
  /// Returns what is added to the scores (N, heads, L, S), or if `as_bool` what may be attended to; undefined
  /// if there is no mask.
  Tensor mask(const AttentionOptions&, const Operands&, bool as_bool, const Site&) const;

  int64_t embed_dim_, heads_, kdim_, vdim_;
  double dropout_;
  bool batch_first_, zero_attn_;
};

}  // namespace lazy::nn
