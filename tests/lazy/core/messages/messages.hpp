// Calls functions wrongly: each has to throw an error that says which function was called, and where.
#pragma once
#include "tests/common/check.hpp"
#include "tests/common/names_itself.hpp"

using namespace lazy;

#define NAMES(function, ...) \
  names_itself(              \
      #function, #function, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)
// Some that only fill in arguments use the name of what they call.
#define CALLS(function, name, ...) \
  names_itself(                    \
      #function, #name, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)
#define SAYS(name, ...) \
  names_itself(         \
      #name, #name, [&] { (void)(__VA_ARGS__); }, __LINE__)
#define SPELLED(name, ...) \
  names_itself(            \
      name, name, [&] { (void)(__VA_ARGS__); }, __LINE__)

namespace {

const Tensor nothing;
/// Holds operands that don't fit: uint64 and int64 have no common dtype, and [5] does not broadcast to [2,
/// 3].
struct Operands {
  Tensor x = ones({2, 3}), five = ones({5}), i = ones({2, 3}, int64), u = ones({2, 3}, uint64), b = x > 0;
};

}  // namespace
