#include "jit/built_in/concat.hpp"

#include "jit/graph/record.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_concat(const CallSpec& spec, std::span<const Meta> operands) {
  const int axis = spec.as<ConcatAttributes>().axis;
  if (operands.empty() || axis >= operands[0].shape.size())
    throw ShapeError("concat: operands with the axis are needed");
  CallOutput out = CallOutput::like(0, operands[0], operands[0].dtype);
  out.tied[static_cast<size_t>(axis)] = {};
  for (size_t o = 1; o < operands.size(); ++o) {
    const Meta& m = operands[o];
    if (m.dtype != operands[0].dtype) throw DtypeError("concat: operands of several dtypes");
    bool fits = m.shape.size() == out.meta.shape.size();
    for (int i = 0; fits && i < m.shape.size(); ++i) fits = i == axis || m.shape[i] == out.meta.shape[i];
    if (!fits || __builtin_add_overflow(out.meta.shape[axis], m.shape[axis], &out.meta.shape[axis]))
      throw ShapeError("concat: shapes that don't fit each other");
  }
  return {out};
}

void run_concat(const CallRun& r) {
  const int axis = r.spec.as<ConcatAttributes>().axis;
  const int64_t whole = run_bytes(r.outputs[0], axis);
  int64_t at = 0;
  for (size_t o = 0; r.out[0] && o < r.operands.size(); ++o) {
    const int64_t part = run_bytes(r.operands[o], axis);
    int64_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= r.operands[o].shape[i];
    for (int64_t i = 0; part && i < outer; ++i)
      std::memcpy(r.out[0] + i * whole + at, r.in[o] + i * part, static_cast<size_t>(part));
    at += part;
  }
}

/// Expands the call: regions of the result are replaced by the operands in turn.
std::vector<Handle> in_regions(const Expanding& e) {
  const int axis = e.spec.as<ConcatAttributes>().axis;
  std::vector<Meta> metas;
  for (const Handle* o : e.operands) metas.push_back({(*o)->dtype, (*o)->shape});
  const Meta out = infer_concat(e.spec, metas)[0].meta;
  Handle all = overwritten(out.dtype, out.shape, e[0]->device, e.site);
  Attributes at{Dims(out.shape.size(), 0), Dims(out.shape.size(), 1), {}};
  for (const Handle* o : e.operands) {
    if (numel((*o)->shape) > 0) all = record(Op::slice_update, {&all, o}, out.dtype, out.shape, e.site, at);
    at.ints[axis] += (*o)->shape[axis];
  }
  return {all};
}

std::string describe_concat(std::string_view attributes) {
  return attributes.empty() ? "" : "axis=" + std::to_string(static_cast<uint8_t>(attributes[0]));
}

}  // namespace

int64_t run_bytes(const Meta& m, int axis) {
  auto bytes = static_cast<int64_t>(size_of(m.dtype));
  for (int i = axis; i < m.shape.size(); ++i) bytes *= m.shape[i];
  return bytes;
}

constinit const CallDefinition kConcat{.name = "concat",
                                       .traits = call_trait::kNoThrow,
                                       .infer = infer_concat,
                                       .run = run_concat,
                                       .expand = in_regions,
                                       .describe = describe_concat};

}  // namespace lazy::jit::calls
