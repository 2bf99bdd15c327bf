#include "lazy/fft/signal.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/fft/transforms.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"
#include "support/float_mode.hpp"

namespace lazy::fft {
namespace {
using namespace detail;

/// Holds what the options of a short-time transform come to.
struct Frames {
  int64_t size, hop;  // samples
  Handle window;      // (size), in the real dtype
  bool center;
};

Frames frames_of(const Transforms& t, IntegerArg n_fft, const StftOptions& o, const Handle& x) {
  if (n_fft < 1) t.fail<ShapeError>("a frame has one sample at least, not " + std::to_string(n_fft.value));
  Frames f{n_fft, o.hop_length == 0 ? std::max<int64_t>(n_fft / 4, 1) : o.hop_length, {}, o.center};
  const int64_t length = o.win_length == 0 ? n_fft.value : o.win_length;
  if (f.hop < 1) t.fail<Error>("hop_length is positive, not " + std::to_string(f.hop));
  if (length < 1 || length > f.size)
    t.fail<ShapeError>("a window of " + std::to_string(length) + " samples in frames of " +
                       std::to_string(f.size));
  const DType real = plane_type(x->dtype);
  if (o.window.defined()) {
    const Handle w = Arg(o.window, t.site).take();
    if (w->shape != Shape{length})
      t.fail<ShapeError>("a window of shape " + to_string(w->shape) + ", not " + to_string(Shape{length}));
    need_real(t.name, w->dtype, t.site);
    f.window = t.as(real, w);
  } else {
    f.window = t.filled(1, real, {length}, x);
  }
  if (length < f.size)
    f.window = t.replaced(t.filled(0, real, {f.size}, x), f.window, 0, (f.size - length) / 2);
  return f;
}

Handle multiplied(const Recorder& r, const Handle& a, const Handle& b) { return r.op(Op::multiply, a, b); }

/// Returns a * b of a complex a, and a real b that broadcasts to it.
Handle scaled_by(const Recorder& r, const Handle& a, const Handle& b) {
  if (!is_complex(a->dtype)) return multiplied(r, a, b);
  const Planes p = planes_of(a);
  return jit::complex(multiplied(r, p.re, b), multiplied(r, p.im, b), r.site);
}

/// Adds frames (..., frames, size) where they lie: (..., samples).
Handle overlapped(const Recorder& r, const Handle& frames, int64_t hop) {
  const int rank = frames->shape.size();
  const int64_t count = frames->shape[rank - 2], size = frames->shape[rank - 1];
  Shape flat, whole;
  for (int i = 0; i < rank - 2; ++i) flat.push_back(frames->shape[i]);
  whole = flat;
  flat.push_back(count * size);
  whole.push_back((count - 1) * hop + size);
  const Handle at = r.op(Op::add, r.op(Op::multiply, r.index(0, {count, size}, frames), hop),
                         r.index(1, {count, size}, frames));
  const Handle positions = r.broadcast(r.reshape(at, {count * size}), flat);
  return store_at(r.name, r.filled(0, frames->dtype, whole, frames), positions, r.reshape(frames, flat),
                  rank - 2, Combine::add, Bounds::strict, r.site);
}

/// Returns exp(i pi (a k + b)), k = 0 ... n - 1, along an axis.
Handle turns(const Recorder& r, const Handle& like, int axis, int64_t n, double a, double b) {
  Shape along(like->shape.size(), 1);
  along[axis] = n;
  const DType t = plane_type(like->dtype);
  const Handle k = r.as(float64, r.index(axis, along, like));
  const Handle angle = r.op(Op::multiply, r.op(Op::add, r.op(Op::multiply, k, a), b), std::numbers::pi);
  return jit::complex(r.as(t, r.op(Op::cos, angle)), r.as(t, r.op(Op::sin, angle)), r.site);
}

/// Returns the elements 1 ... of an axis in reverse, behind a zero: x[-k].
Handle mirrored(const Recorder& r, const Handle& x, int axis) {
  const int64_t n = x->shape[axis];
  const Handle zeros = r.filled(0, x->dtype, x->shape, x);
  return n == 1 ? zeros : r.replaced(zeros, r.reversed(r.part(x, axis, 1, n - 1), axis), axis, 1);
}

/// Returns twice the sums of x[j] cos(pi k (2 j + 1) / (2 n)). Source: J. Makhoul, "A fast cosine transform
/// in one and two dimensions" (1980): even elements upwards, odd ones downwards, and one transform of n.
Handle cosine_two(const Transforms& t, const Handle& x, int axis) {
  const int64_t n = x->shape[axis], evens = (n + 1) / 2;
  Handle v = t.replaced(t.filled(0, x->dtype, x->shape, x), t.part(x, axis, 0, evens, 2), axis, 0);
  if (n > 1) {
    const Handle odd = t.part(x, axis, 1, n - evens, 2);
    v = t.replaced(v, t.reversed(odd, axis), axis, evens);
  }
  const Handle y = t.complex(v, axis, n, true);
  const Handle w = turns(t, y, axis, n, -0.5 / static_cast<double>(n), 0);
  return t.op(Op::multiply, real_part(t.op(Op::multiply, y, w)), 2);
}

/// Returns x[0] + 2 times the sums over k > 0 of x[k] cos(pi k (2 j + 1) / (2 n)).
Handle cosine_three(const Transforms& t, const Handle& x, int axis) {
  const int64_t n = x->shape[axis], evens = (n + 1) / 2;
  const Handle z = jit::complex(x, t.op(Op::negative, mirrored(t, x, axis)), t.site);
  const Handle w = turns(t, z, axis, n, 0.5 / static_cast<double>(n), 0);
  // The transform back without its factor is the conjugate of that of the conjugate.
  const Handle v = real_part(t.complex(conjugate(t.op(Op::multiply, z, w), t.site), axis, n, true));
  Handle y = t.filled(0, v->dtype, v->shape, v);
  const auto put = [&](const Handle& part, int64_t start) {
    Dims starts(y->shape.size(), 0), steps(y->shape.size(), 1);
    starts[axis] = start;
    steps[axis] = 2;
    y = slice_update(t.name, y, part, starts, steps, t.site);
  };
  put(t.part(v, axis, 0, evens), 0);
  if (n > 1) put(t.reversed(t.part(v, axis, evens, n - evens), axis), 1);
  return y;
}

/// Returns x[0] + (-1)^k x[n - 1] + 2 times the sums of the others times cos(pi j k / (n - 1)).
Handle cosine_one(const Transforms& t, const Handle& x, int axis) {
  const int64_t n = x->shape[axis];
  if (n < 2) t.fail<ShapeError>("type 1 needs two elements");
  Shape shape = x->shape;
  shape[axis] = 2 * (n - 1);
  Handle both = t.replaced(t.filled(0, x->dtype, shape, x), x, axis, 0);
  if (n > 2) both = t.replaced(both, t.reversed(t.part(x, axis, 1, n - 2), axis), axis, n);
  return real_part(t.half(both, axis, 2 * (n - 1), true));
}

/// Returns twice the sums of x[j] cos(pi (2 k + 1) (2 j + 1) / (4 n)).
Handle cosine_four(const Transforms& t, const Handle& x, int axis) {
  const int64_t n = x->shape[axis];
  const double by = 0.5 / static_cast<double>(n);
  const Handle z = scaled_by(t, turns(t, x, axis, n, -by, 0), x);
  const Handle y = t.part(t.complex(z, axis, 2 * n, true), axis, 0, n);
  const Handle w = turns(t, y, axis, n, -by, -by / 2);
  return t.op(Op::multiply, real_part(t.op(Op::multiply, y, w)), 2);
}

Handle cosine(const Transforms& t, const Handle& x, int type, int axis) {
  switch (type) {
    case 1: return cosine_one(t, x, axis);
    case 2: return cosine_two(t, x, axis);
    case 3: return cosine_three(t, x, axis);
    default: return cosine_four(t, x, axis);
  }
}

/// Multiplies the first element of an axis, and the last one if `both`.
Handle with_ends(const Recorder& r, const Handle& x, int axis, double by, bool both) {
  Shape along(x->shape.size(), 1);
  along[axis] = x->shape[axis];
  const Handle k = r.index(axis, along, x);
  Handle end = r.op(Op::equal, k, 0);
  if (both) end = r.either(end, r.op(Op::equal, k, x->shape[axis] - 1));
  return r.op(Op::multiply, x, r.where(end, r.number(by, x->dtype), r.number(1, x->dtype)));
}

Tensor cosine_transform(const char* name, Arg& given, int type, Length n, IntegerArg at,
                        const std::string& norm, bool forward) {
  if (type < 1 || type > 4)
    fail<Error>(name, "the type is 1, 2, 3 or 4, not " + std::to_string(type), given.site());
  (void)Transforms(name, given.site(), norm);  // throws for another norm
  const Transforms t(name, given.site(), "backward");
  Handle x = t.taken(given);
  need_real(name, x->dtype, t.site);
  const int axis = t.axis(at, x);
  x = t.resized(x, axis, t.length(n.value, x->shape[axis]));
  // The inverse of type 2 is type 3, and the other way; the others are their own.
  const int kind = forward || type == 1 || type == 4 ? type : 5 - type;
  const double whole = 2.0 * static_cast<double>(type == 1 ? x->shape[axis] - 1 : x->shape[axis]);
  const double root = in_default_mode([&] { return std::sqrt(2.0); });
  const bool ortho = norm == "ortho";
  if (ortho && (kind == 1 || kind == 3)) x = with_ends(t, x, axis, root, kind == 1);
  Handle y = cosine(t, x, kind, axis);
  if (ortho) {
    if (kind == 1 || kind == 2) y = with_ends(t, y, axis, 1 / root, kind == 1);
    y = t.op(Op::multiply, y, in_default_mode([&] { return 1 / std::sqrt(whole); }));
  } else if ((norm == "forward") == forward) {
    y = t.op(Op::multiply, y, in_default_mode([&] { return 1 / whole; }));
  }
  return t.tensor(y);
}

/// Returns a length of small factors, at least n.
int64_t convenient(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (const int64_t odd : {3, 5, 9, 15}) {
    int64_t all = odd;
    while (all < n) all *= 2;
    best = std::min(best, all);
  }
  return best;
}

}  // namespace

Tensor stft(Arg given, IntegerArg n_fft, const StftOptions& o) {
  const Transforms t("stft", given.site(), o.normalized ? "ortho" : "backward");
  Handle x = t.taken(given);
  const Frames f = frames_of(t, n_fft, o, x);
  const int last = x->shape.size() - 1;
  if (f.center) {
    const int64_t side = f.size / 2;
    std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(last), {0, 0});
    widths.emplace_back(side, side);
    x = pad(t.arg(x), widths, o.pad_mode).handle();
  }
  if (x->shape[last] < f.size)
    t.fail<ShapeError>(std::to_string(x->shape[last]) + " samples are fewer than a frame of " +
                       std::to_string(f.size));
  const Handle frames = sliding_window_view(t.arg(x), Axes(f.size), Axes(last), Axes(f.hop)).handle();
  const Handle shaped = scaled_by(t, frames, f.window);
  const bool half = o.onesided && !is_complex(x->dtype);
  const Handle y = half ? t.half(shaped, last + 1, f.size, true) : t.complex(shaped, last + 1, f.size, true);
  return t.tensor(matrix_transpose(y, t.site));
}

