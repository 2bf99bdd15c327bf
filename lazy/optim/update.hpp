// Lets an optimizer's formula be written as in its paper: an Update has the parameter, its gradient and its
// state as terms. Internal to lazy/optim.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "lazy/formula/formula.hpp"
#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

using detail::Term;

/// Says under which condition a step is one, which is known when its values are computed.
struct StepCondition {
  Tensor skip;    // bool, no axes: true if nothing changes; undefined: the step is always one
  Tensor factor;  // float32, no axes: of the gradients; undefined: 1
};

/// Holds what the updates of one kind record once: numbers, and what is computed from the number of steps.
class SharedByKind {
 public:
  detail::SharedNumbers numbers;
  Tensor before_count, before_product;  // of all parameters of the kind; they keep the nodes alive
  detail::Handle count, kept_count;  // if it is a device's: the number of this update, and what remains of it
  detail::Handle product, kept_product;

  /// Begins with the next parameter.
  void restart() { numbers.restart(), next_ = 0; }
  /// Returns the next value that follows from the number of steps; empty the first time.
  detail::Handle& next() {
    if (next_ == known_.size()) known_.emplace_back();
    return known_[next_++];
  }

 private:
  std::vector<detail::Handle> known_;
  size_t next_ = 0;
};

/// Holds what an update gave.
struct UpdateResult {
  Tensor value;         // the parameter's new value
  Tensor gradient;      // with the condition's factor
  bool master = false;  // the value is the rounding of the state's master value
};

/// Holds what two planes of a complex parameter have to know of each other.
struct OfBothPlanes {
  std::array<Term, 2> squares;  // of the plane that came first
  std::function<void(const Term&, const Term&)> first;
};

/// Holds what an update of one parameter, or of one plane of a complex one, works with. Terms are of the
/// parameter's dtype, or of float32 if that has 16 bits.
///
/// The number of updates is the host's until a step has a condition. From then on it is a value on the
/// device, as is all that follows from it: of_step() is where the two meet.
class Update : public detail::Formula {
 public:
  Update(const char* name, const Site& site, const Tensor& value, const Tensor& gradient,
         ParameterState& state, const StepCondition&, bool master_weights, SharedByKind&);

  /// Returns the state's tensor `i`; if there was no update yet, a value each element of which is
  /// `otherwise`.
  Term state(size_t i, double otherwise = 0) const;
  bool had(size_t i) const { return state_.tensors[i].defined(); }
  /// Keeps the value as the state's tensor `i`, unless the step is skipped, and returns it.
  Term keep(size_t i, Term value) const;
  /// Returns f(n), where n is the number of this update, from 1: a number or a term of float64. The same f is
  /// given to all updates of the kind.
  template <class F>
  Term of_step(F&& f) const {
    if (!on_device()) return p.number(f(static_cast<double>(state_.step)));
    return shared_number([&](const Formula& alone) { return f(alone.term(shared_.count)); });
  }
  /// Returns f(n, q), where q is the product after multiply_product().
  template <class F>
  Term of_product(F&& f) const {
    if (!on_device()) return p.number(f(static_cast<double>(state_.step), state_.product));
    return shared_number(
        [&](const Formula& alone) { return f(alone.term(shared_.count), alone.term(shared_.product)); });
  }
  /// Multiplies ParameterState::product by f(n).
  template <class F>
  void multiply_product(F&& f) {
    if (!on_device()) state_.product *= f(static_cast<double>(state_.step));
    else multiply_product_by([&](const Term& n) { return f(n); });
  }
  /// Returns `later()`; in the first update that is no skipped one, and without a state's tensor `i`,
  /// `first`.
  template <class F>
  Term unless_first(size_t i, F&& later, const Term& first) const {
    if (!had(i)) return first;
    if (on_device()) return detail::where(of_step([](auto n) { return n; }) > 1.0, later(), first);
    return state_.step > 1 ? later() : first;
  }
  /// Calls f with the lengths of two values of the parameter's shape. Those of a complex parameter are known
  /// once both planes have come here.
  void with_lengths(const Term& a, const Term& b, std::function<void(const Term&, const Term&)> f);
  /// Gives the parameter's new value, which is the old one if the step is skipped.
  void finish(Term value);
  UpdateResult take_result() { return std::move(result_); }

  Term p, g;                     // the parameter and its gradient
  OfBothPlanes* both = nullptr;  // of a plane

 private:
  bool on_device() const { return static_cast<bool>(shared_.count); }
  /// Returns what f records, in the terms' dtype; recorded once, without the numbers that parameters share.
  template <class F>
  Term shared_number(F&& f) const {
    detail::Handle& known = shared_.next();
    if (!known) {
      const Formula alone(name, site);
      known = alone.as(work, f(alone).handle());
    }
    return term(known);
  }
  void count();
  void multiply_product_by(const std::function<Term(const Term& n)>& f);
  Term filled_with(double v) const;
  /// Returns the new value, or the old one if the step is skipped.
  Term unless_skipped(const Term& old, const Term& value) const;

  UpdateResult result_;
  ParameterState& state_;
  SharedByKind& shared_;
  detail::Handle skip_;
  const bool master_;                                       // the parameter's value in float32 is kept
  mutable std::array<Term, ParameterState::kMost> before_;  // what state() returned
};

// Formulas of the number of steps are evaluated with numbers or with terms.
using std::pow;
using std::sqrt;
inline Term pow(double a, const Term& b) { return power(a, b); }
inline double maximum(double a, double b) { return std::max(a, b); }
inline double where(bool condition, double a, double b) { return condition ? a : b; }

/// Returns a * b + c, rounded once.
inline Term fma(const Term& a, const Term& b, const Term& c) {
  return {a.formula(), a.formula().fma(a.handle(), b.handle(), c.handle())};
}
inline Term fma(const Term& a, double b, const Term& c) { return fma(a, a.number(b), c); }
inline Term fma(const Term& a, const Term& b, double c) { return fma(a, b, a.number(c)); }
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
