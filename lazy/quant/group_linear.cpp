#include "lazy/quant/group_linear.hpp"

#include "jit/built_in/nn/group_dots.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/quant/halves.hpp"

namespace lazy::quant::detail {
namespace {

using namespace lazy::detail;
using jit::calls::GroupDotsAttributes;

constexpr const char* kName = "group_linear";
// A product of what is written out is faster for more rows.
constexpr int64_t kFewRows = 40, kFewRowsOfBytes = 192, kFewRowsOfChannels = 24, kFewRowsOfSums = 4;
enum Operands : size_t { kX, kIntegers, kScales, kZeros };

Scheme scheme_of(const GroupDotsAttributes& a, bool affine) {
  return {.bits = a.bits,
          .is_signed = a.bits == 8,
          .symmetric = !affine,
          .granularity = Granularity::group,
          .group = a.group};
}

/// Returns the matrix (n, k) that the integers stand for.
Handle written_out(const jit::CallSpec& spec, std::span<const Handle* const> operands, const Site& s) {
  const auto a = spec.as<GroupDotsAttributes>();
  const bool affine = operands.size() > kZeros;
  const Tensor q(*operands[kIntegers]);
  const Affine affine_map{Tensor(*operands[kScales]), affine ? Tensor(*operands[kZeros]) : Tensor()};
  return dequantize(a.bits == 4 ? unpack_4(q, s) : q, affine_map, scheme_of(a, affine), s).handle();
}

/// Returns it as the backend writes it out best.
Handle matrix_of(const jit::Expanding& e) {
  const jit::CallSpec& numbers =
      jit::intern_call(jit::calls::kGroupNumbers, e.spec.as<GroupDotsAttributes>());
  if (runs_here(e.backend, numbers))
    return lazy::detail::record_call(numbers, e.operands.subspan(kIntegers), e.site)[0];
  return written_out(e.spec, e.operands, e.site);
}

/// Returns the product as sums of half a block each, which read the integers where they lie, and the sums of
/// those. What is computed is not reshaped before it is summed, and each row has sums of its own, so that one
/// kernel reads the weights once and they are nowhere written out.
Handle as_sums(const jit::Expanding& e) {
  const auto a = e.spec.as<GroupDotsAttributes>();
  const bool affine = e.operands.size() > kZeros;
  const Recorder r{kName, e.site};
  const int64_t rows = e[kX]->shape[0], n = e[kScales]->shape[0], groups = e[kScales]->shape[1],
                half = jit::calls::kGroupDotsBlock / 2, together = a.bits == 4 ? 2 : 1,
                blocks = a.group / (together * half);
  const Handle x = r.reshape(r.as(float32, e[kX]), {rows, groups, blocks, together, half});
  const Handle bytes = r.reshape(e[kIntegers], {n, groups, blocks, 1, half});
  const Handle q = a.bits == 4 ? halves_of(r, bytes) : bytes;
  const Shape beside{n, groups, 1, 1, 1};
  Handle w = r.as(float32, q);
  if (affine) w = r.op(Op::subtract, w, r.reshape(e[kZeros], beside));
  else if (a.bits == 4) w = r.op(Op::subtract, w, lazy::ScalarNumber(8.0));
  w = r.op(Op::multiply, w, r.reshape(e[kScales], beside));
  std::vector<Tensor> sums;
  for (int64_t i = 0; i < rows; ++i) {
    const Handle parts = r.reduce(Op::sum, r.op(Op::multiply, r.part(x, 0, i, 1), w), {4});
    sums.push_back(r.tensor(r.reduce(Op::sum, r.reshape(parts, {n, groups * blocks * together}), {1})));
  }
  return stack(sums, 0, e.site).handle();
}

std::vector<Handle> expand_group_linear(const jit::Expanding& e) {
  const jit::CallSpec& dots = jit::intern_call(jit::calls::kGroupDots, e.spec.as<GroupDotsAttributes>());
  const int64_t few = e[kX]->dtype == float32 ? kFewRows : kFewRowsOfBytes;
  if (e[kX]->shape[0] <= few && runs_here(e.backend, dots))
    return lazy::detail::record_call(dots, e.operands, e.site);
  if (e[kX]->shape[0] <= kFewRowsOfSums) return {as_sums(e)};
  const Handle w = matrix_of(e), x = lazy::detail::cast(e[kX], float32, e.site);
  return {lazy::detail::matmul(kName, x, matrix_transpose(w, e.site), e.site)};
}

std::vector<Handle> group_linear_gradients(const jit::CallGradients& d) {
  std::vector<Handle> all(d.operands.size());
  const std::vector<const Handle*> operands = pointers_to(d.operands);
  if (d.wants(kX))
    all[kX] = lazy::detail::matmul(kName, d.gradients[0], written_out(d.spec, operands, d.site), d.site);
  return all;
}

constinit const jit::CallDefinition kGroupLinear{
    .name = kName,
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec& spec,
                std::span<const jit::Meta> o) { return jit::calls::kGroupDots.infer(spec, o); },
    .expand = expand_group_linear,
    .vjp = group_linear_gradients,
    .describe = [](std::string_view attributes) { return jit::calls::kGroupDots.describe(attributes); }};

constexpr const char* kChannelName = "channel_linear";

/// Returns the longest groups that a row of `depth` numbers is made of; 0 if there are none.
int32_t longest_group(int64_t depth) {
  constexpr int64_t kMost = 4096;
  const int64_t power = std::min(depth & -depth, kMost);
  return power < jit::calls::kGroupDotsBlock ? 0 : static_cast<int32_t>(power);
}

/// Returns the product by the integers as they are, which the backend reads as it reads any small ones.
Handle by_integers(const Handle& x, const Handle& q, bool transposed, const Site& s) {
  const Handle w = lazy::detail::cast(q, float32, s);
  return lazy::detail::matmul(kChannelName, x, transposed ? matrix_transpose(w, s) : w, s);
}

std::vector<Handle> expand_channel_linear(const jit::Expanding& e) {
  const Recorder r{kChannelName, e.site};
  const int64_t rows = e[kX]->shape[0], n = e[kIntegers]->shape[0], depth = e[kIntegers]->shape[1];
  const int32_t group = longest_group(depth);
  if (rows <= kFewRowsOfChannels && group > 0) {
    const jit::CallSpec& dots = jit::intern_call(jit::calls::kGroupDots, GroupDotsAttributes{8, group});
    if (runs_here(e.backend, dots)) {
      const Handle scales = r.broadcast(r.reshape(e[kScales], {n, 1}), {n, depth / group});
      return lazy::detail::record_call(dots, pointers_to(std::vector{e[kX], e[kIntegers], scales}), e.site);
    }
  }
  return {r.op(Op::multiply, by_integers(e[kX], e[kIntegers], true, e.site), e[kScales])};
}

std::vector<Handle> channel_linear_gradients(const jit::CallGradients& d) {
  std::vector<Handle> all(d.operands.size());
  const Recorder r{kChannelName, d.site};
  if (d.wants(kX))
    all[kX] = by_integers(r.op(Op::multiply, d.gradients[0], d.operands[kScales]), d.operands[kIntegers],
                          false, d.site);
  return all;
}

constinit const jit::CallDefinition kChannelLinear{
    .name = kChannelName,
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
      return {{{float32, {o[kX].shape[0], o[kIntegers].shape[0]}}, {}}};
    },
    .expand = expand_channel_linear,
    .vjp = channel_linear_gradients};

}  // namespace