Tensor istft(Arg given, IntegerArg n_fft, const StftOptions& o, Length length) {
  const Transforms t("istft", given.site(), o.normalized ? "ortho" : "backward");
  const Handle x = t.taken(given);
  const Frames f = frames_of(t, n_fft, o, x);
  const int rank = x->shape.size();
  const int64_t bins = o.onesided ? f.size / 2 + 1 : f.size;
  if (rank < 2 || x->shape[rank - 2] != bins || x->shape[rank - 1] < 1)
    t.fail<ShapeError>("takes " + std::to_string(bins) + " bins by frames, not " + to_string(x->shape));
  const Handle spectra = matrix_transpose(x, t.site);
  const Handle frames =
      o.onesided ? t.whole(spectra, rank - 1, f.size, false) : t.complex(spectra, rank - 1, f.size, false);
  const Handle sum = overlapped(t, scaled_by(t, frames, f.window), f.hop);
  const int64_t count = x->shape[rank - 1];
  const Handle squares = t.broadcast(multiplied(t, f.window, f.window), {count, f.size});
  const Handle weight = overlapped(t, squares, f.hop);
  Handle y = is_complex(sum->dtype) ? jit::complex(t.op(Op::divide, planes_of(sum).re, weight),
                                                   t.op(Op::divide, planes_of(sum).im, weight), t.site)
                                    : t.op(Op::divide, sum, weight);
  const int64_t side = f.center ? f.size / 2 : 0, all = y->shape[rank - 2];
  const int64_t kept =
      length.given() ? std::min(length.value, all - side) : std::max<int64_t>(all - 2 * side, 0);
  y = t.part(y, rank - 2, side, kept);
  return t.tensor(length.given() ? t.resized(y, rank - 2, length.value) : y);
}

