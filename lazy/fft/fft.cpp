#include "lazy/fft/fft.hpp"

#include "lazy/core/build.hpp"
#include "lazy/fft/transforms.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"

namespace lazy::fft {
namespace {
using namespace detail;

/// Returns 2 (extent - 1), the usual length of what half a spectrum stands for, or what is given.
int64_t length_of_whole(const Transforms& t, Length n, int64_t extent) {
  return t.length(n.value, 2 * (extent - 1));
}

/// Returns what transform(transforms, value, axis) makes of x.
template <class F>
Tensor along(const char* name, Arg& x, int64_t axis, const std::string& norm, F&& transform) {
  const Transforms t(name, x.site(), norm);
  const Handle h = t.taken(x);
  return t.tensor(transform(t, h, t.axis(axis, h)));
}

Tensor complex_along(const char* name, Arg& x, Length n, int64_t axis, const std::string& norm,
                     bool forward) {
  return along(name, x, axis, norm, [&](const Transforms& t, const Handle& h, int a) {
    return t.complex(h, a, t.length(n.value, h->shape[a]), forward);
  });
}

Tensor half_along(const char* name, Arg& x, Length n, int64_t axis, const std::string& norm, bool forward) {
  return along(name, x, axis, norm, [&](const Transforms& t, const Handle& h, int a) {
    return t.half(h, a, t.length(n.value, h->shape[a]), forward);
  });
}

Tensor whole_along(const char* name, Arg& x, Length n, int64_t axis, const std::string& norm, bool forward) {
  return along(name, x, axis, norm, [&](const Transforms& t, const Handle& h, int a) {
    return t.whole(h, a, length_of_whole(t, n, h->shape[a]), forward);
  });
}

/// Holds the axes of a transform along several, in the order that the user gave, and their lengths (-1: the
/// extent).
struct Several {
  Dims axes, lengths;
};

Several several(const Transforms& t, const Handle& h, const ShapeArg& s, const Axes& axes) {
  Several r;
  const int rank = h->shape.size();
  if (axes.empty()) {
    const int count = s.empty() ? rank : s.size();
    if (count > rank) t.fail<ShapeError>(std::to_string(count) + " lengths for shape " + to_string(h->shape));
    for (int i = rank - count; i < rank; ++i) r.axes.push_back(i);
  } else {
    for (const int64_t a : axes) {
      const int i = t.axis(a, h);
      if (std::find(r.axes.begin(), r.axes.end(), i) != r.axes.end())
        t.fail<IndexError>("axis " + std::to_string(a) + " is named twice");
      r.axes.push_back(i);
    }
  }
  if (!s.empty() && s.size() != r.axes.size())
    t.fail<ShapeError>(std::to_string(s.size()) + " lengths for " + std::to_string(r.axes.size()) + " axes");
  for (int i = 0; i < r.axes.size(); ++i) r.lengths.push_back(s.empty() ? -1 : s[i]);
  for (const int64_t n : s)
    if (n < 1) t.length(n < 0 ? 0 : n, 0);  // throws
  return r;
}

Tensor complex_along_several(const char* name, Arg& x, const ShapeArg& s, const Axes& axes,
                             const std::string& norm, bool forward) {
  const Transforms t(name, x.site(), norm);
  Handle h = t.taken(x);
  const Several all = several(t, h, s, axes);
  h = cast(h, complex_type(h->dtype), t.site);
  for (int i = all.axes.size() - 1; i >= 0; --i) {
    const int a = static_cast<int>(all.axes[i]);
    h = t.complex(h, a, t.length(all.lengths[i], h->shape[a]), forward);
  }
  return t.tensor(h);
}

/// Transforms real numbers along the last of the axes first.
Tensor half_along_several(const char* name, Arg& x, const ShapeArg& s, const Axes& axes,
                          const std::string& norm) {
  const Transforms t(name, x.site(), norm);
  Handle h = t.taken(x);
  need_real(name, h->dtype, t.site);
  const Several all = several(t, h, s, axes);
  if (all.axes.empty()) t.fail<ShapeError>("one axis at least is needed");
  for (int i = all.axes.size() - 1; i >= 0; --i) {
    const int a = static_cast<int>(all.axes[i]);
    const int64_t n = t.length(all.lengths[i], h->shape[a]);
    h = i == all.axes.size() - 1 ? t.half(h, a, n, true) : t.complex(h, a, n, true);
  }
  return t.tensor(h);
}

/// Transforms back to real numbers along the last of the axes at last.
Tensor whole_along_several(const char* name, Arg& x, const ShapeArg& s, const Axes& axes,
                           const std::string& norm) {
  const Transforms t(name, x.site(), norm);
  Handle h = t.taken(x);
  const Several all = several(t, h, s, axes);
  if (all.axes.empty()) t.fail<ShapeError>("one axis at least is needed");
  const int last = all.axes.size() - 1;
  for (int i = 0; i < last; ++i) {
    const int a = static_cast<int>(all.axes[i]);
    h = t.complex(h, a, t.length(all.lengths[i], h->shape[a]), false);
  }
  const int a = static_cast<int>(all.axes[last]);
  return t.tensor(t.whole(
      h, a,
      length_of_whole(t, Length(all.lengths[last] < 0 ? Length() : Length(all.lengths[last])), h->shape[a]),
      false));
}

/// Returns 0, 1, ... of `count` positions, those from `wraps` on less n, times 1 / (n d).
Tensor frequencies(const char* name, IntegerArg n, int64_t count, int64_t wraps, double d, MaybeDType dtype,
                   const MaybeDevice& device, const Site& s) {
  const Recorder r{name, s};
  const DType t = dtype.or_else(get_default_dtype());
  if (!is_float(t))
    r.fail<DtypeError>(std::string("frequencies are floating-point numbers, not ") + name_of(t));
  const Handle at = arange(count, int64, device, s).handle();
  const Handle signed_at = r.where(r.op(Op::less, at, wraps), at, r.op(Op::subtract, at, n.value));
  return r.tensor(r.op(Op::divide, r.as(t, signed_at), static_cast<double>(n.value) * d));
}

void check_length(const char* name, IntegerArg n, const Site& s) {
  if (n < 1) fail<ShapeError>(name, "there is one element at least, not " + std::to_string(n.value), s);
}

Tensor shifted(const char* name, Arg& x, const Axes& axes, bool back) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  Axes by, along;
  for (const int64_t a : normal_axes(name, axes, h->shape.size(), r.site)) {
    const int64_t n = h->shape[static_cast<int>(a)];
    along.push_back(a);
    by.push_back(back ? -(n / 2) : n / 2);
  }
  if (along.empty()) return r.tensor(h);
  return roll(r.arg(h), by, along);
}

}  // namespace

