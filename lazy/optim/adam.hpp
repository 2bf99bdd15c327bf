// Declares Adam and its kin: optimizers that divide an average of gradients by the root of an average of
// their squares.
#pragma once
#include <array>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
  bool decoupled_weight_decay = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("eps", eps);
    f("weight_decay", weight_decay), f("amsgrad", amsgrad), f("maximize", maximize);
    f("decoupled_weight_decay", decoupled_weight_decay);
  }
};
void validate(const char* name, const AdamOptions&, const Site&);

/// Kingma and Ba, 2015 (torch.optim.Adam). The state has exp_avg, exp_avg_sq and, with amsgrad,
/// max_exp_avg_sq.
class Adam : public OptimizerOf<AdamOptions> {
 public:
  explicit Adam(const ParameterList& parameters, const AdamOptions& o = {}, Site s = Site::current())
      : Adam("Adam", parameters, o, s) {}

 protected:
  Adam(const char* name, const ParameterList& parameters, const AdamOptions& o, const Site& s)
      : OptimizerOf(name, parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  bool needs(size_t i, size_t group) const override { return i < 2 || options_[group].amsgrad; }
  std::span<const char* const> state_names() const override;
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;

  operator AdamOptions() const { return {lr, betas, eps, weight_decay, amsgrad, maximize, true}; }
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019; torch.optim.AdamW).
class AdamW final : public Adam {
 public:
  explicit AdamW(const ParameterList& parameters, const AdamWOptions& o = {}, Site s = Site::current())
      : Adam("AdamW", parameters, o, s) {}
  void add_param_group(const ParameterList& parameters, const AdamWOptions& o, Site s = Site::current()) {
    Adam::add_param_group(parameters, o, s);
  }
};

struct NAdamOptions {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("eps", eps);
    f("weight_decay", weight_decay), f("momentum_decay", momentum_decay);
    f("decoupled_weight_decay", decoupled_weight_decay), f("maximize", maximize);
  }
};
void validate(const char* name, const NAdamOptions&, const Site&);

/// Adam with Nesterov's momentum (Dozat, 2016; torch.optim.NAdam). The state has exp_avg, exp_avg_sq and the
/// number mu_product.
class NAdam final : public OptimizerOf<NAdamOptions> {
 public:
  explicit NAdam(const ParameterList& parameters, const NAdamOptions& o = {}, Site s = Site::current())
      : OptimizerOf("NAdam", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
  const char* product_name() const override { return "mu_product"; }
};

struct RAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("eps", eps);
    f("weight_decay", weight_decay), f("decoupled_weight_decay", decoupled_weight_decay);
    f("maximize", maximize);
  }
};
void validate(const char* name, const RAdamOptions&, const Site&);

/// Adam whose step is rectified while its average is short (Liu et al., 2020; torch.optim.RAdam). The state
/// has exp_avg and exp_avg_sq.
class RAdam final : public OptimizerOf<RAdamOptions> {
 public:
  explicit RAdam(const ParameterList& parameters, const RAdamOptions& o = {}, Site s = Site::current())
      : OptimizerOf("RAdam", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

struct AdamaxOptions {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("eps", eps);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
};
void validate(const char* name, const AdamaxOptions&, const Site&);

/// Adam with the largest gradient in place of the root of squares (Kingma and Ba, 2015; torch.optim.Adamax).
/// The state has exp_avg and exp_inf.
class Adamax final : public OptimizerOf<AdamaxOptions> {
 public:
  explicit Adamax(const ParameterList& parameters, const AdamaxOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adamax", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

struct LAMBOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;

  void each(auto&& f) {
    f("lr", lr), f("betas.0", betas[0]), f("betas.1", betas[1]), f("eps", eps);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
};
void validate(const char* name, const LAMBOptions&, const Site&);

/// Adam whose step of each parameter has that parameter's norm (You et al., "Large Batch Optimization for
/// Deep Learning", 2020, algorithm 2, with the identity for phi): the step is scaled by |p| / |step|, by 1 if
/// either is 0. The state has exp_avg and exp_avg_sq.
class LAMB final : public OptimizerOf<LAMBOptions> {
 public:
  explicit LAMB(const ParameterList& parameters, const LAMBOptions& o = {}, Site s = Site::current())
      : OptimizerOf("LAMB", parameters, o, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