Tensor dct(Arg x, int type, Length n, IntegerArg axis, const std::string& norm) {
  return cosine_transform("dct", x, type, n, axis, norm, true);
}
Tensor idct(Arg x, int type, Length n, IntegerArg axis, const std::string& norm) {
  return cosine_transform("idct", x, type, n, axis, norm, false);
}

Tensor hilbert(Arg given, Length length, IntegerArg at) {
  const Transforms t("hilbert", given.site(), "backward");
  const Handle x = t.taken(given);
  need_real(t.name, x->dtype, t.site);
  const int axis = t.axis(at, x);
  const int64_t n = t.length(length.value, x->shape[axis]);
  const Handle y = t.complex(x, axis, n, true);
  // Frequencies above 0 count twice, those below not at all.
  Shape along(x->shape.size(), 1);
  along[axis] = n;
  const Handle k = t.index(axis, along, x), twice = t.op(Op::multiply, k, 2);
  const Handle once = t.either(t.op(Op::equal, k, 0), t.op(Op::equal, twice, n));
  const Handle weight =
      t.where(once, t.number(1, x->dtype),
              t.where(t.op(Op::less, twice, n), t.number(2, x->dtype), t.number(0, x->dtype)));
  return t.tensor(t.complex(scaled_by(t, y, weight), axis, n, false));
}

