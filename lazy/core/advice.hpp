// Tells of what is allowed and seldom meant: once for each line of the user's, on standard error. Internal to
// lazy/.
#pragma once
#include <string>

#include "jit/graph/node.hpp"
#include "support/first_time.hpp"

namespace lazy::detail {

/// Writes, once is_first_time() was true, "name at main.cpp:12 what".
void advise(const char* name, const Site&, const std::string& what);

void advise_of_widening(const char* name, const Site&);
/// Tells if float64 data make a product with a float32 parameter one of float64. `w`: any operand that
/// gradients go through.
inline void tell_of_widening(const char* name, const jit::Handle& x, const jit::Handle& w, const Site& s) {
  if (x && w && x->dtype == DType::float64 && w->dtype == DType::float32 && w->attachment) [[unlikely]]
    advise_of_widening(name, s);
}

}  // namespace lazy::detail
