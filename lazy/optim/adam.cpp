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
template <class N>
N correction(double beta, const N& n) {
  return 1 - pow(beta, n);
}

/// Returns what the average of gradients is multiplied by in a step along it.
Term rate(const Update& u, double lr, double beta) {
  return u.of_step([&](const auto& n) { return -lr / correction(beta, n); });
}

/// Returns the root of the average of squares, corrected for its beginning, with eps.
Term corrected_root(const Update& u, const Term& v, double beta, double eps) {
  return fma(sqrt(v), u.of_step([&](const auto& n) { return 1 / sqrt(correction(beta, n)); }), eps);
}

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
  u.finish(fma(a.m / corrected_root(u, v, o.betas[1], o.eps), rate(u, o.lr, o.betas[0]), d.p));
}
std::span<const char* const> Adam::state_names() const { return kNames; }

void NAdam::update(Update& u, size_t group) const {
  const NAdamOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, o.decoupled_weight_decay, o.maximize);
  const Moments a(u, d.g, o.betas);
  const auto momentum = [&](const auto& n) {
    return o.betas[0] * (1 - 0.5 * pow(0.96, n * o.momentum_decay));
  };
  u.multiply_product(momentum);
  const Term root = corrected_root(u, a.v, o.betas[1], o.eps);
  const Term of_m = u.of_product([&](const auto& n, const auto& product) {
    const auto next = momentum(n + 1);
    return o.lr * next / (1 - product * next);
  });
  const Term of_g = u.of_product(
      [&](const auto& n, const auto& product) { return o.lr * (1 - momentum(n)) / (1 - product); });
  const Term step = fma(a.m, of_m, d.g * of_g);
  u.finish(d.p - step / root);
}
std::span<const char* const> NAdam::state_names() const { return std::span(kNames).first(2); }

void RAdam::update(Update& u, size_t group) const {
  const RAdamOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, o.decoupled_weight_decay, o.maximize);
  const Moments a(u, d.g, o.betas);
  const double all = 2 / (1 - o.betas[1]) - 1;
  // A number that says so where it is none: both kinds of steps are one program.
  const Term rectification = u.of_step([&](const auto& n) {
    const auto c2 = correction(o.betas[1], n), length = all - 2 * n * (1 - c2) / c2,
               above = maximum(length, 5);
    return where(length > 5,
                 sqrt((above - 4) * (above - 2) * all / ((all - 4) * (all - 2) * above)) * sqrt(c2), -1);
  });
  const Term factor = where(rectification > 0, rectification / (sqrt(a.v) + o.eps), 1);
  u.finish(fma(a.m * factor, rate(u, o.lr, o.betas[0]), d.p));
}
std::span<const char* const> RAdam::state_names() const { return std::span(kNames).first(2); }

void Adamax::update(Update& u, size_t group) const {
  const AdamaxOptions& o = options_[group];
  const Decayed d(u, o.lr, o.weight_decay, false, o.maximize);
  const Term m = u.keep(0, lerp(u.state(0), d.g, 1 - o.betas[0]));
  const Term largest = u.keep(1, maximum(u.state(1) * o.betas[1], abs(d.g) + o.eps));
  u.finish(fma(m / largest, rate(u, o.lr, o.betas[0]), d.p));
}
std::span<const char* const> Adamax::state_names() const {
  static constexpr const char* names[] = {"exp_avg", "exp_inf"};
  return names;
}

void LAMB::update(Update& u, size_t group) const {
  const LAMBOptions& o = options_[group];
  const Moments a(u, o.maximize ? -u.g : u.g, o.betas);
  const Term root = corrected_root(u, a.v, o.betas[1], o.eps);
  Term step = a.m * u.of_step([&](const auto& n) { return 1 / correction(o.betas[0], n); }) / root;
  if (o.weight_decay != 0) step = fma(u.p, o.weight_decay, step);
  u.with_lengths(u.p, step, [&u, &o, step](const Term& of_p, const Term& of_step) {
    const Term trust = where((of_p > 0.0) & (of_step > 0.0), of_p / of_step, 1.0);
    u.finish(fma(step * trust, -o.lr, u.p));
  });
}
std::span<const char* const> LAMB::state_names() const { return std::span(kNames).first(2); }

}  // namespace lazy::optim
