#include "lazy/optim/sgd.hpp"

#include <cmath>

#include "lazy/optim/update.hpp"

namespace lazy::optim {

void validate(const char* name, const SGDOptions& o, const Site& s) {
  check_common(name, o, s);
  check_range(name, "momentum", o.momentum, kUnbounded, s);
  if (!std::isfinite(o.dampening)) detail::fail<Error>(name, "dampening is not finite", s);
  if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
    detail::fail<Error>(name, "nesterov needs a momentum above 0 and a dampening of 0", s);
}

void SGD::update(Update& u, size_t group) const {
  const SGDOptions& o = options_[group];
  Term g = o.maximize ? -u.g : u.g;
  if (o.weight_decay != 0) g = fma(u.p, o.weight_decay, g);
  if (o.momentum != 0) {
    const auto later = [&] {
      return fma(u.state(0), o.momentum, o.dampening != 0 ? g * (1 - o.dampening) : g);
    };
    const Term buffer = u.keep(0, u.unless_first(0, later, g));
    g = o.nesterov ? fma(buffer, o.momentum, g) : buffer;
  }
  u.finish(fma(g, -o.lr, u.p));
}

std::span<const char* const> SGD::state_names() const {
  static constexpr const char* names[] = {"momentum_buffer"};
  return names;
}

void validate(const char* name, const LionOptions& o, const Site& s) { check_common(name, o, s); }

void Lion::update(Update& u, size_t group) const {
  const LionOptions& o = options_[group];
  const Term g = o.maximize ? -u.g : u.g, m = u.state(0);
  const Term p = o.weight_decay != 0 ? u.p * (1 - o.lr * o.weight_decay) : u.p;
  const Term direction = unary(detail::Op::sign, lerp(m, g, 1 - o.betas[0]));
  u.keep(0, lerp(m, g, 1 - o.betas[1]));
  u.finish(fma(direction, -o.lr, p));
}

std::span<const char* const> Lion::state_names() const {
  static constexpr const char* names[] = {"exp_avg"};
  return names;
}

}  // namespace lazy::optim
