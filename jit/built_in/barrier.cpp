#include "jit/built_in/barrier.hpp"

#include "jit/core/bytes.hpp"
#include "jit/graph/record.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_barrier(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 1) throw ShapeError("barrier: one operand is needed");
  return {CallOutput::like(0, operands[0], operands[0].dtype)};
}

void run_barrier(const CallRun& r) {
  const Meta& m = r.operands[0];
  if (r.out[0] && r.out[0] != r.in[0]) std::memcpy(r.out[0], r.in[0], bytes_of(m.shape, m.dtype));
}

/// Expands the call: a region, which is all of the result, is replaced by the operand. Updates are not
/// merged either.
std::vector<Handle> replaced(const Expanding& e) {
  const Handle& x = e[0];
  const Site& site = e.site;
  if (numel(x->shape) == 0 || x->shape.empty()) return {x};
  const Handle base = overwritten(x->dtype, x->shape, x->device, site);
  const int rank = x->shape.size();
  return {
      record(Op::slice_update, {&base, &x}, x->dtype, x->shape, site, {Dims(rank, 0), Dims(rank, 1), {}})};
}

}  // namespace

constinit const CallDefinition kBarrier{
    .name = "barrier",
    .traits = call_trait::kNoThrow | call_trait::kVaries,
    .infer = infer_barrier,
    .run = run_barrier,
    .in_place = [](const CallSpec&, int) { return 0; },
    .expand = replaced,
    .vjp =
        [](const CallGradients& g) { return std::vector<Handle>(g.gradients.begin(), g.gradients.end()); }};

}  // namespace lazy::jit::calls
