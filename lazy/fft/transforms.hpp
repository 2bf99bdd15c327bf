// Records transforms of handles along one axis, for the functions of this room. Internal to lazy/.
#pragma once
#include <string>

#include "lazy/core/planes.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

/// Records the transforms of one function of the user's.
class Transforms : public Recorder {
 public:
  Transforms(const char* name, const Site& s, const std::string& norm);

  /// Returns x in the dtype that its transform has planes of: a real one real, of integers the default dtype.
  Handle taken(Arg& x) const;
  /// Returns the length that is transformed: what is given, or the extent. ShapeError below 1.
  int64_t length(int64_t given, int64_t extent) const;
  /// Cuts the axis, or fills it with zeros.
  Handle resized(const Handle& x, int axis, int64_t n) const;

  /// Transforms along an axis of n elements, forward or back; a factor as `norm` says.
  Handle complex(const Handle& x, int axis, int64_t n, bool forward) const;
  /// Transforms real numbers to n / 2 + 1 complex ones; back if the conjugate is asked for.
  Handle half(const Handle& x, int axis, int64_t n, bool forward) const;
  /// Transforms n / 2 + 1 complex numbers to n real ones.
  Handle whole(const Handle& x, int axis, int64_t n, bool forward) const;

 private:
  enum class Norm : uint8_t { backward, ortho, forward };
  /// Multiplies by the factor of a transform.
  Handle scaled(const Handle& x, int64_t n, bool forward) const;
  Norm norm_;
};

}  // namespace lazy::detail