Tensor fft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return complex_along("fft", x, n, axis, norm, true);
}
Tensor ifft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return complex_along("ifft", x, n, axis, norm, false);
}
Tensor rfft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return half_along("rfft", x, n, axis, norm, true);
}
Tensor irfft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return whole_along("irfft", x, n, axis, norm, false);
}
Tensor hfft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return whole_along("hfft", x, n, axis, norm, true);
}
Tensor ihfft(Arg x, Length n, IntegerArg axis, const std::string& norm) {
  return half_along("ihfft", x, n, axis, norm, false);
}

Tensor fft2(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return complex_along_several("fft2", x, s, axes, norm, true);
}
Tensor ifft2(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return complex_along_several("ifft2", x, s, axes, norm, false);
}
Tensor rfft2(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return half_along_several("rfft2", x, s, axes, norm);
}
Tensor irfft2(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return whole_along_several("irfft2", x, s, axes, norm);
}
Tensor fftn(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return complex_along_several("fftn", x, s, axes, norm, true);
}
Tensor ifftn(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return complex_along_several("ifftn", x, s, axes, norm, false);
}
Tensor rfftn(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return half_along_several("rfftn", x, s, axes, norm);
}
Tensor irfftn(Arg x, ShapeArg s, Axes axes, const std::string& norm) {
  return whole_along_several("irfftn", x, s, axes, norm);
}

Tensor fftfreq(IntegerArg n, double d, MaybeDType dtype, MaybeDevice device, Site s) {
  check_length("fftfreq", n, s);
  return frequencies("fftfreq", n, n, (n + 1) / 2, d, dtype, device, s);
}
Tensor rfftfreq(IntegerArg n, double d, MaybeDType dtype, MaybeDevice device, Site s) {
  check_length("rfftfreq", n, s);
  return frequencies("rfftfreq", n, n / 2 + 1, n / 2 + 1, d, dtype, device, s);
}
Tensor fftshift(Arg x, Axes axes) { return shifted("fftshift", x, axes, false); }
Tensor ifftshift(Arg x, Axes axes) { return shifted("ifftshift", x, axes, true); }

}  // namespace lazy::fft
