// Lets a thread record of one sample what is recorded of many beside it (lazy/batching).
#pragma once
#include "jit/graph/record.hpp"

namespace lazy::detail {

/// Counts the scopes of this thread in which values are samples of batches. One row is multiplied as a matrix
/// there, for there will be many.
extern thread_local constinit int samples_followed;

/// Returns a value that stands for one of many and never has one of its own. It is pending, so derivations
/// are attached to it as to any other; no observer is told of it.
jit::Handle sample_of(DType, const Shape&, Device, const Site&);

/// Says what draws of random numbers are in a scope of this thread in which values are samples. They nest.
class SampleDraws {
 public:
  SampleDraws(const SampleDraws&) = delete;
  /// Returns the sample's number on a device, a sample itself (int64, no axes); null if all samples draw the
  /// same. Throws Error where a draw has to say which of both it is. `name` is the function that draws.
  virtual jit::Handle number(const char* name, Device, const Site&) = 0;
  /// Returns how many samples there are, where number() returns one.
  virtual int64_t count() const = 0;
  SampleDraws* outer() const noexcept { return outer_; }
  static SampleDraws* innermost() noexcept;

 protected:
  SampleDraws() noexcept;
  ~SampleDraws();

 private:
  SampleDraws* const outer_;
};

}  // namespace lazy::detail
