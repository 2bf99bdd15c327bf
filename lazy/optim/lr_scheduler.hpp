// Changes learning rates from step to step, as torch.optim.lr_scheduler does: the same names, defaults and
// numbers.
//
//   optim::SGD optimizer(model.parameters(), {.lr = 0.1, .momentum = 0.9});
//   lr_scheduler::LinearLR warm_up(optimizer, 0.01, 1.0, 500);
//   lr_scheduler::CosineAnnealingLR cosine(optimizer, 9500);
//   lr_scheduler::SequentialLR schedule(optimizer, {&warm_up, &cosine}, {500});
//   ...
//   optimizer.step();
//   schedule.step();
//
// A schedule sets the rate of its first step when it is constructed, and the next one at each step().
// Optimizer and inner schedules must outlive it. Rates are numbers of the host and arguments of the compiled
// program: no schedule computes, reads or compiles anything. Error for arguments out of range.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/optim/optimizer.hpp"

namespace lazy::optim::lr_scheduler {

class LRScheduler {
 public:
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;
  virtual ~LRScheduler() = default;

  /// Goes on to the next step, or epoch, and sets the rates. Error if groups were added to the optimizer
  /// since.
  virtual void step(Site s = Site::current());
  /// Returns the rates of the groups as they are now.
  std::vector<double> get_last_lr() const;
  int64_t last_epoch() const noexcept { return last_epoch_; }

  /// Returns how far the schedule is, as numbers; what its constructor was given is not in it. The rates
  /// themselves are in the optimizer's state.
  NamedTensors state_dict() const;
  /// Error for names that are missing; nothing changes then.
  void load_state_dict(const NamedTensors& state, Site s = Site::current());

 protected:
  LRScheduler(const char* name, Optimizer& optimizer, const Site& s);
  /// Sets the first rates; the last thing that a constructor does.
  void begin(const Site& s);
  /// Returns a group's rate for last_epoch(), which follows from its rate now.
  virtual double next(size_t group) = 0;
  /// Returns it from the base rate alone; nothing if there is no such formula.
  virtual std::optional<double> closed_form(size_t) const { return {}; }
  /// Lists the numbers that say how far the schedule is.
  virtual std::vector<Option> progress();
  virtual std::vector<LRScheduler*> parts() const { return {}; }

  double lr(size_t group) const { return optimizer_.lr(group); }
  double base(size_t group) const { return base_lrs_[group]; }
  bool is_first() const noexcept { return first_; }
  [[noreturn]] void fail(const std::string& what, const Site& s) const;
  /// Sets momentum or, of Adam's kin, the first beta. Error, from momentum_name(), if there is neither.
  void set_momentum(double value, size_t group);
  std::string momentum_name(const Site& s) const;

  const char* const name_;
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;  // one a group
  int64_t last_epoch_ = -1;

 private:
  friend class SequentialLR;
  friend class ChainedScheduler;
  void set_rates(std::optional<int64_t> epoch, const Site& s);
  void undo();
  void collect(std::vector<std::pair<std::string, Option>>& all, const std::string& prefix);

  bool first_ = false;  // while the constructor's step is under way
};

using Lambda = std::function<double(int64_t epoch)>;

/// Multiplies the base rate by a function of the epoch: one for all groups, or one each.
class LambdaLR final : public LRScheduler {
 public:
  LambdaLR(Optimizer&, Lambda, Site = Site::current());
  LambdaLR(Optimizer&, std::vector<Lambda>, Site = Site::current());

 private:
  double next(size_t group) override { return base(group) * lambdas_[group](last_epoch_); }
  std::vector<Lambda> lambdas_;
};

/// Multiplies the rate, each epoch, by a function of the epoch.
class MultiplicativeLR final : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer&, Lambda, Site = Site::current());

 private:
  double next(size_t group) override { return is_first() ? lr(group) : lr(group) * lambda_(last_epoch_); }
  Lambda lambda_;
};

/// Multiplies the rate by gamma every step_size epochs.
class StepLR final : public LRScheduler {
 public:
  StepLR(Optimizer&, int64_t step_size, double gamma = 0.1, Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  const int64_t step_size_;
  const double gamma_;
};

/// Multiplies the rate by gamma at each milestone; one that is there twice counts twice.
class MultiStepLR final : public LRScheduler {
 public:
  MultiStepLR(Optimizer&, std::vector<int64_t> milestones, double gamma = 0.1, Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  std::vector<int64_t> milestones_;
  const double gamma_;
};

/// Multiplies the rate by `factor` until epoch total_iters.
class ConstantLR final : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer&, double factor = 1.0 / 3, int64_t total_iters = 5, Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  const double factor_;
  const int64_t total_iters_;
};

/// Goes from start_factor to end_factor of the base rate in total_iters epochs.
class LinearLR final : public LRScheduler {
 public:
  explicit LinearLR(Optimizer&, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5,
                    Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  const double start_, end_;
  const int64_t total_iters_;
};

/// Multiplies the rate by gamma each epoch.
class ExponentialLR final : public LRScheduler {
 public:
  ExponentialLR(Optimizer&, double gamma, Site = Site::current());

