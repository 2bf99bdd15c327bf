// Programs that run networks: an LSTM, a ResNet, a block of GPT-2 that writes, ragged batches.
#include <cmath>
#include <memory>

#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "programs.hpp"

using namespace lazy;
using programs::uniform;

namespace {

/// Gives each parameter numbers that go with the number of what it sums over.
void fill(nn::Module& m, uint64_t seed) {
  for (ParameterRef p : m.parameters()) {
    const Shape& shape = (*p).shape();
    const int64_t sums = shape.size() > 1 ? numel(shape) / shape[0] : 4;
    const float most = 1 / std::sqrt(static_cast<float>(sums));
    *p = uniform(shape, -most, most, seed++);
  }
}

}  // namespace

/// Runs a long short-term memory over a batch of sequences.
PROGRAM(lstm, "200x32x256") {
  const int64_t width = n(256, 16);
  auto model = std::make_shared<nn::LSTM>(width, width);
  fill(*model, 200);
  const Tensor x = uniform({n(200, 12), n(32, 3), width}, -1, 1, 20);
  return [=] {
    const no_grad scope;
    return (*model)(x).output(-1);
  };
}

/// Classifies an image by a residual network of 18 layers.
PROGRAM(resnet18, "1x3x224x224") {
  auto model = std::make_shared<models::ResNet>(models::resnet18(n(1000, 10)));
  fill(*model, 300);
  model->eval();
  const int64_t edge = n(224, 64);
  const Tensor x = uniform({1, 3, edge, edge}, 0, 1, 21);
  return [=] {
    const no_grad scope;
    return (*model)(x);
  };
}

namespace {

/// Holds a block of GPT-2's weights; a cache keeps keys and values of what it has seen.
struct Block {
  int64_t width, heads;
  Tensor qkv = weight(width, 3 * width, 30), out = weight(width, width, 31),
         up = weight(width, 4 * width, 32), down = weight(4 * width, width, 33);
  static Tensor weight(int64_t from, int64_t to, uint64_t seed) {
    const float most = 1 / std::sqrt(static_cast<float>(from));
    return uniform({from, to}, -most, most, seed);
  }
  Tensor split(const Tensor& x) const {  // (tokens, width) -> (heads, tokens, width / heads)
    return x.reshape({x.size(0), heads, width / heads}).permute({1, 0, 2});
  }
  /// Takes tokens at positions from `at` on, and puts their keys and values into the cache.
  Tensor operator()(const Tensor& x, Tensor& keys, Tensor& values, int64_t at) const {
    const Tensor normed = layer_norm(x, {width}), all = matmul(normed, qkv);
    const auto here = slice(at, at + x.size(0)), seen = slice(at + x.size(0));
    keys(_, here) = split(all(_, slice(width, 2 * width)));
    values(_, here) = split(all(_, slice(2 * width, 3 * width)));
    const Tensor y = scaled_dot_product_attention(split(all(_, slice(width))), keys(_, seen), values(_, seen),
                                                  {}, at == 0);
    const Tensor z = x + matmul(y.permute({1, 0, 2}).reshape(x.shape()), out);
    return z + matmul(gelu(matmul(layer_norm(z, {width}), up), Approximate::tanh), down);
  }
};

}  // namespace

/// Runs a block of GPT-2 over a prompt of 128 tokens, then 64 times over one more.
PROGRAM(gpt2_block, "128+64") {
  const int64_t width = n(768, 48), heads = n(12, 4), prompt = n(128, 9), more = n(64, 5);
  const auto block = std::make_shared<const Block>(Block{width, heads});
  const Tensor x = uniform({prompt, width}, -1, 1, 22);
  return [=] {
    Tensor keys = zeros({heads, prompt + more, width / heads}), values = keys;
    Tensor token = (*block)(x, keys, values, 0)(slice(-1, none));
    eval(token, keys, values);
    for (int64_t at = prompt; at < prompt + more; ++at) {
      token = (*block)(token, keys, values, at);
      eval(token, keys, values);
    }
    return token;
  };
}

/// Pools sequences of many lengths, padded to the longest of their batch, and scores them.
PROGRAM(ragged_batches, "100x32x64") {
  const int64_t batches = n(100, 6), most = n(120, 15);
  std::vector<Tensor> xs, lengths;
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t longest = 8 + i * 37 % most;
    const auto seed = 400 + static_cast<uint64_t>(i);
    xs.push_back(uniform({32, longest, 64}, -1, 1, seed));
    lengths.push_back(
        (1 + floor(uniform(32, 0, static_cast<float>(longest), seed + 1000))).astype(int64).eval());
  }
  const Tensor w = uniform({64, 64}, -0.1f, 0.1f, 23), query = uniform(64, -1, 1, 24);
  return [=] {
    Tensor total = zeros({32, 64});
    for (size_t i = 0; i < xs.size(); ++i) {
      const Tensor h = tanh(matmul(xs[i], w));
      const Tensor there = arange(xs[i].size(1)) < lengths[i](_, newaxis);
      const Tensor share = softmax(where(there, matmul(h, query), -1e9f), 1);
      total = total + sum(h * share(_, _, newaxis), 1);
      total.eval();
    }
    return total;
  };
}
