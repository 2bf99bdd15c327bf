#include "lazy/quant/export.hpp"

#include "lazy/core/operands.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::quant::detail {
namespace {

using namespace lazy::detail;

thread_local constinit int scopes = 0;

/// Returns one number for each index of axis 0 as beside all of a value.
Handle beside(const Recorder& r, const Handle& h, const Handle& all) {
  if (h->shape.empty()) return h;
  Shape shape(all->shape.size(), 1);
  shape[0] = h->shape[0];
  return r.reshape(h, shape);
}

std::vector<Handle> expand_quantize(const jit::Expanding& e) {
  const Recorder r{"quantize", e.site};
  Handle q = r.op(Op::round, r.op(Op::divide, e[0], e[1]));
  if (e.operands.size() > 2) q = r.op(Op::add, q, r.as(q->dtype, e[2]));
  const DType t = e.operands.size() > 2 ? e[2]->dtype : int8;
  const double lowest = t == int8 ? -128 : 0;
  return {r.as(t, r.op(Op::minimum, r.op(Op::maximum, q, lowest), lowest + 255))};
}
std::vector<Handle> expand_dequantize(const jit::Expanding& e) {
  const Recorder r{"dequantize", e.site};
  const DType t = e[1]->dtype;
  Handle x = r.as(t, e[0]);
  if (e.operands.size() > 2) x = r.op(Op::subtract, x, r.as(t, beside(r, e[2], x)));
  return {r.op(Op::multiply, x, beside(r, e[1], x))};
}

/// Records a node with or without zero points.
Tensor recorded(const jit::CallDefinition& of, const Tensor& x, const Tensor& scale, const Tensor& zero,
                const Site& s) {
  const Handle* const all[] = {&x.handle(), &scale.handle(), &zero.handle()};
  const std::span operands = std::span(all).first(zero.defined() ? 3 : 2);
  return Tensor(lazy::detail::record_call(jit::intern_call(of, std::string_view()), operands, s)[0]);
}

}  // namespace

RecordsForExport::RecordsForExport() { ++scopes; }
RecordsForExport::~RecordsForExport() { --scopes; }
bool RecordsForExport::on() { return scopes > 0; }

constinit const jit::CallDefinition kQuantize{
    .name = "quantize",
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
      return {jit::CallOutput::like(0, o[0], o.size() > 2 ? o[2].dtype : int8)};
    },
    .expand = expand_quantize};
constinit const jit::CallDefinition kDequantize{
    .name = "dequantize",
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
      return {jit::CallOutput::like(0, o[0], o[1].dtype)};
    },
    .expand = expand_dequantize};

Tensor quantize_node(const Tensor& x, const Tensor& scale, const Tensor& zero, const Site& s) {
  return recorded(kQuantize, x, scale, zero, s);
}
Tensor dequantize_node(const Tensor& q, const Tensor& scale, const Tensor& zero, const Site& s) {
  return recorded(kDequantize, q, scale, zero, s);
}

}  // namespace lazy::quant::detail
