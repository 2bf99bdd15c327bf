#include "lazy/ops/sorting.hpp"

#include "jit/built_in/sort.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {

using jit::Handle;

Sorted sorted(const char* op, Arg& x, IntegerArg axis, bool descending) {
  const Site& site = x.site();
  Handle h = detail::Operand(op, x).take();
  detail::need_real(op, h->dtype, site);
  const int rank = h->shape.size();
  const int a = detail::normal_axis(op, axis, rank, site);
  const Dims order = detail::with_last(a, rank);
  if (a != rank - 1) h = detail::permute(h, order, site);
  const jit::CallSpec& spec = jit::intern_call(jit::calls::kSort, jit::calls::SortAttributes{descending});
  const Handle* operands[] = {&h};
  std::vector<Handle> out = detail::record_call(spec, operands, site);
  h = {};
  if (a != rank - 1)
    for (Handle& o : out) o = detail::permute(o, order, site);
  return {Tensor(std::move(out[0])), Tensor(std::move(out[1]))};
}

}  // namespace

Sorted sort(Arg x, IntegerArg axis, bool descending, bool /*stable*/) {
  return sorted("sort", x, axis, descending);
}

Tensor argsort(Arg x, IntegerArg axis, bool descending, bool /*stable*/) {
  return sorted("argsort", x, axis, descending).indices;
}

}  // namespace lazy
