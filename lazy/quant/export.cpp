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
  const Handle q = r.op(Op::round, r.op(Op::divide, e[0], e[1]));
  return {r.as(int8, r.op(Op::minimum, r.op(Op::maximum, q, -128.0), 127.0))};
}
std::vector<Handle> expand_dequantize(const jit::Expanding& e) {
  const Recorder r{"dequantize", e.site};
  const DType t = e[1]->dtype;
  Handle x = r.as(t, e[0]);
  if (e.operands.size() > 2) x = r.op(Op::subtract, x, r.as(t, beside(r, e[2], x)));
  return {r.op(Op::multiply, x, beside(r, e[1], x))};
}

Tensor recorded(const jit::CallDefinition& of, std::span<const Handle* const> operands, const Site& s) {
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
      return {jit::CallOutput::like(0, o[0], int8)};
    },
    .expand = expand_quantize};
constinit const jit::CallDefinition kDequantize{
    .name = "dequantize",
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
      return {jit::CallOutput::like(0, o[0], o[1].dtype)};
    },
    .expand = expand_dequantize};

Tensor quantize_node(const Tensor& x, const Tensor& scale, const Site& s) {
  const Handle* const operands[] = {&x.handle(), &scale.handle()};
  return recorded(kQuantize, operands, s);
}
Tensor dequantize_node(const Tensor& q, const Tensor& scale, const Tensor& zero, const Site& s) {
  const Handle* const operands[] = {&q.handle(), &scale.handle(), &zero.handle()};
  return recorded(kDequantize, std::span(operands).first(zero.defined() ? 3 : 2), s);
}

}  // namespace lazy::quant::detail
