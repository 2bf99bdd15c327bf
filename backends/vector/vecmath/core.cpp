#include "backends/vector/vecmath/core.hpp"

#include <cstddef>

namespace lazy::vecmath {

Val horner(Builder& b, Val x, std::span<const double> c, size_t begin, size_t step) {
  size_t i = begin + (c.size() - 1 - begin) / step * step;
  Val r = b.num(x, c[i]);
  while (i > begin) r = b.fma(r, x, b.num(x, c[i -= step]));
  return r;
}

Val even_odd(Builder& b, Val x, Val x2, std::span<const double> c) {
  if (c.size() < 3) return horner(b, x, c);
  Val chain[2];  // chain[i % 2] = c[i] + x2 (c[i + 2] + ...)
  for (std::size_t i = c.size(); i-- > 0;) {
    Val& p = chain[i % 2];
    p = i + 2 < c.size() ? b.fma(p, x2, b.num(x, c[i])) : b.num(x, c[i]);
  }
  return b.fma(chain[1], x, chain[0]);
}

Pair fast_two_sum(Builder& b, Val large, Val small) {
  const Val sum = b.add(large, small);
  return {sum, b.sub(small, b.sub(sum, large))};
}

Pair two_product(Builder& b, Val x, Val y) {
  const Val product = b.mul(x, y);
  return {product, b.fms(x, y, product)};
}

}  // namespace lazy::vecmath
