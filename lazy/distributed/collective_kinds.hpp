// Names what ranks do together. Internal to lazy/distributed.
#pragma once
#include <cstdint>

#include "lazy/distributed/sums/reduce_op.hpp"

namespace lazy::distributed {
namespace detail {

enum class Kind : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  barrier,
  shift,
  send,
  recv
};
inline constexpr int kKinds = 9;

/// True for a message from one rank to another, which are at it alone.
inline bool is_pair(Kind k) { return k == Kind::send || k == Kind::recv; }
inline const char* name_of(Kind k) {
  constexpr const char* kNames[kKinds] = {"all_reduce", "all_gather", "reduce_scatter",
                                          "broadcast",  "all_to_all", "barrier",
                                          "shift",      "send",       "recv"};
  const auto i = static_cast<unsigned>(k);
  return i < kKinds ? kNames[i] : "something else";
}
inline const char* name_of(ReduceOp r) {
  constexpr const char* kNames[] = {"", "sum", "mean", "min", "max", "prod"};
  const auto i = static_cast<unsigned>(r);
  return i < 6 ? kNames[i] : "something else";
}

/// Says how much of a collective a call is.
enum class Phase : uint8_t { whole, start, wait };

}  // namespace detail
}  // namespace lazy::distributed
