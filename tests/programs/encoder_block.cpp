// Runs a transformer's encoder block that normalises first, for all to see and with the future hidden.
#include "tests/programs/program.hpp"

using namespace lazy;

namespace {

Tensor attend(const Tensor& x, const programs::Given& in, bool causal) {
  const int64_t n = x.size(0), t = x.size(1), e = x.size(2), heads = in.whole("heads");
  const auto parts = chunk(linear(x, in("qkv"), in("qkv_bias")), 3, -1);
  const auto split_heads = [&](const Tensor& p) {
    return p.reshape({n, t, heads, e / heads}).swapaxes(1, 2);
  };
  const Tensor seen = scaled_dot_product_attention(split_heads(parts[0]), split_heads(parts[1]),
                                                   split_heads(parts[2]), {}, causal);
  return linear(seen.swapaxes(1, 2).reshape({n, t, e}), in("out"), in("out_bias"));
}

Tensor encode(const Tensor& x, const programs::Given& in, bool causal) {
  const int64_t e = x.size(-1);
  const Tensor heard = x + attend(layer_norm(x, e, in("gain1"), in("shift1")), in, causal);
  const Tensor up = linear(layer_norm(heard, e, in("gain2"), in("shift2")), in("up"), in("up_bias"));
  return heard + linear(gelu(up), in("down"), in("down_bias"));
}

}  // namespace

PROGRAM(encoder_block, .elementary = true) {
  return {{"out", encode(in("x"), in, false)}, {"causal", encode(in("x"), in, true)}};
}
