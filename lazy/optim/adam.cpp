#include "lazy/optim/adam.hpp"

#include <cmath>

#include "lazy/optim/update.hpp"

namespace lazy::optim {
namespace {

/// Holds the parameter and its gradient with the weight decay in the one or the other.
struct Decayed {
  Term p, g;
  Decayed(const Update& u, double lr, double weight_decay, bool decoupled, bool maximize)
      : p(u.p), g(maximize ? -u.g : u.g) {
    if (weight_decay == 0) return;
    if (decoupled) p = p * (1 - lr * weight_decay);
    else g = fma(p, weight_decay, g);
  }
};

/// Returns 1 - beta^n.
double correction(double beta, int64_t n) { return 1 - std::pow(beta, static_cast<double>(n)); }

/// Updates the averages of gradients and of their squares, which are the first two tensors of the state.
struct Moments {
  Term m, v;
  Moments(const Update& u, const Term& g, const std::array<double, 2>& betas)
      : m(u.keep(0, lerp(u.state(0), g, 1 - betas[0]))), v(u.keep(1, mean_square(u.state(1), g, betas[1]))) {}
};

constexpr const char* kNames[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

}  // namespace

void validate(const char* name, const AdamOptions& o, const Site& s) { check_common(name, o, s); }
void validate(const char* name, const RAdamOptions& o, const Site& s) { check_common(name, o, s); }
void validate(const char* name, const AdamaxOptions& o, const Site& s) { check_common(name, o, s); }
void validate(const char* name, const LAMBOptions& o, const Site& s) { check_common(name, o, s); }
void validate(const char* name, const NAdamOptions& o, const Site& s) {
  check_common(name, o, s);
  check_range(name, "momentum_decay", o.momentum_decay, kUnbounded, s);
}

void Adam::update(Update& u, size_t group) const {
  const AdamOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, o.decoupled_weight_decay, o.maximize);
  const Moments a(u, d.g, o.betas);
  const Term v = o.amsgrad ? u.keep(2, maximum(u.state(2), a.v)) : a.v;
  const Term root = fma(sqrt(v), 1 / std::sqrt(correction(o.betas[1], u.step)), o.eps);
  u.finish(fma(a.m / root, -o.lr / correction(o.betas[0], u.step), d.p));
}
std::span<const char* const> Adam::state_names() const { return kNames; }

void NAdam::update(Update& u, size_t group) const {
  const NAdamOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, o.decoupled_weight_decay, o.maximize);
  const Moments a(u, d.g, o.betas);
  const auto momentum = [&](int64_t step) {
    return o.betas[0] * (1 - 0.5 * std::pow(0.96, static_cast<double>(step) * o.momentum_decay));
  };
  const double mu = momentum(u.step), next = momentum(u.step + 1);
  u.product *= mu;
  const Term root = fma(sqrt(a.v), 1 / std::sqrt(correction(o.betas[1], u.step)), o.eps);
  const Term step = fma(a.m, o.lr * next / (1 - u.product * next), d.g * (o.lr * (1 - mu) / (1 - u.product)));
  u.finish(d.p - step / root);
}
std::span<const char* const> NAdam::state_names() const { return std::span(kNames).first(2); }

void RAdam::update(Update& u, size_t group) const {
  const RAdamOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, o.decoupled_weight_decay, o.maximize);
  const Moments a(u, d.g, o.betas);
  const double c2 = correction(o.betas[1], u.step), all = 2 / (1 - o.betas[1]) - 1;
  const double length = all - 2 * static_cast<double>(u.step) * (1 - c2) / c2;
  const bool rectified = length > 5;
  const double rectification =
      rectified ? std::sqrt((length - 4) * (length - 2) * all / ((all - 4) * (all - 2) * length)) : 1;
  // A condition that is an argument: both kinds of steps are one program.
  const Term is_rectified = u.term(u.Recorder::number(ScalarNumber(rectified), bool_));
  const Term factor =
      where(is_rectified, u.p.number(rectification * std::sqrt(c2)) / (sqrt(a.v) + o.eps), 1.0);
  u.finish(fma(a.m * factor, -o.lr / correction(o.betas[0], u.step), d.p));
}
std::span<const char* const> RAdam::state_names() const { return std::span(kNames).first(2); }

void Adamax::update(Update& u, size_t group) const {
  const AdamaxOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, false, o.maximize);
  const Term m = u.keep(0, lerp(u.state(0), d.g, 1 - o.betas[0]));
  const Term largest = u.keep(1, maximum(u.state(1) * o.betas[1], abs(d.g) + o.eps));
  u.finish(fma(m / largest, -o.lr / correction(o.betas[0], u.step), d.p));
}
std::span<const char* const> Adamax::state_names() const {
  static constexpr const char* names[] = {"exp_avg", "exp_inf"};
  return names;
}

void LAMB::update(Update& u, size_t group) const {
  const LAMBOptions& o = options_[group];
  const Moments a(u, o.maximize ? -u.g : u.g, o.betas);
  const Term root = fma(sqrt(a.v), 1 / std::sqrt(correction(o.betas[1], u.step)), o.eps);
  Term step = a.m * (1 / correction(o.betas[0], u.step)) / root;
  if (o.weight_decay != 0) step = fma(u.p, o.weight_decay, step);
  const auto norm = [](const Term& t) { return sqrt(sum(t * t, {})); };
  const Term of_p = norm(u.p), of_step = norm(step);
  const Term trust = where((of_p > 0.0) & (of_step > 0.0), of_p / of_step, 1.0);
  u.finish(fma(step * trust, -o.lr, u.p));
}
std::span<const char* const> LAMB::state_names() const { return std::span(kNames).first(2); }

}  // namespace lazy::optim
