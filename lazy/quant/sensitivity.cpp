#include "lazy/quant/sensitivity.hpp"

#include <cmath>

#include "lazy/formula/formula.hpp"

namespace lazy::quant {

using namespace lazy::detail;

double sqnr(const Tensor& exact, const Tensor& near, Site s) {
  const no_grad scope;
  Arg a(exact, s), b(near, s);
  const Formula f("sqnr", {&a, &b});
  const Term x = f.term(f.as(float64, a.handle())), y = f.term(f.as(float64, b.handle()));
  if (x.shape() != y.shape())
    f.fail<ShapeError>("results " + lazy::to_string(x.shape()) + " and " + lazy::to_string(y.shape()));
  const auto energy = [&](const Term& t) { return f.tensor(sum(t * t, {}, dropdims).handle()); };
  const Tensor signal = energy(x), noise = energy(x - y);
  const auto n = noise.item<double>(s);
  return n == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal.item<double>(s) / n);
}

namespace detail {

Rules rules_for(const Config& config, const std::vector<std::string>& layers) {
  Rules rules;
  for (const std::string& name : layers) rules.push_back({name, config});
  return rules;
}

}  // namespace detail
}  // namespace lazy::quant
