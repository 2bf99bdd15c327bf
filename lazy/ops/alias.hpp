// Defines functions that are others by another name: NumPy's and torch's. Errors name what was called.
#pragma once
#include <utility>

#include "lazy/core/spelled.hpp"
#include "lazy/core/tensor.hpp"

#define LAZY_ALIAS1(alias, name)             \
  inline Tensor alias(Arg x) {               \
    const detail::Spelled as(#name, #alias); \
    return name(std::move(x));               \
  }
#define LAZY_ALIAS2(alias, name)             \
  inline Tensor alias(Arg a, Arg b) {        \
    const detail::Spelled as(#name, #alias); \
    return name(std::move(a), std::move(b)); \
  }
