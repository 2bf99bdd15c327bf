#include "jit/core/shape.hpp"

#include "support/error.hpp"

namespace lazy {

void Dims::too_many(size_t n) {
  throw ShapeError("a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
                   std::to_string(n));
}

std::string to_string(const Dims& s) {
  std::string r = "[";
  for (int i = 0; i < s.size(); ++i) r += (i ? ", " : "") + std::to_string(s[i]);
  return r + "]";
}

Dims contiguous_strides(const Shape& s) {
  Dims r(s.size(), 1);
  for (int i = s.size() - 2; i >= 0; --i)  // strides of an empty constant may wrap: nobody reads through them
    r[i] = static_cast<int64_t>(static_cast<uint64_t>(r[i + 1]) *
                                static_cast<uint64_t>(std::max<int64_t>(s[i + 1], 1)));
  return r;
}

}  // namespace lazy
