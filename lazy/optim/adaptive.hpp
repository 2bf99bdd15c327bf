// Declares optimizers that divide the gradient by the root of its squares, added up or averaged.
#pragma once
#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  // divides by the root of the variance
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("alpha", alpha), f("eps", eps), f("weight_decay", weight_decay), f("momentum", momentum);
    f("centered", centered), f("maximize", maximize);
  }
};
void validate(const char* name, const RMSpropOptions&, const Site&);

/// torch.optim.RMSprop. The state has square_avg and, if it is used, momentum_buffer and grad_avg.
class RMSprop final : public OptimizerOf<RMSpropOptions> {
 public:
  explicit RMSprop(const ParameterList& parameters, const RMSpropOptions& o = {}, Site s = Site::current())
      : OptimizerOf("RMSprop", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  bool needs(size_t i, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("lr_decay", lr_decay), f("weight_decay", weight_decay);
    f("initial_accumulator_value", initial_accumulator_value), f("eps", eps), f("maximize", maximize);
  }
};
void validate(const char* name, const AdagradOptions&, const Site&);

/// Duchi et al., 2011 (torch.optim.Adagrad). The state has sum.
class Adagrad final : public OptimizerOf<AdagradOptions> {
 public:
  explicit Adagrad(const ParameterList& parameters, const AdagradOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adagrad", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("rho", rho), f("eps", eps), f("weight_decay", weight_decay), f("maximize", maximize);
  }
};
void validate(const char* name, const AdadeltaOptions&, const Site&);

/// Zeiler, 2012 (torch.optim.Adadelta). The state has square_avg and acc_delta.
class Adadelta final : public OptimizerOf<AdadeltaOptions> {
 public:
  explicit Adadelta(const ParameterList& parameters, const AdadeltaOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adadelta", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
