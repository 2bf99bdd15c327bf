// Refers to operands as record_call() takes them. Internal to lazy/.
#pragma once
#include <span>
#include <vector>

#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Returns pointers to the handles, which stay where they are.
inline std::vector<const Handle*> pointers_to(std::span<const Handle> all) {
  std::vector<const Handle*> p;
  p.reserve(all.size());
  for (const Handle& h : all) p.push_back(&h);
  return p;
}

}  // namespace lazy::detail
