#include "backends/cuda/emitter/attention_module.hpp"

#include <algorithm>

#include "backends/cuda/emitter/attention_writer.hpp"
#include "backends/cuda/emitter/tiles.hpp"

namespace lazy::cuda_backend {
using jit::loop::Attention;
using jit::loop::FusedRows;
using jit::loop::LoopKernel;
using jit::loop::Stride;
namespace {

/// Fewer queries leave most of a block's tile empty; with fewer keys there is little that need not go to
/// memory.
constexpr uint64_t kFewestQueries = 16, kFewestKeys = 32;

}  // namespace

int AttentionSchedule::row_axis(size_t member) const {
  if (member == Attention::kScores) return form.scores.row_axis;
  if (member == form.last) return form.values.row_axis;
  return members[member].args.rank - 2;
}
int AttentionSchedule::key_axis(size_t member) const {
  return member == form.last ? form.values.summed_axis : members[member].args.rank - 1;
}

std::optional<AttentionSchedule> AttentionSchedule::of(const FusedRows& r, int architecture) {
  const auto form = jit::loop::attention_of(r);
  if (!form) return {};
  AttentionSchedule s;
  s.form = *form;
  int words = 0;
  for (size_t m = 0; m < r.members.size(); ++m) {
    const LoopKernel& k = r.members[m].kernel;
    s.members.push_back({k, Schedule::of(k), jit::loop::layout_of(k), words, r.members[m].inner});
    words += s.members.back().args.words();
  }
  s.args_in_memory = words > kMostWords;
  const auto is_16_bit = [](const LoopKernel& k, uint16_t operand) {
    return is_half(k.operands[operand].dtype);
  };
  s.tensor_cores = architecture >= 80 && fits_tensor_cores(s.members[0].kernel) &&
                   is_16_bit(s.members.back().kernel, form->values.right);
  for (const int columns : kAttentionColumns)
    s.functions.push_back((s.tensor_cores ? "lazy_attention_mma_" : "lazy_attention_") +
                          std::to_string(columns));
  s.text = std::string(s.tensor_cores ? "attention by tensor cores, " : "attention, ") +
           std::to_string(kAttentionQueries) + " queries a block, " + std::to_string(kAttentionKeys) +
           " keys at a time, " + std::to_string(r.members.size()) + " kernels in one" +
           (form->hidden >= 0 ? ", only keys that are seen" : "");
  return s;
}

uint64_t AttentionSchedule::queries(const uint64_t* args) const {
  uint64_t n = extent(args, 0, row_axis(0));
  for (size_t m = 1; m < members.size(); ++m) {
    // A member may have merged axes that another one has separate.
    const uint64_t rows = extent(args, m, row_axis(m));
    if (n == 0 || rows == 0) return 0;
    if (rows % n != 0 && n % rows != 0) return 0;
    n = std::min(n, rows);
  }
  return n;
}

bool AttentionSchedule::same_arguments(const uint64_t* args) const {
  const ScheduledMember &top = members[Attention::kTop], &weights = members[Attention::kWeights];
  const uint64_t *a = args + top.offset, *b = args + weights.offset;
  for (const auto& [o, p] : form.same_operands) {
    if (a[top.args.pointer(o)] != b[weights.args.pointer(p)]) return false;
    for (int axis = 0; axis < top.args.rank; ++axis) {
      const Stride s = top.kernel.operands[o].stride[axis], t = weights.kernel.operands[p].stride[axis];
      if (s != t || (s == Stride::any && a[top.args.stride(o, axis)] != b[weights.args.stride(p, axis)]))
        return false;
    }
  }
  for (const auto& [i, j] : form.same_scalars)
    if (a[top.args.scalar(i)] != b[weights.args.scalar(j)]) return false;
  return true;
}

bool AttentionSchedule::takes(const uint64_t* args) const {
  const uint64_t keys = extent(args, 0, key_axis(0));
  if (keys < kFewestKeys || keys >> 31) return false;
  for (size_t m = 0; m < members.size(); ++m) {
    if (extent(args, m, key_axis(m)) != keys) return false;
    const auto& layout = members[m].args;
    const LoopKernel& k = members[m].kernel;
    // Rows are passed on complete: none is read from further on, or in another order.
    for (size_t o = 0; o < k.operands.size(); ++o) {
      if (members[m].inner[o] < 0) continue;
      const int operand = static_cast<int>(o), axis = key_axis(m);
      const uint64_t* words = args + members[m].offset;
      if (words[layout.pointer(operand)] != 0) return false;
      if (k.operands[o].stride[axis] == Stride::any &&
          words[layout.stride(operand, axis)] != size_of(k.operands[o].dtype))
        return false;
    }
  }
  if (!same_arguments(args)) return false;
  return queries(args) >= kFewestQueries && rows(args) >> 31 == 0 &&
         extent(args, form.last, form.values.column_axis) > 0 &&
         widest(args) <= static_cast<uint64_t>(*(std::end(kAttentionColumns) - 1));
}

uint64_t AttentionSchedule::widest(const uint64_t* args) const {
  const uint64_t columns = extent(args, form.last, form.values.column_axis);
  return tensor_cores ? std::max(columns, extent(args, 0, form.scores.summed_axis)) : columns;
}

uint64_t AttentionSchedule::rows(const uint64_t* args) const {
  uint64_t n = 1;
  for (int a = 0; a < members[0].args.rank; ++a)
    if (a != form.scores.summed_axis && a != form.scores.column_axis) n *= extent(args, 0, a);
  return n;
}

bool AttentionSchedule::is_wide(const uint64_t* args, size_t member, int operand, int packed) const {
  const ScheduledMember& m = members[member];
  return lies_in_vectors(args + m.offset, m.args, m.kernel.operands, operand, packed);
}

Launch AttentionSchedule::plan(uint64_t* args) const {
  const uint64_t n = queries(args);
  uint64_t wide = 0;
  if (tensor_cores)
    wide = uint64_t{is_wide(args, 0, form.scores.left, form.scores.summed_axis)} |
           uint64_t{is_wide(args, 0, form.scores.right, form.scores.summed_axis)} << 1 |
           uint64_t{is_wide(args, form.last, form.values.right, form.values.column_axis)} << 2;
  args[jit::loop::ArgLayout::kPlanned] = n | wide << 32;
  const uint64_t columns = widest(args);
  uint16_t function = 0;
  while (static_cast<uint64_t>(kAttentionColumns[function]) < columns) ++function;
  const uint64_t blocks = rows(args) / n * ((n + kAttentionQueries - 1) / kAttentionQueries);
  return {function, kAttentionThreads, static_cast<uint32_t>(blocks), 0};
}

}  // namespace lazy::cuda_backend
