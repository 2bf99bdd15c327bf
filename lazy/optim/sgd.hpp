// Declares stochastic gradient descent, with momentum and Nesterov's, and updates by the gradient's sign.
#pragma once
#include <array>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;  // of the gradient as it goes into the momentum
  double weight_decay = 0;
  bool nesterov = false;  // needs a momentum and no dampening
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("momentum", momentum), f("dampening", dampening), f("weight_decay", weight_decay);
    f("nesterov", nesterov), f("maximize", maximize);
  }
};
void validate(const char* name, const SGDOptions&, const Site&);

/// Follows the gradient (torch.optim.SGD). The state has momentum_buffer, which begins as the first gradient.
class SGD final : public OptimizerOf<SGDOptions> {
 public:
  explicit SGD(const ParameterList& parameters, const SGDOptions& o = {}, Site s = Site::current())
      : OptimizerOf("SGD", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  bool needs(size_t, size_t group) const override { return options_[group].momentum != 0; }
  std::span<const char* const> state_names() const override;
};

struct LionOptions {
  double lr = 1e-4;
  std::array<double, 2> betas{0.9, 0.99};
  double weight_decay = 0;  // decoupled
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("weight_decay", weight_decay);
    f("maximize", maximize);
  }
};
void validate(const char* name, const LionOptions&, const Site&);

/// Follows the sign of an average of gradients (Chen et al., "Symbolic Discovery of Optimization Algorithms",
/// 2023). The state has exp_avg.
class Lion final : public OptimizerOf<LionOptions> {
 public:
  explicit Lion(const ParameterList& parameters, const LionOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Lion", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
