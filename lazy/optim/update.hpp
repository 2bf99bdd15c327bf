// Lets an optimizer's formula be written as in its paper: an Update has the parameter, its gradient and its
// state as terms. Internal to lazy/optim.
#pragma once
#include <limits>

#include "lazy/formula/formula.hpp"
#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

using detail::Term;

/// Holds what an update of one parameter works with. Terms are of the parameter's dtype, or of float32 if
/// that has 16 bits.
class Update : public detail::Formula {
 public:
  Update(const char* name, const Site& site, Parameter& p, const Tensor& gradient, ParameterState& state);

  /// Returns the state's tensor `i`, of zeros if there was no update yet.
  Term state(size_t i) const { return had(i) ? term(state_.tensors[i]) : filled_with(0); }
  bool had(size_t i) const { return state_.tensors[i].defined(); }
  /// Returns a value like the parameter, each element of which is `v`.
  Term filled_with(double v) const;
  /// Keeps the value as the state's tensor `i` and returns it.
  Term keep(size_t i, Term value) const {
    state_.tensors[i] = tensor(value.handle());
    return value;
  }
  /// Replaces the parameter.
  void finish(Term value);

  Term p, g;           // the parameter and its gradient
  const int64_t step;  // the number of this update, from 1
  double& product;     // ParameterState::product

 private:
  Parameter& parameter_;
  ParameterState& state_;
};

/// Returns a * b + c, rounded once.
inline Term fma(const Term& a, const Term& b, const Term& c) {
  return {a.formula(), a.formula().fma(a.handle(), b.handle(), c.handle())};
}
inline Term fma(const Term& a, double b, const Term& c) { return fma(a, a.number(b), c); }
inline Term fma(const Term& a, double b, double c) { return fma(a, a.number(b), a.number(c)); }
/// Returns the value at `weight` on the way from a to b.
inline Term lerp(const Term& a, const Term& b, double weight) { return fma(b - a, weight, a); }
/// Returns beta * a + (1 - beta) * x^2.
inline Term mean_square(const Term& a, const Term& x, double beta) {
  return fma(x * (1 - beta), x, a * beta);
}

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
/// Throws Error, which names the option: it is not in [0, below), or not finite.
void check_range(const char* optimizer, const char* option, double value, double below, const Site& s);
/// Checks those of lr, betas, eps and weight_decay that the optimizer has.
template <class Options>
void check_common(const char* name, const Options& o, const Site& s) {
  check_range(name, "lr", o.lr, kUnbounded, s);
  if constexpr (requires { o.betas; }) {
    check_range(name, "betas.0", o.betas[0], 1, s);
    check_range(name, "betas.1", o.betas[1], 1, s);
  }
  if constexpr (requires { o.eps; }) check_range(name, "eps", o.eps, kUnbounded, s);
  check_range(name, "weight_decay", o.weight_decay, kUnbounded, s);
}

}  // namespace lazy::optim