Tensor fftconvolve(Arg a, Arg b, const std::string& mode) {
  const Transforms t("fftconvolve", a.site(), "backward");
  if (mode != "full" && mode != "same" && mode != "valid")
    t.fail<Error>("mode is \"full\", \"same\" or \"valid\", not \"" + mode + "\"");
  const DType dtype = wide_float(common_type(t.name, {&a, &b}));
  const Handle x = Operand(t.name, a, dtype).take(), y = Operand(t.name, b, dtype).take();
  check_devices(t.name, {&x, &y}, t.site);
  const int rank = x->shape.size();
  if (y->shape.size() != rank || rank == 0)
    t.fail<ShapeError>("shapes " + to_string(x->shape) + " and " + to_string(y->shape) +
                       " have not as many axes, one at least");
  bool x_longer = true, y_longer = true;
  Shape full = x->shape;
  for (int i = 0; i < rank; ++i) {
    t.length(-1, x->shape[i]), t.length(-1, y->shape[i]);
    x_longer &= x->shape[i] >= y->shape[i], y_longer &= y->shape[i] >= x->shape[i];
    full[i] = x->shape[i] + y->shape[i] - 1;
  }
  if (mode == "valid" && !x_longer && !y_longer)
    t.fail<ShapeError>("neither of " + to_string(x->shape) + " and " + to_string(y->shape) +
                       " is as long as the other along every axis");
  const bool real = !is_complex(dtype);
  const auto transformed = [&](Handle h) {
    for (int i = rank - 1; i >= 0; --i)
      h = real && i == rank - 1 ? t.half(h, i, convenient(full[i]), true)
                                : t.complex(h, i, convenient(full[i]), true);
    return h;
  };
  Handle z = t.op(Op::multiply, transformed(x), transformed(y));
  for (int i = 0; i < rank; ++i)
    z = real && i == rank - 1 ? t.whole(z, i, convenient(full[i]), false)
                              : t.complex(z, i, convenient(full[i]), false);
  for (int i = 0; i < rank; ++i) {
    const int64_t longer = std::max(x->shape[i], y->shape[i]), shorter = std::min(x->shape[i], y->shape[i]);
    const int64_t count = mode == "full" ? full[i] : mode == "same" ? x->shape[i] : longer - shorter + 1;
    z = t.part(z, i, (full[i] - count) / 2, count);
  }
  return t.tensor(z);
}

Periodogram periodogram(Arg given, double rate, const MaybeTensor& window) {
  const Transforms t("periodogram", given.site(), "backward");
  const Handle x = t.taken(given);
  need_real(t.name, x->dtype, t.site);
  if (!(rate > 0)) t.fail<Error>("the rate is above 0");
  const int last = x->shape.size() - 1;
  const int64_t n = t.length(-1, x->shape[last]);
  const Handle mean = t.op(Op::divide, t.reduce(Op::sum, x, {last}, keepdims), static_cast<double>(n));
  Handle v = t.op(Op::subtract, x, mean), energy = t.number(static_cast<double>(n), x->dtype);
  if (window.defined()) {
    const Handle w = t.as(x->dtype, window.handle());
    if (w->shape != Shape{n})
      t.fail<ShapeError>("a window of shape " + to_string(w->shape) + ", not " + to_string(Shape{n}));
    v = t.op(Op::multiply, v, w);
    energy = t.reduce(Op::sum, t.op(Op::multiply, w, w), {});
  }
  const Handle size = squared_modulus(t.name, t.half(v, last, n, true), t.site);
  Shape along(x->shape.size(), 1);
  along[last] = n / 2 + 1;
  const Handle k = t.index(last, along, x);
  const Handle once = t.either(t.op(Op::equal, k, 0), t.op(Op::equal, t.op(Op::multiply, k, 2), n));
  const Handle weight = t.where(once, t.number(1, x->dtype), t.number(2, x->dtype));
  const Handle power = t.op(Op::divide, t.op(Op::multiply, size, weight), t.op(Op::multiply, energy, rate));
  return {rfftfreq(n, 1 / rate, x->dtype, x->device, t.site), t.tensor(power)};
}

}  // namespace lazy::fft
