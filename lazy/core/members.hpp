// Implements a row of tensor_members.def. Internal to lazy/.
#pragma once
#include <string_view>
#include <utility>

#include "lazy/core/tensor.hpp"

// A member of a temporary moves its value into the Arg, so each has two forms.
#define LAZY_DEFINE_MEMBER(result, name, function, site, parameters, ...)                    \
  result Tensor::name parameters const& {                                                    \
    const detail::SpelledIfOther<std::string_view(#function) != #name> as(#function, #name); \
    return lazy::function(Arg(*this, site) __VA_OPT__(, ) __VA_ARGS__);                      \
  }                                                                                          \
  result Tensor::name parameters&& {                                                         \
    const detail::SpelledIfOther<std::string_view(#function) != #name> as(#function, #name); \
    return lazy::function(Arg(std::move(*this), site) __VA_OPT__(, ) __VA_ARGS__);           \
  }
