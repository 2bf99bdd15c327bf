#include "lazy/nn/modules/transformer.hpp"

#include <algorithm>
#include <limits>

#include "jit/graph/capturing.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {
namespace {

using Options = TransformerLayerOptions;

MultiheadAttentionOptions attention(const Options& o) {
  return {.dropout = o.dropout,
          .bias = o.bias,
          .batch_first = o.batch_first,
          .dtype = o.dtype,
          .device = o.device,
          .generator = o.generator};
}
LinearOptions product(const Options& o) { return {o.bias, o.dtype, o.device, o.generator}; }
LayerNormOptions norm_options(const Options& o) {
  return {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype, .device = o.device};
}

/// Holds what both kinds of layers do.
struct Parts {
  const Options& options;
  bool training;
  Site site;  // the user's line

  Arg arg(const Tensor& x) const { return Arg(x, site); }
  Tensor drop(const Tensor& x) const {
    return training && options.dropout > 0 ? dropout(arg(x), options.dropout, true) : x;
  }
  Tensor attend(const MultiheadAttention& attention, const Tensor& x, const Tensor& memory,
                const Tensor& mask, const Tensor& padding, bool causal) const {
    return drop(
        attention(
            x, memory, memory,
            {.key_padding_mask = padding, .need_weights = false, .attn_mask = mask, .is_causal = causal})
            .output);
  }
  Tensor feed(const Linear& first, const Linear& second, const Tensor& x) const {
    const Tensor hidden = first(arg(x));
    return drop(second(arg(drop(options.activation ? options.activation(hidden) : relu(arg(hidden))))));
  }
  /// Adds to x what f makes of it, normalised before or after.
  template <class F>
  Tensor add(const Tensor& x, const LayerNorm& norm, F&& f) const {
    return options.norm_first ? arg(x) + f(norm(arg(x))) : norm(arg(arg(x) + f(x)));
  }
};

/// Returns how many places of each sequence a mask (N, T) shows, where they are its first ones, and the
/// mask's value is there to be read. The sequences are src, of three dimensions.
std::optional<std::vector<int64_t>> lengths_of(const Tensor& hidden, const Tensor& src, bool batch_first,
                                               const Site& s) {
  if (!hidden.defined() || src.ndim(s) != 3 || !is_bool(hidden.dtype(s)) || hidden.ndim(s) != 2) return {};
  if (jit::Capturing::current() || !hidden.handle()->ready() || hidden.device(s) != Device{}) return {};
  const int64_t n = hidden.size(0, s), places = hidden.size(1, s);
  if (src.size(batch_first ? 0 : 1, s) != n || src.size(batch_first ? 1 : 0, s) != places) return {};
  const std::vector<bool> hides = hidden.to_vector<bool>(s);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < n; ++i) {
    const auto row = hides.begin() + i * places, end = row + places, first = std::find(row, end, true);
    if (std::find(first, end, false) != end) return {};
    lengths.push_back(first - row);
  }
  return lengths;
}

