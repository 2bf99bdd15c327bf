// Lists the library's own calls, which have a file each beside this one.
#pragma once
#include "jit/calls/cholesky.hpp"
#include "jit/calls/compress.hpp"
#include "jit/calls/concat.hpp"
#include "jit/calls/select.hpp"
#include "jit/calls/sort.hpp"

namespace lazy::jit {

inline constexpr const CallDefinition* kBuiltInCalls[] = {&calls::kSort, &calls::kSelect, &calls::kConcat,
                                                          &calls::kCholesky, &calls::kCompress};

}  // namespace lazy::jit