Tensor channel_linear(const Tensor& x, const Tensor& q, const Tensor& scale, const Site& s) {
  const std::vector<Handle> all{x.handle(), q.handle(), scale.handle()};
  return Tensor(lazy::detail::record_call(jit::intern_call(kChannelLinear, std::string_view()),
                                          pointers_to(all), s)[0]);
}

Tensor group_linear(const Tensor& x, const Tensor& q, const Affine& a, const Scheme& how, const Site& s) {
  const GroupDotsAttributes attributes{how.is_signed ? 8 : 4, static_cast<int32_t>(how.group)};
  const Recorder r{kName, s};
  const auto operand = [&](const Tensor& t) { return Operand(kName, Arg(t, s)).take(); };
  std::vector<Handle> all{operand(x), operand(q), operand(a.scale)};
  const int64_t depth = all[kScales]->shape[1] * how.group, given = all[kX]->shape[1];
  if (given != depth)
    all[kX] = r.replaced(r.filled(0, all[kX]->dtype, {all[kX]->shape[0], depth}, all[kX]), all[kX], 1, 0);
  if (a.zero_point.defined()) all.push_back(r.as(float32, operand(a.zero_point)));
  return r.tensor(
      lazy::detail::record_call(jit::intern_call(kGroupLinear, attributes), pointers_to(all), s)[0]);
}

}  // namespace lazy::quant::detail
