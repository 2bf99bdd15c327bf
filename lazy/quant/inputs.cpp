#include "lazy/quant/inputs.hpp"

#include "lazy/ops/recorder.hpp"

namespace lazy::quant {

using namespace lazy::detail;

RoundedInputs round_inputs(const Tensor& x, const Inputs& inputs, Granularity granularity, const Site& s) {
  const Recorder r{"quantize", s};
  const bool fixed = inputs.activations == Activations::fixed;
  const Scheme given = inputs.by(fixed ? Granularity::tensor : granularity);
  Scheme how = given;
  how.is_signed = true;  // the same numbers
  Affine a = fixed ? inputs.fixed : affine_of(x, how, s);
  if (a.zero_point.defined()) {
    Handle zero = r.as(int32, a.zero_point.handle());
    if (fixed && given.middle() != 0) zero = r.op(Op::subtract, zero, ScalarNumber(given.middle()));
    a.zero_point = r.tensor(zero);
  }
  return {quantize(x, a, how, s), a};
}

}  // namespace lazy::quant
