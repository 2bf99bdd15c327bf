// Programs built again from their keys. A key leaves open what a program does not depend on, or has guards
// for: extents, positions, layouts. One instance of these is kept with a program on disk. Key and instance
// make a captured graph like the one that it was compiled for, so the compiler can be asked what it should
// be.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns, as bytes, what the captured graph has that its key leaves open, but for the values of constants.
std::string instance_of(const CapturedGraph&);

/// A captured graph of nodes without values.
class RebuiltFrame {
 public:
  /// Makes one of a key and an instance. Returns null, with a reason, unless they are of a graph that can be
  /// recorded. Constants are zero, or what the program's guards say.
  static std::unique_ptr<RebuiltFrame> make(std::span<const uint32_t> key, std::string_view instance,
                                            const Program&, std::string& why);
  const CapturedGraph& captured() const { return captured_; }

 private:
  class Reader;
  std::deque<Node> nodes_;
  CapturedGraph captured_;
};

}  // namespace lazy::jit
