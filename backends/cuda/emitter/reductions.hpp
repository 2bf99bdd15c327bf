// Writes accumulators as text: declared, fed, combined.
// Invariant: their order is that of jit::loop::Reduction.
#pragma once
#include <string>

#include "backends/cuda/emitter/prelude.hpp"
#include "backends/cuda/emitter/text.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// A block of the function that combines blocks' results has so many threads: a warp has one result.
inline constexpr uint32_t kCombineThreads = 256;

/// Give the threads of a block of the function that passes values through shared memory, and how many values
/// each of them loads at once; 0 where shared memory is too small, so that there is no such function.
inline constexpr int kStagedThreads = 256;
int staged_loads(const jit::loop::LoopKernel&);

/// A thread alone takes care of so many elements of a row.
inline constexpr int kShortRow = 8;

bool is_position(const jit::loop::Reduction&);  // argmax, argmin
bool is_ordered(const jit::loop::Reduction&);   // true if another order may give other bits
/// Returns how many partial accumulators a lane of a row's warp has: element r belongs to lane r mod 32.
/// Where the order does not show (all but float sums and products) one is enough.
int partials_of_lane(const jit::loop::Reduction&);
/// Returns how many 8-byte members one result of a block has in scratch memory.
int members_of_part(const jit::loop::Reduction&);

/// Holds the accumulators of a kernel: one a reduction, or the sum of a contraction.
class Reductions {
 public:
  Reductions(const jit::loop::LoopKernel& k, Prelude& prelude) : k_(k), prelude_(prelude) {}

  size_t size() const { return contracts() ? 1 : k_.reductions.size(); }
  /// Returns a name such as "sum0".
  std::string name(size_t j) const;
  /// Returns the type of an accumulator: "float", "Best<float>".
  std::string type(size_t j) const;
  /// Returns what it starts from.
  std::string start(size_t j) const;
  /// Writes the addition of a value; `at` is the index along the sequential axis, counted from the box's
  /// first. Indices have to ascend.
  void add(Text&, size_t j, const std::string& accumulator, const std::string& value, const std::string& at);
  /// Writes the addition of a contraction's next product to its sum.
  void add_product(Text&, const std::string& sum, const std::string& left, const std::string& right);
  /// Writes accumulator = accumulator op other, where `other` is the later part.
  void combine(Text&, size_t j, const std::string& accumulator, const std::string& other);
  /// Return expressions: the accumulator of the lane `distance` further on; that of lane `lane`.
  std::string from_further(size_t j, const std::string& accumulator, const std::string& distance);
  std::string from_lane(size_t j, const std::string& accumulator, const std::string& lane);
  /// Returns what the epilogue sees; `empty` is an expression that is true if the axis has no index.
  std::string result(size_t j, const std::string& accumulator, const std::string& empty) const;

 private:
  bool contracts() const { return k_.form == jit::loop::Form::contract; }

  const jit::loop::LoopKernel& k_;
  Prelude& prelude_;
};

}  // namespace lazy::cuda_backend
