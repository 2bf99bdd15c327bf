// Layers of transformers, by torch.nn's names (Vaswani et al., 2017). Sequences are (T, N, E), with
// `batch_first` (N, T, E), or (T, E) for one. Masks are those of MultiheadAttention: true, or -inf added,
// keeps a query from a key.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "lazy/nn/modules/attention.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::nn {

struct TransformerLayerOptions {
  IntegerArg dim_feedforward = 2048;
  double dropout = 0.1;
  std::function<Tensor(const Tensor&)> activation = {};  // pointwise, between the products; none: relu
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalises what goes into attention and products, not sums
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Says what a layer of an encoder may attend to.
struct EncoderMasks {
  Tensor mask = {};                  // (T, T) or (N heads, T, T)
  Tensor src_key_padding_mask = {};  // (N, T)
  bool is_causal = false;
};
/// Says what a layer of a decoder may attend to: in its own sequence of T, and in the memory of S.
struct DecoderMasks {
  Tensor tgt_mask = {}, memory_mask = {};                          // (T, T), (T, S)
  Tensor tgt_key_padding_mask = {}, memory_key_padding_mask = {};  // (N, T), (N, S)
  bool tgt_is_causal = false, memory_is_causal = false;
};

/// Attends to its own sequence, then computes two products with an activation between them; each is added to
/// what it was given.
struct TransformerEncoderLayer : Module {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  TransformerEncoderLayer(IntegerArg d_model, IntegerArg nhead, const TransformerLayerOptions& options = {},
                          Site s = Site::current());
  Tensor operator()(Arg src, const EncoderMasks& masks = {}) const;
  /// Goes through sequences without padding, (total, E). Error where weights are dropped while it is trained.
  Ragged operator()(const Ragged& src, bool is_causal = false, Site s = Site::current()) const;
  LAZY_MODULE(self_attn, linear1, linear2, norm1, norm2)

 private:
  TransformerLayerOptions options_;
};

/// Attends to its own sequence, then to that of the encoder.
struct TransformerDecoderLayer : Module {
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  TransformerDecoderLayer(IntegerArg d_model, IntegerArg nhead, const TransformerLayerOptions& options = {},
                          Site s = Site::current());
  Tensor operator()(Arg tgt, Arg memory, const DecoderMasks& masks = {}) const;
  LAZY_MODULE(self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3)

 private:
  TransformerLayerOptions options_;
};

/// Holds copies of a layer, which begin with the same values as in torch.
/// Like torch's, it leaves out padding where nobody trains it: in eval(), without gradients, with a
/// src_key_padding_mask of bools, whose value is there on the host, that hides ends of sequences, and no
/// `mask`. Then what it returns for hidden places is 0. (Not while a replay records: what a mask holds is no
/// part of it.)
struct TransformerEncoder : Module {
  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerEncoder(const TransformerEncoderLayer& layer, IntegerArg num_layers,
                     std::optional<LayerNorm> norm = std::nullopt, Site s = Site::current());
  Tensor operator()(Arg src, const EncoderMasks& masks = {}) const;
  /// Goes through sequences without padding, (total, E). Error where weights are dropped while it is trained.
  Ragged operator()(const Ragged& src, bool is_causal = false, Site s = Site::current()) const;
  LAZY_MODULE(layers, norm)
};
struct TransformerDecoder : Module {
  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerDecoder(const TransformerDecoderLayer& layer, IntegerArg num_layers,
                     std::optional<LayerNorm> norm = std::nullopt, Site s = Site::current());
  Tensor operator()(Arg tgt, Arg memory, const DecoderMasks& masks = {}) const;
  LAZY_MODULE(layers, norm)
};

struct TransformerOptions {
  IntegerArg d_model = 512, nhead = 8, num_encoder_layers = 6, num_decoder_layers = 6;
  TransformerLayerOptions layer = {};
};
/// Says what both halves may attend to.
struct TransformerMasks {
  EncoderMasks src = {};
  DecoderMasks tgt = {};
};
/// Encodes src (S, N, E) and decodes tgt (T, N, E) with it. Matrices begin by xavier_uniform_.
struct Transformer : Module {
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  explicit Transformer(const TransformerOptions& options = {}, Site s = Site::current());
  Tensor operator()(Arg src, Arg tgt, const TransformerMasks& masks = {}) const;
  /// Returns (n, n): -inf above the diagonal, 0 elsewhere.
  static Tensor generate_square_subsequent_mask(IntegerArg n, Site s = Site::current());
  LAZY_MODULE(encoder, decoder)
};

}  // namespace lazy::nn
