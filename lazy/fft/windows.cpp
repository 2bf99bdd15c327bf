#include <numbers>

#include "lazy/fft/signal.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/special.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Records a window: shape(r, t) gives its elements of t = k / n from 0 to 1, in float64.
template <class F>
Tensor window(const char* name, IntegerArg n, bool periodic, MaybeDType dtype, const MaybeDevice& device,
              const Site& s, F&& shape) {
  const Recorder r{name, s};
  const DType t = dtype.or_else(get_default_dtype());
  if (!is_float(t)) r.fail<DtypeError>(std::string("a window has floating-point numbers, not ") + name_of(t));
  if (n < 0) r.fail<ShapeError>("the number of elements can't be negative: " + std::to_string(n.value));
  const Handle k = arange(n.value, float64, device, s).handle();
  if (n <= 1) return r.tensor(r.filled(1, t, k->shape, k));
  return r.tensor(r.as(t, shape(r, r.op(Op::divide, k, static_cast<double>(n.value - (periodic ? 0 : 1))))));
}

/// Returns a + b cos(turns 2 pi t).
Handle wave(const Recorder& r, const Handle& t, double turns, double b) {
  return r.op(Op::multiply, r.op(Op::cos, r.op(Op::multiply, t, 2 * std::numbers::pi * turns)), b);
}

}  // namespace

Tensor hann_window(IntegerArg n, bool periodic, MaybeDType dtype, MaybeDevice device, Site s) {
  return window("hann_window", n, periodic, dtype, device, s, [](const Recorder& r, const Handle& t) {
    const Handle sine = r.op(Op::sin, r.op(Op::multiply, t, std::numbers::pi));
    return r.op(Op::multiply, sine, sine);
  });
}

Tensor hamming_window(IntegerArg n, bool periodic, double alpha, double beta, MaybeDType dtype,
                      MaybeDevice device, Site s) {
  return window("hamming_window", n, periodic, dtype, device, s, [&](const Recorder& r, const Handle& t) {
    return r.op(Op::add, wave(r, t, 1, -beta), alpha);
  });
}

Tensor blackman_window(IntegerArg n, bool periodic, MaybeDType dtype, MaybeDevice device, Site s) {
  return window("blackman_window", n, periodic, dtype, device, s, [](const Recorder& r, const Handle& t) {
    return r.op(Op::add, r.op(Op::add, wave(r, t, 1, -0.5), wave(r, t, 2, 0.08)), 0.42);
  });
}

Tensor bartlett_window(IntegerArg n, bool periodic, MaybeDType dtype, MaybeDevice device, Site s) {
  return window("bartlett_window", n, periodic, dtype, device, s, [](const Recorder& r, const Handle& t) {
    return r.op(Op::subtract, 1, r.op(Op::abs, r.op(Op::subtract, r.op(Op::multiply, t, 2), 1)));
  });
}

Tensor kaiser_window(IntegerArg n, bool periodic, double beta, MaybeDType dtype, MaybeDevice device, Site s) {
  return window("kaiser_window", n, periodic, dtype, device, s, [&](const Recorder& r, const Handle& t) {
    const Handle x = r.op(Op::subtract, r.op(Op::multiply, t, 2), 1);
    const Handle height =
        r.op(Op::sqrt, r.op(Op::maximum, r.op(Op::subtract, 1, r.op(Op::multiply, x, x)), 0));
    const Handle top = r.number(beta, float64);
    return r.op(Op::divide, i0(r.arg(r.op(Op::multiply, height, beta))).handle(), i0(r.arg(top)).handle());
  });
}

}  // namespace lazy
