#include "lazy/core/index.hpp"

#include "lazy/core/build.hpp"

namespace lazy {

void Index::throw_above(uint64_t i, const Site& s) {
  detail::fail<IndexError>("index", std::to_string(i) + " is out of range for any axis", s);
}

}  // namespace lazy
