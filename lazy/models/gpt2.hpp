// GPT-2 (Radford et al., 2019) with Hugging Face's names of GPT2LMHeadModel.
#pragma once
#include <optional>
#include <vector>

#include "lazy/models/activation.hpp"
#include "lazy/models/cache.hpp"
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::models {

/// Has the sizes of the small model unless told otherwise.
struct GPT2Config {
  int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
  int64_t n_inner = 0;  // width between the two products of a block; 0: four times n_embd
  Activation activation = Activation::gelu_tanh;
  bool tie_word_embeddings = true;  // the scores' weights are those of the tokens
  double dropout = 0.1, layer_norm_epsilon = 1e-5;
};

using GPT2Cache = KeyValueCache;

struct Conv1D : nn::TransposedLinear {
  Conv1D(int64_t inputs, int64_t outputs, const Site&);
};
struct GPT2Attention : nn::Module {
  Conv1D c_attn, c_proj;
  int64_t heads;
  double dropout;
  GPT2Attention(const GPT2Config&, const Site&);
  Tensor operator()(const Tensor& x) const;
  /// Sees the tokens of a layer of a cache, as `seen` says, and adds its own to them.
  Tensor operator()(const Tensor& x, const Tensor& seen, size_t layer, GPT2Cache&) const;
  LAZY_MODULE(c_attn, c_proj)
};
struct GPT2MLP : nn::Module {
  Conv1D c_fc, c_proj;
  Activation activation;
  double dropout;
  GPT2MLP(const GPT2Config&, const Site&);
  Tensor operator()(const Tensor& x) const;
  LAZY_MODULE(c_fc, c_proj)
};
struct GPT2Block : nn::Module {
  nn::LayerNorm ln_1;
  GPT2Attention attn;
  nn::LayerNorm ln_2;
  GPT2MLP mlp;
  GPT2Block(const GPT2Config&, const Site&);
  Tensor operator()(const Tensor& x) const;
  Tensor operator()(const Tensor& x, const Tensor& seen, size_t layer, GPT2Cache&) const;
  LAZY_MODULE(ln_1, attn, ln_2, mlp)
};
struct GPT2Transformer : nn::Module {
  nn::Embedding wte, wpe;
  std::vector<GPT2Block> h;
  nn::LayerNorm ln_f;
  double dropout;
  GPT2Transformer(const GPT2Config&, const Site&);
  Tensor operator()(Arg ids) const;
  Tensor operator()(Arg ids, GPT2Cache&) const;
  LAZY_MODULE(wte, wpe, h, ln_f)
};

/// Returns for each token of ids (N, T) the scores (N, T, vocab_size) of what follows it. The scores' weights
/// are those of the tokens (wte), so that there is no lm_head.weight, unless the config says otherwise.
/// ShapeError for more tokens than positions; IndexError, when a value is computed, for ids out of range.
struct GPT2 : nn::Module {
  GPT2Transformer transformer;
  std::optional<nn::Linear> lm_head;
  explicit GPT2(const GPT2Config& config = {}, Site s = Site::current());
  Tensor operator()(Arg ids) const;
  /// Goes on after the tokens that the cache has, and adds these to it. ShapeError for another number of
  /// sequences than cache() was made for, and for more tokens than it, or the model, has positions.
  Tensor operator()(Arg ids, GPT2Cache& cache) const;
  /// Does the same, and returns the scores behind the last of the ids alone, (N, 1, vocab_size).
  Tensor next_scores(Arg ids, GPT2Cache& cache) const;
  /// Returns an empty cache for so many sequences, and tokens of each.
  GPT2Cache cache(IntegerArg sequences, IntegerArg positions, Site s = Site::current()) const;
  const GPT2Config& config() const { return config_; }
  LAZY_MODULE(transformer, lm_head)

 private:
  Tensor scores(const Tensor& x, const Site&) const;
  GPT2Config config_;
};

}  // namespace lazy::models
