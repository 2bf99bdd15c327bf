#include "lazy/autograd/second_derivatives.hpp"

#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/backwards.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

std::vector<Handle> differentiate_gradients(const jit::CallGradients& d, std::span<const size_t> by,
                                            const GradientsOfOps& record) {
  const Recorder r{d.spec.name(), d.site};
  std::vector<Handle> operands(d.operands.begin(), d.operands.end()), ends;
  for (const size_t i : by) ends.push_back(operands[i] = separate_leaf(operands[i], d.site));
  Handle value;
  {
    const enable_grad scope;
    const std::vector<Handle> g = record(operands);
    for (size_t i = 0; i < g.size(); ++i) {
      if (!g[i]) continue;
      const Handle one = r.reduce(Op::sum, r.op(Op::multiply, g[i], d.gradients[i]), {});
      value = value ? r.op(Op::add, value, one) : one;
    }
  }
  Backwards way(value, ends, d.site);
  Gradients g = way.run(r.filled(1, value->dtype, {}, value));
  if (!is_grad_enabled()) way.spend();
  std::vector<Handle> all(operands.size());
  for (size_t i = 0; i < ends.size(); ++i)
    if (d.wants(by[i])) all[by[i]] = g.of(ends[i]);
  return all;
}

}  // namespace lazy::detail
