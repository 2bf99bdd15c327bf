#include "lazy/nn/functional/channels.hpp"

namespace lazy::detail {

Handle with_factors(const Recorder& r, const Handle& weights, int axis, const jit::ChannelMap& map) {
  Shape beside(weights->shape.size(), 1);
  beside[axis] = weights->shape[axis];
  const Handle scaled = r.op(Op::multiply, r.as(map.factor->dtype, weights), r.reshape(map.factor, beside));
  return r.as(weights->dtype, scaled);
}

Handle with_shifts(const Recorder& r, const Handle& bias, DType t, const jit::ChannelMap& map) {
  if (!bias) return r.as(t, map.shift);
  const Handle scaled = r.op(Op::multiply, r.as(map.factor->dtype, bias), map.factor);
  return r.as(t, r.op(Op::add, scaled, map.shift));
}

}  // namespace lazy::detail
