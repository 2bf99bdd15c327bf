// Declares Adam and its kin: optimizers that divide an average of gradients by the root of an average of
// their squares.
#pragma once
#include <array>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

template <template <class> class As>
struct AdamOptionsAs {
  As<double> lr = otherwise<As>(1e-3);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.999});
  As<double> eps = otherwise<As>(1e-8);
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> amsgrad = otherwise<As>(false);
  As<bool> maximize = otherwise<As>(false);
  As<bool> decoupled_weight_decay = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("eps", o.eps...);
    f("weight_decay", o.weight_decay...), f("amsgrad", o.amsgrad...), f("maximize", o.maximize...);
    f("decoupled_weight_decay", o.decoupled_weight_decay...), f("master_weights", o.master_weights...);
  }
};
using AdamOptions = AdamOptionsAs<Value>;
using AdamGroup = AdamOptionsAs<Given>;
void validate(const char* name, const AdamOptions&, const Site&);

/// Kingma and Ba, 2015 (torch.optim.Adam). The state has exp_avg, exp_avg_sq and, with amsgrad,
/// max_exp_avg_sq.
class Adam : public OptimizerOf<AdamOptionsAs> {
 public:
  explicit Adam(const ParameterList& parameters, const AdamOptions& o = {}, Site s = Site::current())
      : Adam("Adam", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  Adam(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : Adam(parameters, AdamOptions{.lr = static_cast<double>(lr)}, s) {}

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
  bool master_weights = false;

  operator AdamOptions() const {
    return {lr, betas, eps, weight_decay, amsgrad, maximize, true, master_weights};
  }
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019; torch.optim.AdamW).
class AdamW final : public Adam {
 public:
  explicit AdamW(const ParameterList& parameters, const AdamWOptions& o = {}, Site s = Site::current())
      : Adam("AdamW", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  AdamW(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : AdamW(parameters, AdamWOptions{.lr = static_cast<double>(lr)}, s) {}
};

template <template <class> class As>
struct NAdamOptionsAs {
  As<double> lr = otherwise<As>(2e-3);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.999});
  As<double> eps = otherwise<As>(1e-8);
  As<double> weight_decay = otherwise<As>(0.0);
  As<double> momentum_decay = otherwise<As>(4e-3);
  As<bool> decoupled_weight_decay = otherwise<As>(false);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("eps", o.eps...);
    f("weight_decay", o.weight_decay...), f("momentum_decay", o.momentum_decay...);
    f("decoupled_weight_decay", o.decoupled_weight_decay...), f("maximize", o.maximize...),
        f("master_weights", o.master_weights...);
  }
};
using NAdamOptions = NAdamOptionsAs<Value>;
using NAdamGroup = NAdamOptionsAs<Given>;
void validate(const char* name, const NAdamOptions&, const Site&);

/// Adam with Nesterov's momentum (Dozat, 2016; torch.optim.NAdam). The state has exp_avg, exp_avg_sq and the
/// number mu_product.
class NAdam final : public OptimizerOf<NAdamOptionsAs> {
 public:
  explicit NAdam(const ParameterList& parameters, const NAdamOptions& o = {}, Site s = Site::current())
      : OptimizerOf("NAdam", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  NAdam(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : NAdam(parameters, NAdamOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
  const char* product_name() const override { return "mu_product"; }
};

template <template <class> class As>
struct RAdamOptionsAs {
  As<double> lr = otherwise<As>(1e-3);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.999});
  As<double> eps = otherwise<As>(1e-8);
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> decoupled_weight_decay = otherwise<As>(false);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("eps", o.eps...);
    f("weight_decay", o.weight_decay...), f("decoupled_weight_decay", o.decoupled_weight_decay...);
    f("maximize", o.maximize...), f("master_weights", o.master_weights...);
  }
};
using RAdamOptions = RAdamOptionsAs<Value>;
using RAdamGroup = RAdamOptionsAs<Given>;
void validate(const char* name, const RAdamOptions&, const Site&);

/// Adam whose step is rectified while its average is short (Liu et al., 2020; torch.optim.RAdam). The state
/// has exp_avg and exp_avg_sq.
class RAdam final : public OptimizerOf<RAdamOptionsAs> {
 public:
  explicit RAdam(const ParameterList& parameters, const RAdamOptions& o = {}, Site s = Site::current())
      : OptimizerOf("RAdam", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  RAdam(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : RAdam(parameters, RAdamOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

template <template <class> class As>
struct AdamaxOptionsAs {
  As<double> lr = otherwise<As>(2e-3);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.999});
  As<double> eps = otherwise<As>(1e-8);
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("eps", o.eps...);
    f("weight_decay", o.weight_decay...), f("maximize", o.maximize...),
        f("master_weights", o.master_weights...);
  }
};
using AdamaxOptions = AdamaxOptionsAs<Value>;
using AdamaxGroup = AdamaxOptionsAs<Given>;
void validate(const char* name, const AdamaxOptions&, const Site&);

/// Adam with the largest gradient in place of the root of squares (Kingma and Ba, 2015; torch.optim.Adamax).
/// The state has exp_avg and exp_inf.
class Adamax final : public OptimizerOf<AdamaxOptionsAs> {
 public:
  explicit Adamax(const ParameterList& parameters, const AdamaxOptions& o = {}, Site s = Site::current())
      : OptimizerOf("Adamax", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  Adamax(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : Adamax(parameters, AdamaxOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

template <template <class> class As>
struct LAMBOptionsAs {
  As<double> lr = otherwise<As>(1e-3);
  As<std::array<double, 2>> betas = otherwise<As>(std::array{0.9, 0.999});
  As<double> eps = otherwise<As>(1e-6);
  As<double> weight_decay = otherwise<As>(0.0);
  As<bool> maximize = otherwise<As>(false);
  As<bool> master_weights = otherwise<As>(false);  // of 16-bit parameters, kept in float32

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("betas", o.betas...), f("eps", o.eps...);
    f("weight_decay", o.weight_decay...), f("maximize", o.maximize...),
        f("master_weights", o.master_weights...);
  }
};
using LAMBOptions = LAMBOptionsAs<Value>;
using LAMBGroup = LAMBOptionsAs<Given>;
void validate(const char* name, const LAMBOptions&, const Site&);

/// Adam whose step of each parameter has that parameter's norm (You et al., "Large Batch Optimization for
/// Deep Learning", 2020, algorithm 2, with the identity for phi): the step is scaled by |p| / |step|, by 1 if
/// either is 0. The state has exp_avg and exp_avg_sq.
class LAMB final : public OptimizerOf<LAMBOptionsAs> {
 public:
  explicit LAMB(const ParameterList& parameters, const LAMBOptions& o = {}, Site s = Site::current())
      : OptimizerOf("LAMB", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  LAMB(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : LAMB(parameters, LAMBOptions{.lr = static_cast<double>(lr)}, s) {}

 private:
  void update(Update&, size_t group) const override;
  std::span<const char* const> state_names() const override;
};

}  // namespace lazy::optim
