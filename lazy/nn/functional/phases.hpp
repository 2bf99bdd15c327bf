// Goes back from windows to the elements of an image: which windows have an element depends on its phase, the
// remainder of its position by the windows' stride. Elements of one phase read windows by slices, so that
// nothing is added up in memory. Internal to lazy/.
#pragma once
#include <functional>
#include <vector>

#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Says which elements of an image along one axis read which of a window: those at `phase`, phase + stride,
/// ... are the elements tap, tap + skip, ... (`taps` of them) of windows. Element phase + q stride is element
/// tap + m skip of window q + reach - m gap.
struct Phase {
  int64_t phase, tap, taps, skip, gap, count;
  Wide reach;
};
/// Holds the phases of each axis; none for an axis along which no element is in a window.
using Phases = std::vector<std::vector<Phase>>;

/// Returns the phases of an axis that are in windows: element j of the image is element k of window o if
/// o stride + k dilation - padding = j.
std::vector<Phase> phases_of(int64_t extent, int64_t length, int64_t stride, int64_t padding,
                             int64_t dilation);

/// Calls f with every combination of one phase an axis.
void each_phase(const Phases&, const std::function<void(const std::vector<Phase>&)>& f);

/// True if all elements along each of the axes from `first` on have a phase.
bool covers_all(const Phases&, const Shape& image, int first);

/// Returns `extents` elements of the axes that begin at `first`, from `from` on: what lies outside is `fill`.
Handle framed(const char* op, const Handle&, int first, const Dims& from, const Dims& extents,
              const ScalarNumber& fill, const Site&);

/// Slides windows over the axes of an image that begin at `first`.
struct SlidingWindows {
  int first;
  Dims length, stride, padding, dilation;

  int spatial() const { return length.size(); }
  /// Returns the number of elements of a window.
  int64_t taps() const;
};

/// Returns, for each element of an image, the sum over all windows that it is in of value(k, read): it is
/// element k of that window (in row-major order), and read[i] is what arrays[i] has for the window, 0 where
/// there is none. The result has the dtype `t`.
Handle summed_over_windows(const char* op, const SlidingWindows&, const std::vector<Handle>& arrays,
                           const Shape& image, DType t,
                           const std::function<Handle(int64_t k, const std::vector<Handle>& read)>& value,
                           const Site&);

}  // namespace lazy::detail
