// Rebuilds captured graphs from keys. A key omits what a program does not depend on, or has guards for:
// extents, positions, layouts. One instance of these is stored with a program on disk. Key and instance
// make a captured graph like the one that the program was compiled for, so that it can be compiled
// again.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns, as bytes, what the captured graph has that its key omits, except the values of constants.
std::string instance_of(const CapturedGraph&);

/// Holds a captured graph of nodes without values.
class RebuiltFrame {
 public:
  /// Makes one of a key and an instance. Returns null, with a reason, unless they describe a graph that could
  /// be recorded. Constants are zero, or have the values in the program's guards.
  static std::unique_ptr<RebuiltFrame> make(std::span<const uint32_t> key, std::string_view instance,
                                            const Program&, std::string& why);
  const CapturedGraph& captured() const { return captured_; }

 private:
  class Reader;
  std::deque<Node> nodes_;
  CapturedGraph captured_;
};

}  // namespace lazy::jit
