#include "lazy/optim/clip_grad.hpp"

#include <cmath>
#include <limits>

#include "lazy/core/planes.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/optim/gradients.hpp"

namespace lazy::optim {
namespace {
using namespace lazy::detail;

/// Returns what the norm is the root of, of one gradient.
Term powers(const Term& g, double norm_type) {
  Dims all;
  for (int i = 0; i < g.rank(); ++i) all.push_back(i);
  if (std::isinf(norm_type)) return max(abs(g), all, dropdims);
  if (norm_type == 1) return sum(abs(g), all, dropdims);
  if (norm_type == 2)
    return sum(g.formula().term(squared_modulus(g.formula().name, g.handle(), g.formula().site)), all,
               dropdims);
  return sum(power(abs(g), norm_type), all, dropdims);
}

}  // namespace

Tensor clip_grad_norm_(const ParameterList& parameters, double max_norm, double norm_type, Site s) {
  const no_grad scope;
  Formula f("clip_grad_norm_", s);
  if (!(max_norm >= 0)) f.fail<Error>("max_norm is " + std::to_string(max_norm) + ", not >= 0");
  if (!(norm_type > 0)) f.fail<Error>("norm_type is " + std::to_string(norm_type) + ", not above 0");
  Term total;
  for_gradients(f, parameters, [&](Parameter&, const Term& g) {
    if (numel(g.shape()) == 0) return;
    Term part = powers(g, norm_type);
    if (!total.handle()) {
      total = part;
      return;
    }
    const DType t = promote(f.name, total.handle()->dtype, part.handle()->dtype, s);
    total = total.as(t), part = part.as(t);
    total = std::isinf(norm_type) ? maximum(total, part) : total + part;
  });
  if (!total.handle()) return zeros({}, {}, {}, s);
  if (norm_type == 2) total = sqrt(total);
  else if (norm_type != 1 && !std::isinf(norm_type)) total = power(total, 1 / norm_type);
  const Term factor = minimum(max_norm / (total + 1e-6), 1.0);
  for_gradients(f, parameters, [&](Parameter& p, const Term& g) {
    p.set_grad(f.tensor((g * factor.as(f.work)).as(f.result).handle()), s);
  });
  return f.tensor(total.handle());
}

void clip_grad_value_(const ParameterList& parameters, double clip_value, Site s) {
  const no_grad scope;
  Formula f("clip_grad_value_", s);
  if (!(clip_value >= 0)) f.fail<Error>("clip_value is " + std::to_string(clip_value) + ", not >= 0");
  for_gradients(f, parameters, [&](Parameter& p, const Term& g) {
    p.set_grad(f.tensor(minimum(maximum(g, -clip_value), clip_value).as(f.result).handle()), s);
  });
}

}  // namespace lazy::optim
