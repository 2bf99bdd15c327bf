// Declares optimizers that divide the gradient by the root of its squares, added up or averaged.
#pragma once
#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

template <template <class> class As>
struct RMSpropOptionsAs {
  As<double> lr = otherwise<As>(1e-2);
  As<double> alpha = otherwise<As>(0.99);
  As<double> eps = otherwise<As>(1e-8);
  As<double> weight_decay = otherwise<As>(0.0);
  As<double> momentum = otherwise<As>(0.0);
  As<bool> centered = otherwise<As>(false);  // divides by the root of the variance
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("alpha", o.alpha...), f("eps", o.eps...), f("weight_decay", o.weight_decay...),
        f("momentum", o.momentum...);
    f("centered", o.centered...), f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using RMSpropOptions = RMSpropOptionsAs<Value>;
using RMSpropGroup = RMSpropOptionsAs<Given>;
void validate(const char* name, const RMSpropOptions&, const Site&);

/// torch.optim.RMSprop. The state has square_avg and, if it is used, momentum_buffer and grad_avg.
class RMSprop final : public OptimizerOf<RMSpropOptionsAs> {
 public:
  explicit RMSprop(const ParameterList& parameters, const RMSpropOptions& o = {}, Site s = Site::current())
      : OptimizerOf("RMSprop", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  RMSprop(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : RMSprop(parameters, RMSpropOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  bool needs(size_t i, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

template <template <class> class As>
struct AdagradOptionsAs {
  As<double> lr = otherwise<As>(1e-2);
  As<double> lr_decay = otherwise<As>(0.0);
  As<double> weight_decay = otherwise<As>(0.0);
  As<double> initial_accumulator_value = otherwise<As>(0.0);
  As<double> eps = otherwise<As>(1e-10);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("lr_decay", o.lr_decay...), f("weight_decay", o.weight_decay...);
    f("initial_accumulator_value", o.initial_accumulator_value...), f("eps", o.eps...),
        f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using AdagradOptions = AdagradOptionsAs<Value>;
using AdagradGroup = AdagradOptionsAs<Given>;
void validate(const char* name, const AdagradOptions&, const Site&);

/// Duchi et al., 2011 (torch.optim.Adagrad). The state has sum.
class Adagrad final : public OptimizerOf<AdagradOptionsAs> {
 public:
  explicit Adagrad(const ParameterList& parameters, const AdagradOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adagrad", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  Adagrad(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : Adagrad(parameters, AdagradOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

template <template <class> class As>
struct AdadeltaOptionsAs {
  As<double> lr = otherwise<As>(1.0);
  As<double> rho = otherwise<As>(0.9);
  As<double> eps = otherwise<As>(1e-6);
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("rho", o.rho...), f("eps", o.eps...), f("weight_decay", o.weight_decay...),
        f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using AdadeltaOptions = AdadeltaOptionsAs<Value>;
using AdadeltaGroup = AdadeltaOptionsAs<Given>;
void validate(const char* name, const AdadeltaOptions&, const Site&);

/// Zeiler, 2012 (torch.optim.Adadelta). The state has square_avg and acc_delta.
class Adadelta final : public OptimizerOf<AdadeltaOptionsAs> {
 public:
  explicit Adadelta(const ParameterList& parameters, const AdadeltaOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adadelta", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  Adadelta(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : Adadelta(parameters, AdadeltaOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
