#include "jit/built_in/compress.hpp"

#include "jit/graph/indexed.hpp"
#include "jit/graph/record.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_compress(const CallSpec&, std::span<const Meta> operands) {
  const bool fits = (operands.size() == 2 || operands.size() == 3) && is_bool(operands[0].dtype) &&
                    operands[0].shape.size() == 1 && operands[1].shape.size() == 2 &&
                    operands[1].shape[1] == 0;
  if (!fits) throw ShapeError("compress: a mask of one dimension and a count are needed");
  CallOutput out;
  out.meta = {DType::int64, {operands[1].shape[0]}};
  out.tied[0] = {1, 0};
  if (operands.size() == 2) return {out};
  const Meta& rows = operands[2];
  if (rows.shape.empty() || rows.shape[0] != operands[0].shape[0])
    throw ShapeError("compress: a row for each element of the mask is needed");
  out.meta.dtype = rows.dtype;
  for (int i = 1; i < rows.shape.size(); ++i) {
    out.meta.shape.push_back(rows.shape[i]);
    out.tied[static_cast<size_t>(i)] = {2, static_cast<int8_t>(i)};
  }
  return {out};
}

void run_compress(const CallRun& r) {
  if (!r.out[0]) return;
  const int64_t n = r.operands[0].shape[0], count = r.outputs[0].shape[0];
  size_t bytes = size_of(r.outputs[0].dtype);
  for (int i = 1; i < r.outputs[0].shape.size(); ++i) bytes *= static_cast<size_t>(r.outputs[0].shape[i]);
  int64_t k = 0;
  for (int64_t i = 0; i < n && k < count; ++i) {
    if (!r.in[0][i]) continue;
    char* const to = r.out[0] + static_cast<size_t>(k++) * bytes;
    const char* const from =
        r.operands.size() == 3 ? r.in[2] + static_cast<size_t>(i) * bytes : reinterpret_cast<const char*>(&i);
    if (bytes) std::memcpy(to, from, bytes);
  }
}

/// Expands the call: a running count says where each position goes, and rows are read at positions.
std::vector<Handle> by_running_count(const Expanding& e) {
  const std::span<const Handle* const> operands = e.operands;
  const Site& site = e.site;
  const Handle& mask = e[0];
  const Device device = mask->device;
  const Shape all = mask->shape, kept = {(*operands[1])->shape[0]};
  Shape shape = kept;
  for (int i = 1; operands.size() == 3 && i < (*operands[2])->shape.size(); ++i)
    shape.push_back((*operands[2])->shape[i]);
  const DType type = operands.size() == 3 ? (*operands[2])->dtype : DType::int64;
  if (numel(shape) == 0) return {constant(Scalar{}, type, shape, device, site)};
  const auto number = [&](int64_t v) { return constant(Scalar::of(v), DType::int64, all, device, site); };
  Handle at = record(Op::cast, {&mask}, DType::int64, all, site);
  if (all[0] > 1) at = record(Op::cumsum, {&at}, DType::int64, all, site, Attributes::along(0));
  const Handle one = number(1), none = number(-1);
  at = record(Op::subtract, {&at, &one}, DType::int64, all, site);
  at = record(Op::where, {&mask, &at, &none}, DType::int64, all, site);
  const Handle zeros = constant(Scalar{}, DType::int64, kept, device, site),
               index = transfer(iota(0, all, site), device, site);
  constexpr Bounds rule = Bounds::mask;
  const Handle positions = record(Op::scatter, {&zeros, &at, &index}, DType::int64, kept, site,
                                  Attributes::scatter(0, rule, Combine::set));
  if (operands.size() == 2) return {positions};
  Shape lead(shape.size(), 1);
  lead[0] = kept[0];
  Handle rows =
      record(Op::reshape, {&positions}, DType::int64, lead, site, {.ints = lead, .steps = {}, .axes = {}});
  rows = record(Op::broadcast, {&rows}, DType::int64, shape, site, {.ints = shape, .steps = {}, .axes = {}});
  return {record(Op::gather, {operands[2], &rows}, type, shape, site, Attributes::gather(0, rule))};
}

}  // namespace

constinit const CallDefinition kCompress{.name = "compress",
                                         .traits = call_trait::kNoThrow,
                                         .infer = infer_compress,
                                         .run = run_compress,
                                         .expand = by_running_count};

}  // namespace lazy::jit::calls
