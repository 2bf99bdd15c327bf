#include "lazy/optim/adaptive.hpp"

#include "lazy/optim/update.hpp"

namespace lazy::optim {
namespace {

/// Returns the gradient of what is minimised, with the weight decay.
template <class Options>
Term gradient(const Update& u, const Options& o) {
  const Term g = o.maximize ? -u.g : u.g;
  return o.weight_decay != 0 ? fma(u.p, o.weight_decay, g) : g;
}

}  // namespace

void validate(const char* name, const RMSpropOptions& o, const Site& s) {
  check_common(name, o, s);
  check_range(name, "alpha", o.alpha, kUnbounded, s);
  check_range(name, "momentum", o.momentum, kUnbounded, s);
}

void RMSprop::update(Update& u, size_t group) const {
  const RMSpropOptions& o = options_[group];
  const Term g = gradient(u, o), squares = u.keep(0, mean_square(u.state(0), g, o.alpha));
  Term root;
  if (o.centered) {
    const Term mean = u.keep(2, lerp(u.state(2), g, 1 - o.alpha));
    root = sqrt(fma(-mean, mean, squares)) + o.eps;
  } else {
    root = sqrt(squares) + o.eps;
  }
  Term step = g / root;
  if (o.momentum > 0) step = u.keep(1, fma(u.state(1), o.momentum, step));
  u.finish(fma(step, -o.lr, u.p));
}

bool RMSprop::needs(size_t i, size_t group) const {
  const RMSpropOptions& o = options_[group];
  return i == 0 || (i == 1 ? o.momentum > 0 : o.centered);
}

std::span<const char* const> RMSprop::state_names() const {
  static constexpr const char* names[] = {"square_avg", "momentum_buffer", "grad_avg"};
  return names;
}

void validate(const char* name, const AdagradOptions& o, const Site& s) {
  check_common(name, o, s);
  check_range(name, "lr_decay", o.lr_decay, kUnbounded, s);
  check_range(name, "initial_accumulator_value", o.initial_accumulator_value, kUnbounded, s);
}

void Adagrad::update(Update& u, size_t group) const {
  const AdagradOptions& o = options_[group];
  const Term g = gradient(u, o);
  const Term squares = u.keep(0, fma(g, g, u.state(0, o.initial_accumulator_value)));
  const Term rate = u.of_step([&](const auto& n) { return -o.lr / (1 + (n - 1) * o.lr_decay); });
  u.finish(fma(g / (sqrt(squares) + o.eps), rate, u.p));
}

std::span<const char* const> Adagrad::state_names() const {
  static constexpr const char* names[] = {"sum"};
  return names;
}

void validate(const char* name, const AdadeltaOptions& o, const Site& s) {
  check_common(name, o, s);
  check_range(name, "rho", o.rho, kUnbounded, s);
  if (o.rho > 1) detail::fail<Error>(name, "rho is " + std::to_string(o.rho) + ", not in [0, 1]", s);
}

void Adadelta::update(Update& u, size_t group) const {
  const AdadeltaOptions& o = options_[group];
  const Term g = gradient(u, o), squares = u.keep(0, mean_square(u.state(0), g, o.rho));
  const Term step = sqrt(u.state(1) + o.eps) / sqrt(squares + o.eps) * g;
  u.keep(1, mean_square(u.state(1), step, o.rho));
  u.finish(fma(step, -o.lr, u.p));
}

std::span<const char* const> Adadelta::state_names() const {
  static constexpr const char* names[] = {"square_avg", "acc_delta"};
  return names;
}

}  // namespace lazy::optim
