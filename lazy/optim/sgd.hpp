// Declares stochastic gradient descent, with momentum and Nesterov's, and updates by the gradient's sign.
#pragma once
#include <array>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

template <template <class> class As>
struct SGDOptionsAs {
  As<double> lr = otherwise<As>(1e-3);
  As<double> momentum = otherwise<As>(0.0);
  As<double> dampening = otherwise<As>(0.0);  // of the gradient as it goes into the momentum
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> nesterov = otherwise<As>(false);  // needs a momentum and no dampening
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("momentum", o.momentum...), f("dampening", o.dampening...),
        f("weight_decay", o.weight_decay...);
    f("nesterov", o.nesterov...), f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using SGDOptions = SGDOptionsAs<Value>;
using SGDGroup = SGDOptionsAs<Given>;
void validate(const char* name, const SGDOptions&, const Site&);

/// Follows the gradient (torch.optim.SGD). The state has momentum_buffer, which begins as the first gradient.
class SGD final : public OptimizerOf<SGDOptionsAs> {
 public:
  explicit SGD(const ParameterList& parameters, const SGDOptions& o = {}, Site s = Site::current())
      : OptimizerOf("SGD", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  SGD(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : SGD(parameters, SGDOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  bool needs(size_t, size_t group) const override { return options_[group].momentum != 0; }
  std::span<const char* const> state_names() const override;
};

template <template <class> class As>
struct LionOptionsAs {
  As<double> lr = otherwise<As>(1e-4);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.99});
  As<double> weight_decay = otherwise<As>(0.0);  // decoupled
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("weight_decay", o.weight_decay...);
    f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using LionOptions = LionOptionsAs<Value>;
using LionGroup = LionOptionsAs<Given>;
void validate(const char* name, const LionOptions&, const Site&);

/// Follows the sign of an average of gradients (Chen et al., "Symbolic Discovery of Optimization Algorithms",
/// 2023). The state has exp_avg.
class Lion final : public OptimizerOf<LionOptionsAs> {
 public:
  explicit Lion(const ParameterList& parameters, const LionOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Lion", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  Lion(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : Lion(parameters, LionOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
