// Says which values have a variable's gradients. Internal to lazy/.
#pragma once
#include <span>

#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"

namespace lazy::detail {

/// Holds a value as derivatives see it: itself, or the planes of a complex one.
struct Planed {
  Handle of[2];
  int count = 0;  // 0 of an empty handle

  Planed() = default;
  explicit Planed(const Handle& h) {
    if (!h) return;
    count = is_complex(h->dtype) ? 2 : 1;
    of[0] = real_part(h);
    if (count == 2) of[1] = plain_imaginary_plane(h);
  }
  std::span<const Handle> all() const { return {of, static_cast<size_t>(count)}; }
  Handle value(const Site& s) const { return count == 2 ? jit::complex(of[0], of[1], s) : of[0]; }
};

/// Returns zeros like the value.
inline Handle zeros_like(const Handle& h, const Site& s) { return constant(0, h->dtype, h->shape, h, s); }

}  // namespace lazy::detail
