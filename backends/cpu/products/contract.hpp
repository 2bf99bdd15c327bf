// Launches contractions: decides how much of the sides is copied into better order, and which thread computes
// which block.
// Invariant: the order of every sum is that of the kernel, whatever is decided here.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/products/product.hpp"

namespace lazy::cpu_backend {

class Contraction {
 public:
  Contraction(const jit::loop::LoopKernel& k, const ContractionForm& f) : product_(k, f) {}
  /// Returns where the operand's elements are in the source of `copy`, which would be launched with
  /// `copy_args` but is not; null if run() could not read it there.
  std::unique_ptr<FoldedPlaces> fold(const Partition&, const uint64_t* args, int operand,
                                     const Partition& copy, const uint64_t* copy_args) const;
  /// Runs the launch on at most so many threads; `folded` are what fold() has returned.
  void run(const Partition&, Partition::Entry, uint64_t* args, int threads,
           std::span<const std::unique_ptr<jit::FoldedOperand>> folded = {}) const;
  /// Returns the bytes of the right side as a launch would pack it, 0 if it would not; appends what says in
  /// which order. See jit::Kernel::packing().
  size_t packing(const Partition&, const uint64_t* args, std::vector<uint64_t>& form) const;
  /// Packs all of the right side, for launches whose word kPacked says where it is.
  void pack(const Partition&, const uint64_t* args, char* to, int threads) const;

 private:
  Product product_;
};

}  // namespace lazy::cpu_backend