template <class Layer>
std::vector<Layer> copies(const Layer& layer, IntegerArg count, const char* name, const Site& s) {
  if (count < 0) lazy::detail::fail<Error>(name, "num_layers is " + std::to_string(count.value), s);
  return std::vector<Layer>(static_cast<size_t>(count.value), layer);
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(IntegerArg d_model, IntegerArg nhead, const Options& o,
                                                 Site s)
    : self_attn(d_model, nhead, attention(o), s),
      linear1(d_model, o.dim_feedforward, product(o), s),
      linear2(o.dim_feedforward, d_model, product(o), s),
      norm1(d_model.value, norm_options(o), s),
      norm2(d_model.value, norm_options(o), s),
      options_(o) {
  options_.generator = nullptr;
}

Tensor TransformerEncoderLayer::operator()(Arg src, const EncoderMasks& m) const {
  const Parts parts{options_, training(), src.site()};
  const Tensor x = parts.add(Tensor(src.take()), norm1, [&](const Tensor& t) {
    return parts.attend(self_attn, t, t, m.mask, m.src_key_padding_mask, m.is_causal);
  });
  return parts.add(x, norm2, [&](const Tensor& t) { return parts.feed(linear1, linear2, t); });
}

Ragged TransformerEncoderLayer::operator()(const Ragged& src, bool is_causal, Site s) const {
  const Parts parts{options_, training(), s};
  const Tensor x = parts.add(src.values, norm1, [&](const Tensor& t) {
    const Ragged own = src.with(Arg(t, s));
    return parts.drop(self_attn(own, own, own, {.causal = is_causal}, s).values);
  });
  return src.with(
      Arg(parts.add(x, norm2, [&](const Tensor& t) { return parts.feed(linear1, linear2, t); }), s));
}

TransformerDecoderLayer::TransformerDecoderLayer(IntegerArg d_model, IntegerArg nhead, const Options& o,
                                                 Site s)
    : self_attn(d_model, nhead, attention(o), s),
      multihead_attn(d_model, nhead, attention(o), s),
      linear1(d_model, o.dim_feedforward, product(o), s),
      linear2(o.dim_feedforward, d_model, product(o), s),
      norm1(d_model.value, norm_options(o), s),
      norm2(d_model.value, norm_options(o), s),
      norm3(d_model.value, norm_options(o), s),
      options_(o) {
  options_.generator = nullptr;
}

Tensor TransformerDecoderLayer::operator()(Arg tgt, Arg source, const DecoderMasks& m) const {
  const Parts parts{options_, training(), tgt.site()};
  const Tensor memory(source.take());
  Tensor x = parts.add(Tensor(tgt.take()), norm1, [&](const Tensor& t) {
    return parts.attend(self_attn, t, t, m.tgt_mask, m.tgt_key_padding_mask, m.tgt_is_causal);
  });
  x = parts.add(x, norm2, [&](const Tensor& t) {
    return parts.attend(multihead_attn, t, memory, m.memory_mask, m.memory_key_padding_mask,
                        m.memory_is_causal);
  });
  return parts.add(x, norm3, [&](const Tensor& t) { return parts.feed(linear1, linear2, t); });
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, IntegerArg num_layers,
                                       std::optional<LayerNorm> n, Site s)
    : layers(copies(layer, num_layers, "TransformerEncoder", s)), norm(std::move(n)) {}
Tensor TransformerEncoder::operator()(Arg src, const EncoderMasks& masks) const {
  const Site s = src.site();
  Tensor x(src.take());
  EncoderMasks own = masks;
  if (!layers.empty() && !training() && !is_grad_enabled() && !masks.mask.defined()) {
    const bool batch_first = layers[0].self_attn.batch_first();
    if (const auto lengths = lengths_of(masks.src_key_padding_mask, x, batch_first, s)) {
      const Tensor rows = batch_first ? x : swapaxes(Arg(x, s), 0, 1);
      const int64_t length = rows.size(1, s);
      const auto whole = [&](int64_t n) { return n == length; };
      if (!std::all_of(lengths->begin(), lengths->end(), whole)) {
        const Ragged y = (*this)(ragged(Arg(rows, s), std::span(*lengths)), masks.is_causal, s);
        const Tensor padded = y.to_padded(length, 0.0, s);
        return batch_first ? padded : swapaxes(Arg(padded, s), 0, 1);
      }
      own.src_key_padding_mask = {};  // it hides nothing
    }
  }
  for (const TransformerEncoderLayer& layer : layers) x = layer(Arg(x, s), own);
  return norm ? (*norm)(Arg(x, s)) : x;
}

Ragged TransformerEncoder::operator()(const Ragged& src, bool is_causal, Site s) const {
  Ragged x = src;
  for (const TransformerEncoderLayer& layer : layers) x = layer(x, is_causal, s);
  return norm ? x.with(Arg((*norm)(Arg(x.values, s)), s)) : x;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, IntegerArg num_layers,
                                       std::optional<LayerNorm> n, Site s)
    : layers(copies(layer, num_layers, "TransformerDecoder", s)), norm(std::move(n)) {}
Tensor TransformerDecoder::operator()(Arg tgt, Arg memory, const DecoderMasks& masks) const {
  const Site s = tgt.site();
  const Tensor source(memory.take());
  Tensor x(tgt.take());
  for (const TransformerDecoderLayer& layer : layers) x = layer(Arg(x, s), Arg(source, s), masks);
  return norm ? (*norm)(Arg(x, s)) : x;
}

Transformer::Transformer(const TransformerOptions& o, Site s)
    : encoder(TransformerEncoderLayer(o.d_model, o.nhead, o.layer, s), o.num_encoder_layers,
              LayerNorm(o.d_model.value, norm_options(o.layer), s), s),
      decoder(TransformerDecoderLayer(o.d_model, o.nhead, o.layer, s), o.num_decoder_layers,
              LayerNorm(o.d_model.value, norm_options(o.layer), s), s) {
  for (const ParameterRef& p : parameters())
    if (p->ndim() > 1) init::xavier_uniform_({*p, s}, 1, o.layer.generator);
}

Tensor Transformer::operator()(Arg src, Arg tgt, const TransformerMasks& masks) const {
  const Site s = src.site();
  return decoder(std::move(tgt), Arg(encoder(std::move(src), masks.src), s), masks.tgt);
}

Tensor Transformer::generate_square_subsequent_mask(IntegerArg n, Site s) {
  return triu(full({n, n}, -std::numeric_limits<double>::infinity(), float32, {}, s), 1);
}

}  // namespace lazy::nn
