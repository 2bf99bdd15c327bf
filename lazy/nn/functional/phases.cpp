#include "lazy/nn/functional/phases.hpp"

#include <algorithm>
#include <numeric>

namespace lazy::detail {
namespace {

/// Returns the remainder of a division that rounds down.
int64_t modulo(Wide a, int64_t n) {
  const auto r = static_cast<int64_t>(a % n);
  return r < 0 ? r + n : r;
}

}  // namespace

std::vector<Phase> phases_of(int64_t extent, int64_t length, int64_t stride, int64_t padding,
                             int64_t dilation) {
  std::vector<Phase> all;
  const int64_t common = std::gcd(stride, dilation), skip = stride / common;
  for (int64_t k = 0; k < std::min(length, skip); ++k) {
    const Wide at = Wide(k) * dilation - padding;
    const int64_t phase = modulo(at, stride);
    if (phase >= extent) continue;
    all.push_back({phase, k, (length - k - 1) / skip + 1, skip, dilation / common,
                   (extent - phase - 1) / stride + 1, (Wide(phase) - at) / stride});
  }
  return all;
}

void each_phase(const Phases& axes, const std::function<void(const std::vector<Phase>&)>& f) {
  for (const auto& a : axes)
    if (a.empty()) return;
  std::vector<size_t> at(axes.size(), 0);
  for (;;) {
    std::vector<Phase> now;
    for (size_t i = 0; i < axes.size(); ++i) now.push_back(axes[i][at[i]]);
    f(now);
    size_t i = axes.size();
    while (i > 0 && ++at[i - 1] == axes[i - 1].size()) at[--i] = 0;
    if (i == 0) return;
  }
}

bool covers_all(const Phases& axes, const Shape& image, int first) {
  for (size_t i = 0; i < axes.size(); ++i) {
    Wide n = 0;
    for (const Phase& p : axes[i]) n += p.count;
    if (n != image[first + static_cast<int>(i)]) return false;
  }
  return true;
}

Handle framed(const char* op, const Handle& image, int first, const Dims& from, const Dims& extents,
              const ScalarNumber& fill, const Site& s) {
  const int rank = image->shape.size();
  Dims start(rank, 0), at(rank, 0);
  const Dims ones(rank, 1);
  Shape part = image->shape, result = image->shape;
  for (int i = 0; i < from.size(); ++i) {
    const int a = first + i;
    start[a] = std::clamp<int64_t>(from[i], 0, image->shape[a]);
    at[a] = start[a] - from[i];
    part[a] = static_cast<int64_t>(std::clamp<Wide>(Wide(from[i]) + extents[i], start[a], image->shape[a])) -
              start[a];
    result[a] = extents[i];
  }
  check_countable(op, result, s);
  const bool empty = numel(part) == 0;
  const Handle inner = empty ? image : detail::slice(image, start, ones, part, s);
  if (part == result) return empty ? constant(fill, image->dtype, result, image, s) : inner;
  const Handle around = constant(fill, image->dtype, result, image, s);
  return empty ? around : slice_update(op, around, inner, at, ones, s);
}

int64_t SlidingWindows::taps() const {
  int64_t n = 1;
  for (const int64_t l : length) n *= l;
  return n;
}

namespace {

/// Reads arrays by window, with frames of zeros as wide as any phase needs.
class Reader {
 public:
  Reader(const char* op, const SlidingWindows& w, const Phases& phases, const std::vector<Handle>& arrays,
         const Site& s)
      : windows_(w), site_(s), low_(w.spatial(), 0) {
    Dims extents;
    for (int i = 0; i < w.spatial(); ++i) {
      Wide low = 0, high = 1;
      bool any = false;
      for (const Phase& p : phases[static_cast<size_t>(i)]) {
        const Wide lowest = p.reach - Wide(p.taps - 1) * p.gap;
        low = any ? std::min(low, lowest) : lowest;
        high = any ? std::max(high, p.reach + p.count) : p.reach + p.count;
        any = true;
      }
      low_[i] = narrow(op, "a position of", low, s);
      extents.push_back(narrow(op, "an extent of", high - low, s));
    }
    for (const Handle& h : arrays)
      framed_.push_back(framed(op, h, w.first, low_, extents, ScalarNumber(0), s));
  }
  /// Returns what each array has for element m[i] of each phase.
  std::vector<Handle> read(const std::vector<Phase>& phases, const Dims& m) const {
    std::vector<Handle> all;
    for (const Handle& h : framed_) {
      Dims start(h->shape.size(), 0);
      Shape shape = h->shape;
      for (int i = 0; i < windows_.spatial(); ++i) {
        const Phase& p = phases[static_cast<size_t>(i)];
        start[windows_.first + i] = static_cast<int64_t>(p.reach - Wide(m[i]) * p.gap - low_[i]);
        shape[windows_.first + i] = p.count;
      }
      all.push_back(detail::slice(h, start, Dims(shape.size(), 1), shape, site_));
    }
    return all;
  }

 private:
  const SlidingWindows& windows_;
  Site site_;
  Dims low_;  // the first window that is read, by axis
  std::vector<Handle> framed_;
};

}  // namespace

Handle summed_over_windows(const char* op, const SlidingWindows& w, const std::vector<Handle>& arrays,
                           const Shape& image, DType t,
                           const std::function<Handle(int64_t k, const std::vector<Handle>& read)>& value,
                           const Site& s) {
  const int n = w.spatial(), rank = image.size();
  const auto zeros = [&] { return constant(ScalarNumber(0), t, image, arrays[0], s); };
  if (numel(image) == 0 || numel(arrays[0]->shape) == 0) return zeros();
  Phases phases;
  for (int i = 0; i < n; ++i)
    phases.push_back(phases_of(image[w.first + i], w.length[i], w.stride[i], w.padding[i], w.dilation[i]));
  for (const auto& axis : phases)
    if (axis.empty()) return zeros();
  const Reader reader(op, w, phases, arrays, s);
  Handle all = covers_all(phases, image, w.first) ? overwritten(t, image, arrays[0]->device, s) : zeros();
  each_phase(phases, [&](const std::vector<Phase>& now) {
    Dims m(n, 0), at(rank, 0), apart(rank, 1);
    for (int i = 0; i < n; ++i) {
      const Phase& p = now[static_cast<size_t>(i)];
      m[i] = p.taps - 1;
      at[w.first + i] = p.phase;
      if (p.count > 1) apart[w.first + i] = w.stride[i];
    }
    Handle sum;
    for (int i = n - 1;;) {  // windows in ascending order
      int64_t k = 0;
      for (int a = 0; a < n; ++a) {
        const Phase& p = now[static_cast<size_t>(a)];
        k = k * w.length[a] + p.tap + m[a] * p.skip;
      }
      const Handle one = value(k, reader.read(now, m));
      sum = sum ? binary(op, Op::add, sum, one, s) : one;
      for (i = n - 1; i >= 0 && --m[i] < 0; --i) m[i] = now[static_cast<size_t>(i)].taps - 1;
      if (i < 0) break;
    }
    all = sum->shape == image ? sum : slice_update(op, all, sum, at, apart, s);
  });
  return all;
}

}  // namespace lazy::detail
