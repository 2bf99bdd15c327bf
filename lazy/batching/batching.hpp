// Follows what a function records of one sample, and records the same of a batch of them. Internal to lazy/.
//
// The function is called with samples that never have a value (lazy/core/samples.hpp). Each op on what
// depends on one is recorded again, right after it, on batches: their first axis is the samples', the others
// are those of the sample. So everything that is made of ops works, derivatives among them, and gradients go
// through the batches.
#pragma once
#include <unordered_map>
#include <vector>

#include "lazy/core/record.hpp"

namespace lazy::detail {

class Batching final : public Observer {
 public:
  explicit Batching(const Site& s) : site_(s) {}

  /// Returns a sample of the batch. ShapeError if the first extent is not that of the batches before.
  Handle sample(const Handle& batch);
  /// Returns the batch of a sample; of a value that depends on none, the value for each of them.
  Handle batch(const Handle& sample);
  int64_t size() const { return size_; }  // of batches; -1: there is none yet

  void recorded(const Recorded&) override;
  void recorded_call(const RecordedCall&) override;
  void transferred(const Handle& from, const Handle& to, const Site&) override;
  bool wants_ops(const jit::CallSpec&, std::span<const Handle* const> operands) override;

 private:
  const Handle* find(const Handle& sample) const;
  bool any(std::span<const Handle* const> operands) const;
  /// Returns the batch of an operand, or the operand itself where it is the same for each sample, so that it
  /// broadcasts with those of samples of so many axes.
  Handle aligned(const Handle&, int axes, const Site&) const;
  /// Returns the batch of an operand, the same for each sample or not.
  Handle whole(const Handle&, const Site&) const;
  Shape shape_of(const Shape& sample) const;
  void keep(const Handle& sample, Handle batch);
  Handle apply(const Recorded&) const;
  Handle multiply(const Recorded&) const;
  std::vector<Handle> call(const RecordedCall&) const;

  Site site_;
  int64_t size_ = -1;
  std::unordered_map<const jit::Node*, Handle> batches_;  // by sample
  std::vector<Handle> samples_;                           // owned, so that no other node takes their address
};

}  // namespace lazy::detail
