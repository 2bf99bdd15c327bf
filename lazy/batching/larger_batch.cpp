#include "lazy/batching/larger_batch.hpp"

#include "jit/backend/registry.hpp"
#include "jit/built_in/nn/recurrent.hpp"
#include "jit/built_in/nn/varlen_attention.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/running.hpp"

namespace lazy::detail {
namespace {

using jit::calls::RecurrentAttributes;
using jit::calls::RecurrentKind;
using jit::calls::VarlenAttributes;

/// Merges samples' batches with an axis of a call, and takes them apart again.
class Merged {
 public:
  Merged(const RecordedCall& call, const std::vector<Handle>& batches, int64_t samples)
      : call_(call), batches_(batches), samples_(samples) {}

  bool is_shared(size_t operand) const { return !batches_[operand]; }
  const Handle& one(size_t operand) const { return *call_.operands[operand]; }
  /// Returns the batch of an operand.
  Handle whole(size_t i) const {
    if (batches_[i]) return batches_[i];
    Shape shape{samples_};
    for (const int64_t n : one(i)->shape) shape.push_back(n);
    return broadcast(one(i), shape, call_.site);
  }
  /// Returns the operand with all samples along an axis of it, which runs faster than that of samples.
  Handle merged(size_t i, int axis) const {
    const Handle h = permute(whole(i), order(one(i)->shape.size() + 1, axis, false), call_.site);
    Shape shape = one(i)->shape;
    shape[axis] *= samples_;
    return reshape(h, shape, call_.site);
  }
  /// Returns the batch of an output that has all samples along an axis.
  Handle apart(const Handle& h, int axis) const {
    Shape shape;
    for (int i = 0; i < h->shape.size(); ++i) {
      if (i == axis) shape.push_back(samples_);
      shape.push_back(i == axis ? h->shape[i] / samples_ : h->shape[i]);
    }
    const Handle split = reshape(h, shape, call_.site);
    return permute(split, order(split->shape.size(), axis, true), call_.site);
  }
  std::vector<Handle> record(const std::vector<Handle>& operands) const {
    return detail::record_call(call_.spec, pointers_to(operands), call_.site);
  }
  const RecordedCall& call() const { return call_; }
  size_t count() const { return call_.operands.size(); }

 private:
  /// Returns the order of axes that moves the samples' from the first place before an axis of a sample, or
  /// back.
  static Dims order(int rank, int axis, bool back) {
    Dims all;
    if (back) all.push_back(axis);
    for (int i = 0; i < rank; ++i) {
      if (back && i == axis) continue;
      if (!back && i == 0) continue;
      if (!back && i == axis + 1) all.push_back(0);
      all.push_back(i);
    }
    return all;
  }

  const RecordedCall& call_;
  const std::vector<Handle>& batches_;
  const int64_t samples_;
};

/// True for an operand of a recurrent call that has no sequences.
bool is_weight(const RecurrentAttributes& how, size_t operand) {
  return operand == 2 || (how.kind == RecurrentKind::gru && operand == 3) || (how.projected && operand == 4);
}

std::vector<Handle> recurrent(const Merged& m) {
  const auto how = m.call().spec.as<RecurrentAttributes>();
  // Sequences are the first axis of what has no steps, and else the second.
  const auto axis = [](const Handle& h) { return h->shape.size() == 3 ? 1 : 0; };
  std::vector<Handle> operands;
  for (size_t i = 0; i < m.count(); ++i) {
    if (is_weight(how, i) && !m.is_shared(i)) return {};
    operands.push_back(is_weight(how, i) ? m.one(i) : m.merged(i, axis(m.one(i))));
  }
  std::vector<Handle> outputs = m.record(operands);
  for (Handle& h : outputs) h = m.apart(h, axis(h));
  return outputs;
}

/// Returns offsets of all sequences of all samples. They end with the last row if those of each sample do:
/// what runs the call sees to that.
Handle offsets_of_all(const Merged& m, size_t operand) {
  const Site s = m.call().site;
  const Tensor lengths = diff(Arg(Tensor(m.whole(operand)), s));
  const Tensor ends = cumsum(Arg(reshape(lengths.handle(), {numel(lengths.shape(s))}, s), s));
  const Tensor start(constant(0, DType::int64, Shape{1}, ends.handle(), s));
  return concat({start, ends}, 0, s).handle();
}

/// Returns the call that attention over sequences, or its gradients, is, or that its intention stands for;
/// null for any other.
const jit::CallDefinition* attention_call(const jit::CallSpec& spec) {
  namespace c = jit::calls;
  const auto infer = spec.definition().infer;
  if (infer == c::infer_varlen_attention) return &c::kVarlenAttention;
  return infer == c::infer_varlen_attention_backward ? &c::kVarlenAttentionBackward : nullptr;
}

std::vector<Handle> attention(const Merged& m) {
  const auto how = m.call().spec.as<VarlenAttributes>();
  constexpr size_t kK = 1, kV = 2, kFactor = 3, kOffsets = 4, kKeyOffsets = 5, kExtra = 6;
  const auto table = kExtra + how.sloped, own = static_cast<size_t>(how.operands());
  const bool blocks_shared =
      m.is_shared(kK) && m.is_shared(kV) && (!how.scaled || (m.is_shared(own - 2) && m.is_shared(own - 1)));
  if (!m.is_shared(kFactor) || (how.sloped && !m.is_shared(kExtra)) || (how.paged && !blocks_shared))
    return {};
  std::vector<Handle> operands;
  for (size_t i = 0; i < m.count(); ++i) {
    const bool block = how.paged && (i == kK || i == kV || (i > table && i < own));
    if (block || i == kFactor || (how.sloped && i == kExtra)) operands.push_back(m.one(i));
    else if (i == kOffsets || (i == kKeyOffsets && !how.paged)) operands.push_back(offsets_of_all(m, i));
    else operands.push_back(m.merged(i, 0));
  }
  std::vector<Handle> outputs = m.record(operands);
  for (Handle& h : outputs) h = m.apart(h, 0);
  return outputs;
}

}  // namespace

bool stays_whole(const jit::CallSpec& spec, const Handle& operand) {
  const jit::CallDefinition* const d = attention_call(spec);
  return d && jit::runs_here(jit::backend_of(operand->device, operand->site),
                             jit::intern_call(*d, spec.as<VarlenAttributes>()));
}

std::vector<Handle> as_larger_batch(const RecordedCall& call, const std::vector<Handle>& batches,
                                    int64_t samples) {
  namespace c = jit::calls;
  const jit::CallDefinition* const d = &call.spec.definition();
  const Merged m(call, batches, samples);
  if (samples == 0) return {};
  if (d == &c::kRecurrent || d == &c::kRecurrentBackward) return recurrent(m);
  if (attention_call(call.spec)) return attention(m);
  return {};
}

}  // namespace lazy::detail