 private:
  double next(size_t group) override { return is_first() ? lr(group) : lr(group) * gamma_; }
  std::optional<double> closed_form(size_t group) const override;
  const double gamma_;
};

/// Goes to 0 in total_iters epochs, as (1 - epoch / total_iters)^power.
class PolynomialLR final : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer&, int64_t total_iters = 5, double power = 1, Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  const int64_t total_iters_;
  const double power_;
};

/// Goes along half a cosine from the base rate to eta_min in T_max epochs, and back.
class CosineAnnealingLR final : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer&, int64_t T_max, double eta_min = 0, Site = Site::current());

 private:
  double next(size_t group) override;
  std::optional<double> closed_form(size_t group) const override;
  const int64_t T_max_;
  const double eta_min_;
};

/// Goes along half a cosine to eta_min in T_0 epochs, starts again, and takes T_mult times as long each time
/// (Loshchilov and Hutter, 2017).
class CosineAnnealingWarmRestarts final : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer&, int64_t T_0, int64_t T_mult = 1, double eta_min = 0,
                              Site = Site::current());
  void step(Site s = Site::current()) override;

 private:
  double next(size_t group) override;
  std::vector<Option> progress() override;
  const int64_t T_mult_;
  const double eta_min_;
  int64_t T_i_, T_cur_ = -1;
};

enum class Annealing { cos, linear };

struct OneCycleOptions {
  std::vector<double> max_lr;  // one for all groups, or one each
  int64_t total_steps = 0;     // or 0: epochs * steps_per_epoch
  int64_t epochs = 0, steps_per_epoch = 0;
  double pct_start = 0.3;
  Annealing anneal_strategy = Annealing::cos;
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};

/// Goes up to max_lr and down again, the momentum (or the first beta) against it (Smith and Topin, 2019).
/// Error for a step past total_steps.
class OneCycleLR final : public LRScheduler {
 public:
  OneCycleLR(Optimizer&, OneCycleOptions, Site = Site::current());
  OneCycleLR(Optimizer& o, double max_lr, int64_t total_steps, Site s = Site::current())
      : OneCycleLR(o, OneCycleOptions{.max_lr = {max_lr}, .total_steps = total_steps}, s) {}

 private:
  double next(size_t group) override;
  OneCycleOptions o_;
};

enum class Cycle { triangular, triangular2, exp_range };

struct CyclicOptions {
  std::vector<double> base_lr, max_lr;  // one for all groups, or one each
  int64_t step_size_up = 2000;
  int64_t step_size_down = 0;  // 0: as step_size_up
  Cycle mode = Cycle::triangular;
  double gamma = 1;                                                  // of exp_range
  std::function<double(double)> scale_fn = {};                       // takes the place of the mode
  enum class Scale { cycle, iterations } scale_mode = Scale::cycle;  // what scale_fn is called with
  bool cycle_momentum = true;
  double base_momentum = 0.8, max_momentum = 0.9;
};

/// Goes up and down between two rates (Smith, 2017).
class CyclicLR final : public LRScheduler {
 public:
  CyclicLR(Optimizer&, CyclicOptions, Site = Site::current());

 private:
  double next(size_t group) override;
  double scale(double cycle) const;
  CyclicOptions o_;
};

/// Follows one schedule after another: the next one begins at each milestone, at its own first rate.
class SequentialLR final : public LRScheduler {
 public:
  SequentialLR(Optimizer&, std::vector<LRScheduler*> schedulers, std::vector<int64_t> milestones,
               Site = Site::current());
  void step(Site s = Site::current()) override;

 private:
  double next(size_t group) override { return lr(group); }
  std::vector<LRScheduler*> parts() const override { return schedulers_; }
  std::vector<LRScheduler*> schedulers_;
  std::vector<int64_t> milestones_;
};

/// Steps several schedules at once, each of which changes what the one before it left.
class ChainedScheduler final : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<LRScheduler*> schedulers, Site = Site::current());
  void step(Site s = Site::current()) override;

 private:
  static Optimizer& optimizer_of(const std::vector<LRScheduler*>& schedulers, const Site& s);
  double next(size_t group) override { return lr(group); }
  std::vector<LRScheduler*> parts() const override { return schedulers_; }
  std::vector<LRScheduler*> schedulers_;
};

struct PlateauOptions {
  enum class Mode { min, max } mode = Mode::min;
  double factor = 0.1;
  int64_t patience = 10;  // epochs without improvement that are tolerated
  double threshold = 1e-4;
  enum class Threshold { rel, abs } threshold_mode = Threshold::rel;
  int64_t cooldown = 0;
  std::vector<double> min_lr = {0};  // one for all groups, or one each
  double eps = 1e-8;                 // smaller changes of the rate are not made
};

/// Reduces the rate once a metric stops getting better. The metric is a number of the host: step() takes what
/// the program has read.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(Optimizer&, PlateauOptions = {}, Site = Site::current());
  ReduceLROnPlateau(const ReduceLROnPlateau&) = delete;
  ReduceLROnPlateau& operator=(const ReduceLROnPlateau&) = delete;

  void step(double metric, Site s = Site::current());
  std::vector<double> get_last_lr() const;
  NamedTensors state_dict() const;
  void load_state_dict(const NamedTensors& state, Site s = Site::current());

 private:
  bool is_better(double metric) const;
  std::vector<Option> progress();

  Optimizer& optimizer_;
  PlateauOptions o_;
  double best_;
  int64_t last_epoch_ = 0, bad_epochs_ = 0, cooldown_counter_ = 0;
};

}  // namespace lazy::optim::lr_scheduler
