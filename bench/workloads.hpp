// Defines what is computed, written as users of the library write it.
#pragma once
#include <lazy/lazy.hpp>
#include <utility>

namespace bench {

using namespace lazy;

inline Tensor chain10(const Tensor& a, const Tensor& b, const Tensor& c) {
  Tensor t = a;
  for (int i = 0; i < 5; ++i) t = (t + b) * c;
  return t;
}

inline Tensor fused_chain(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
  return gelu((a * b + c) * 0.5) + sigmoid(d);
}

inline Tensor triad(const Tensor& a, const Tensor& b) { return a + 2.5f * b; }

inline Tensor arith_chain(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
  return ((a * b + c) * 0.5 + d) * (a - c) + b * d;
}

/// Returns call and put, at a rate of 2%.
inline std::pair<Tensor, Tensor> black_scholes(const Tensor& spot, const Tensor& strike, const Tensor& years,
                                               const Tensor& volatility) {
  constexpr double kRate = 0.02;
  const auto cdf = [](const Tensor& x) { return (erf(x * 0.7071067811865476) + 1) * 0.5; };
  const Tensor spread = volatility * sqrt(years);
  const Tensor d1 = (log(spot / strike) + (volatility * volatility * 0.5 + kRate) * years) / spread;
  const Tensor n1 = cdf(d1), n2 = cdf(d1 - spread), discounted = strike * exp(years * -kRate);
  return {spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)};
}

inline Tensor softmax(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return e / sum(e, {-1}, keepdims);
}

inline Tensor log_softmax(const Tensor& x) {
  const Tensor z = x - max(x, {-1}, keepdims);
  return z - log(sum(exp(z), {-1}, keepdims));
}

inline Tensor layernorm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor centred = x - mean(x, {-1}, keepdims);
  return centred * rsqrt(mean(centred * centred, {-1}, keepdims) + 1e-5) * weight + bias;
}

inline Tensor rmsnorm(const Tensor& x, const Tensor& weight) {
  return x * rsqrt(mean(x * x, {-1}, keepdims) + 1e-5) * weight;
}

inline Tensor col_standardize(const Tensor& x) { return (x - mean(x, {0})) / sqrt(var(x, {0}) + 1e-5); }

inline Tensor logsumexp_rows(const Tensor& x) {
  const Tensor m = max(x, {-1}, keepdims);
  return squeeze(m, {-1}) + log(sum(exp(x - m), {-1}));
}

/// Multiplies x (m, k) by w (n, k) transposed and adds bias (n).
inline Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b) {
  return matmul(x, permute_dims(w, {1, 0})) + b;
}

/// Computes a post-norm encoder layer: 512 channels, 8 heads, 2048 hidden units, gelu.
struct Encoder {
  Tensor wqkv, bqkv, wo, bo, g1, b1, w1, c1, w2, c2, g2, b2;
  Tensor operator()(const Tensor& x) const {
    const int64_t batch = x.size(0), length = x.size(1), channels = x.size(2), heads = 8;
    const Tensor qkv =
        reshape(linear(x, wqkv, bqkv), {batch, length, 3, heads, channels / heads}).permute({2, 0, 3, 1, 4});
    const Tensor values =
        scaled_dot_product_attention(std::as_const(qkv)(0), std::as_const(qkv)(1), std::as_const(qkv)(2));
    const Tensor joined = values.permute({0, 2, 1, 3}).reshape({batch, length, channels});
    const Tensor y = layernorm(x + linear(joined, wo, bo), g1, b1);
    return layernorm(y + linear(gelu(linear(y, w1, c1)), w2, c2), g2, b2);
  }
};

/// Computes the convolution, its batch normalisation in inference, relu; per-channel tensors are (C, 1, 1) or
/// (C).
inline Tensor conv_bn_relu(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& scale,
                           const Tensor& shift, const Tensor& mean, const Tensor& variance,
                           const ConvOptions& options) {
  const Tensor y = conv2d(x, w, options) + bias;
  return relu((y - mean) * rsqrt(variance + 1e-5) * scale + shift);
}

/// Counts the steps that each point c = cr + i ci stays within |z| <= 2.
inline Tensor mandelbrot(const Tensor& cr, const Tensor& ci, int iterations) {
  Tensor zr = zeros_like(cr), zi = zeros_like(cr), count = zeros_like(cr);
  for (int k = 0; k < iterations; ++k) {
    const Tensor r2 = zr * zr, i2 = zi * zi, inside = (r2 + i2) <= 4;
    const Tensor next_i = zr * zi * 2 + ci, next_r = r2 - i2 + cr;
    zr = where(inside, next_r, zr);
    zi = where(inside, next_i, zi);
    count = count + inside;
  }
  return count;
}

}  // namespace bench
