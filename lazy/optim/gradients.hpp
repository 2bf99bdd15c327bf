// Goes over the gradients of parameters, for what reads or changes them before a step. Internal to lazy/.
#pragma once
#include <string>

#include "lazy/formula/formula.hpp"
#include "lazy/optim/parameters.hpp"

namespace lazy::optim {

/// Calls f with each parameter that has a gradient, and the gradient as a term: of float32 if it has 16 bits.
template <class F>
void for_gradients(detail::Formula& formula, const ParameterList& parameters, F&& f) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter* const p = parameters[i].parameter.get();
    if (!p) formula.fail<Error>("parameter " + std::to_string(i) + " holds nothing");
    if (!p->defined()) continue;
    const Tensor g = p->grad(formula.site);
    if (!g.defined()) continue;
    formula.result = g.dtype(formula.site);
    formula.work = is_half(formula.result) ? float32 : formula.result;
    f(*p, formula.term(g));
  }
}

}  // namespace lazy::optim
