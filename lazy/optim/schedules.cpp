// Has the formulas of the schedules, which are torch's: most follow from the rate of the step before, so that
// several schedules of one optimizer multiply.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "lazy/core/build.hpp"
#include "lazy/optim/lr_scheduler.hpp"

namespace lazy::optim::lr_scheduler {
namespace {

constexpr double kPi = std::numbers::pi;
double real(int64_t n) { return static_cast<double>(n); }

/// Repeats one number for all groups.
void one_each(std::vector<double>& v, size_t groups) {
  if (v.size() == 1) v.resize(groups, v[0]);
}

std::string numbers_for(const char* option, size_t numbers, size_t groups) {
  return std::string(option) + " has " + std::to_string(numbers) + " numbers for " + std::to_string(groups) +
         " groups";
}

}  // namespace

LambdaLR::LambdaLR(Optimizer& o, Lambda f, Site s) : LambdaLR(o, std::vector<Lambda>(o.size(), f), s) {}
LambdaLR::LambdaLR(Optimizer& o, std::vector<Lambda> f, Site s)
    : LRScheduler("LambdaLR", o, s), lambdas_(std::move(f)) {
  if (lambdas_.size() != o.size()) fail(numbers_for("lr_lambda", lambdas_.size(), o.size()), s);
  begin(s);
}

MultiplicativeLR::MultiplicativeLR(Optimizer& o, Lambda f, Site s)
    : LRScheduler("MultiplicativeLR", o, s), lambda_(std::move(f)) {
  begin(s);
}

StepLR::StepLR(Optimizer& o, int64_t step_size, double gamma, Site s)
    : LRScheduler("StepLR", o, s), step_size_(step_size), gamma_(gamma) {
  if (step_size < 1) fail("step_size is " + std::to_string(step_size) + ", not >= 1", s);
  begin(s);
}
double StepLR::next(size_t g) {
  return last_epoch_ == 0 || last_epoch_ % step_size_ != 0 ? lr(g) : lr(g) * gamma_;
}
std::optional<double> StepLR::closed_form(size_t g) const {
  return base(g) * std::pow(gamma_, real(last_epoch_ / step_size_));
}

MultiStepLR::MultiStepLR(Optimizer& o, std::vector<int64_t> milestones, double gamma, Site s)
    : LRScheduler("MultiStepLR", o, s), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  begin(s);
}
double MultiStepLR::next(size_t g) {
  const auto [first, last] = std::equal_range(milestones_.begin(), milestones_.end(), last_epoch_);
  return first == last ? lr(g) : lr(g) * std::pow(gamma_, real(last - first));
}
std::optional<double> MultiStepLR::closed_form(size_t g) const {
  const auto past = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_);
  return base(g) * std::pow(gamma_, real(past - milestones_.begin()));
}

ConstantLR::ConstantLR(Optimizer& o, double factor, int64_t total_iters, Site s)
    : LRScheduler("ConstantLR", o, s), factor_(factor), total_iters_(total_iters) {
  if (!(factor >= 0 && factor <= 1)) fail("factor is " + std::to_string(factor) + ", not in [0, 1]", s);
  begin(s);
}
double ConstantLR::next(size_t g) {
  if (last_epoch_ == 0) return lr(g) * factor_;
  return last_epoch_ != total_iters_ ? lr(g) : lr(g) * (1 / factor_);
}
std::optional<double> ConstantLR::closed_form(size_t g) const {
  return base(g) * (last_epoch_ >= total_iters_ ? 1 : factor_);
}

LinearLR::LinearLR(Optimizer& o, double start_factor, double end_factor, int64_t total_iters, Site s)
    : LRScheduler("LinearLR", o, s), start_(start_factor), end_(end_factor), total_iters_(total_iters) {
  if (!(start_ > 0 && start_ <= 1)) fail("start_factor is " + std::to_string(start_) + ", not in (0, 1]", s);
  if (!(end_ >= 0 && end_ <= 1)) fail("end_factor is " + std::to_string(end_) + ", not in [0, 1]", s);
  begin(s);
}
double LinearLR::next(size_t g) {
  if (last_epoch_ == 0) return lr(g) * start_;
  if (is_first() || last_epoch_ > total_iters_) return lr(g);
  return lr(g) *
         (1 + (end_ - start_) / (real(total_iters_) * start_ + real(last_epoch_ - 1) * (end_ - start_)));
}
std::optional<double> LinearLR::closed_form(size_t g) const {
  const double part = real(std::min(total_iters_, last_epoch_)) / real(total_iters_);
  return base(g) * (start_ + (end_ - start_) * part);
}

ExponentialLR::ExponentialLR(Optimizer& o, double gamma, Site s)
    : LRScheduler("ExponentialLR", o, s), gamma_(gamma) {
  begin(s);
}
std::optional<double> ExponentialLR::closed_form(size_t g) const {
  return base(g) * std::pow(gamma_, real(last_epoch_));
}

PolynomialLR::PolynomialLR(Optimizer& o, int64_t total_iters, double power, Site s)
    : LRScheduler("PolynomialLR", o, s), total_iters_(total_iters), power_(power) {
  if (total_iters < 1) fail("total_iters is " + std::to_string(total_iters) + ", not >= 1", s);
  begin(s);
}
double PolynomialLR::next(size_t g) {
  if (is_first() || last_epoch_ > total_iters_) return lr(g);
  const double now = 1 - real(last_epoch_) / real(total_iters_),
               before = 1 - real(last_epoch_ - 1) / real(total_iters_);
  return lr(g) * std::pow(now / before, power_);
}
std::optional<double> PolynomialLR::closed_form(size_t g) const {
  return base(g) * std::pow(1 - real(std::min(total_iters_, last_epoch_)) / real(total_iters_), power_);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& o, int64_t T_max, double eta_min, Site s)
    : LRScheduler("CosineAnnealingLR", o, s), T_max_(T_max), eta_min_(eta_min) {
  if (T_max < 1) fail("T_max is " + std::to_string(T_max) + ", not >= 1", s);
  begin(s);
}
double CosineAnnealingLR::next(size_t g) {
  if (is_first()) return lr(g);
  if ((last_epoch_ - 1 - T_max_) % (2 * T_max_) == 0)  // at the bottom, where the quotient below is 0 / 0
    return lr(g) + (base(g) - eta_min_) * (1 - std::cos(kPi / real(T_max_))) / 2;
  return (1 + std::cos(kPi * real(last_epoch_) / real(T_max_))) /
             (1 + std::cos(kPi * real(last_epoch_ - 1) / real(T_max_))) * (lr(g) - eta_min_) +
         eta_min_;
}
std::optional<double> CosineAnnealingLR::closed_form(size_t g) const {
  return eta_min_ + (base(g) - eta_min_) * (1 + std::cos(kPi * real(last_epoch_) / real(T_max_))) / 2;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& o, int64_t T_0, int64_t T_mult,
                                                         double eta_min, Site s)
    : LRScheduler("CosineAnnealingWarmRestarts", o, s), T_mult_(T_mult), eta_min_(eta_min), T_i_(T_0) {
  if (T_0 < 1) fail("T_0 is " + std::to_string(T_0) + ", not >= 1", s);
  if (T_mult < 1) fail("T_mult is " + std::to_string(T_mult) + ", not >= 1", s);
  begin(s);
}
void CosineAnnealingWarmRestarts::step(Site s) {
  if (last_epoch_ < 0) {
    T_cur_ = 0;
  } else if (++T_cur_ >= T_i_) {
    T_cur_ -= T_i_;
    T_i_ *= T_mult_;
  }
  LRScheduler::step(s);
}
double CosineAnnealingWarmRestarts::next(size_t g) {
  return eta_min_ + (base(g) - eta_min_) * (1 + std::cos(kPi * real(T_cur_) / real(T_i_))) / 2;
}
std::vector<Option> CosineAnnealingWarmRestarts::progress() {
  return {{"last_epoch", last_epoch_}, {"T_cur", T_cur_}, {"T_i", T_i_}};
}

OneCycleLR::OneCycleLR(Optimizer& o, OneCycleOptions options, Site s)
    : LRScheduler("OneCycleLR", o, s), o_(std::move(options)) {
  if (o_.total_steps == 0) o_.total_steps = o_.epochs * o_.steps_per_epoch;
  if (o_.total_steps < 1)
    fail("total_steps is " + std::to_string(o_.total_steps) +
             ", not >= 1: give it, or epochs and steps_per_epoch",
         s);
  if (!(o_.pct_start >= 0 && o_.pct_start <= 1))
    fail("pct_start is " + std::to_string(o_.pct_start) + ", not in [0, 1]", s);
  one_each(o_.max_lr, o.size());
  if (o_.max_lr.size() != o.size()) fail(numbers_for("max_lr", o_.max_lr.size(), o.size()), s);
  if (o_.cycle_momentum) (void)momentum_name(s);
  for (size_t g = 0; g < o.size(); ++g) {
    base_lrs_[g] = o_.max_lr[g] / o_.div_factor;
    o.set_initial_lr(base_lrs_[g], g);
  }
  begin(s);
}
double OneCycleLR::next(size_t g) {
  if (last_epoch_ > o_.total_steps)
    fail("step " + std::to_string(last_epoch_) + " of " + std::to_string(o_.total_steps) + " total_steps",
         Site::current());
  struct Phase {
    double end, from_lr, to_lr, from_momentum, to_momentum;
  };
  const double low = base(g), high = o_.max_lr[g], least = low / o_.final_div_factor;
  const double slow = o_.base_momentum, fast = o_.max_momentum;
  const double up = o_.pct_start * real(o_.total_steps) - 1, end = real(o_.total_steps - 1);
  const double down = 2 * o_.pct_start * real(o_.total_steps) - 2;
  std::vector<Phase> phases{{up, low, high, fast, slow}};
  if (o_.three_phase)
    phases.push_back({down, high, low, slow, fast}), phases.push_back({end, low, least, fast, fast});
  else phases.push_back({end, high, least, slow, fast});
  size_t i = 0;
  while (i + 1 < phases.size() && real(last_epoch_) > phases[i].end) ++i;
  const double start = i == 0 ? 0 : phases[i - 1].end;
  const double part = (real(last_epoch_) - start) / (phases[i].end - start);
  const auto between = [&](double a, double b) {
    if (o_.anneal_strategy == Annealing::linear) return (b - a) * part + a;
    return b + (a - b) / 2 * (std::cos(kPi * part) + 1);
  };
  if (o_.cycle_momentum) set_momentum(between(phases[i].from_momentum, phases[i].to_momentum), g);
  return between(phases[i].from_lr, phases[i].to_lr);
}

CyclicLR::CyclicLR(Optimizer& o, CyclicOptions options, Site s)
    : LRScheduler("CyclicLR", o, s), o_(std::move(options)) {
  one_each(o_.base_lr, o.size());
  one_each(o_.max_lr, o.size());
  if (o_.base_lr.size() != o.size()) fail(numbers_for("base_lr", o_.base_lr.size(), o.size()), s);
  if (o_.max_lr.size() != o.size()) fail(numbers_for("max_lr", o_.max_lr.size(), o.size()), s);
  if (o_.step_size_down == 0) o_.step_size_down = o_.step_size_up;
  if (o_.step_size_up < 1 || o_.step_size_down < 1)
    fail("step_size_up is " + std::to_string(o_.step_size_up) + " and step_size_down " +
             std::to_string(o_.step_size_down) + ", not >= 1",
         s);
  if (o_.cycle_momentum) (void)momentum_name(s);
  base_lrs_ = o_.base_lr;
  begin(s);
}
double CyclicLR::scale(double cycle) const {
  if (o_.scale_fn)
    return o_.scale_fn(o_.scale_mode == CyclicOptions::Scale::cycle ? cycle : real(last_epoch_));
  switch (o_.mode) {
    case Cycle::triangular: return 1;
    case Cycle::triangular2: return 1 / std::pow(2.0, cycle - 1);
    case Cycle::exp_range: return std::pow(o_.gamma, real(last_epoch_));
  }
  return 1;
}
double CyclicLR::next(size_t g) {
  const double total = real(o_.step_size_up + o_.step_size_down), ratio = real(o_.step_size_up) / total;
  const double cycle = std::floor(1 + real(last_epoch_) / total);
  const double x = 1 + real(last_epoch_) / total - cycle;
  const double height = (x <= ratio ? x / ratio : (x - 1) / (ratio - 1)) * scale(cycle);
  if (o_.cycle_momentum) set_momentum(o_.max_momentum - (o_.max_momentum - o_.base_momentum) * height, g);
  return base(g) + (o_.max_lr[g] - base(g)) * height;
}

// The inner schedules have made their first steps when they were constructed; these are taken back, and the
// first one begins again.
SequentialLR::SequentialLR(Optimizer& o, std::vector<LRScheduler*> schedulers,
                           std::vector<int64_t> milestones, Site s)
    : LRScheduler("SequentialLR", o, s),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  if (schedulers_.empty() || milestones_.size() + 1 != schedulers_.size())
    fail(std::to_string(schedulers_.size()) + " schedules need a milestone between any two, not " +
             std::to_string(milestones_.size()),
         s);
  if (!std::is_sorted(milestones_.begin(), milestones_.end())) fail("the milestones are not in order", s);
  for (LRScheduler* part : schedulers_)
    if (&part->optimizer_ != &o) fail("a schedule is of another optimizer", s);
  for (size_t g = 0; g < o.size(); ++g) o.set_lr(o.initial_lr(g), g, s);
  for (LRScheduler* part : schedulers_) part->undo();
  last_epoch_ = 0;
  const auto first = std::upper_bound(milestones_.begin(), milestones_.end(), 0) - milestones_.begin();
  schedulers_[static_cast<size_t>(first)]->begin(s);
}
void SequentialLR::step(Site s) {
  ++last_epoch_;
  const auto past = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_);
  const auto i = static_cast<size_t>(past - milestones_.begin());
  if (i > 0 && milestones_[i - 1] == last_epoch_) schedulers_[i]->set_rates(0, s);
  else schedulers_[i]->step(s);
}

Optimizer& ChainedScheduler::optimizer_of(const std::vector<LRScheduler*>& schedulers, const Site& s) {
  if (schedulers.empty()) lazy::detail::fail<Error>("ChainedScheduler", "there are no schedules", s);
  return schedulers[0]->optimizer_;
}
ChainedScheduler::ChainedScheduler(std::vector<LRScheduler*> schedulers, Site s)
    : LRScheduler("ChainedScheduler", optimizer_of(schedulers, s), s), schedulers_(std::move(schedulers)) {
  for (LRScheduler* part : schedulers_)
    if (&part->optimizer_ != &optimizer_) fail("a schedule is of another optimizer", s);
  last_epoch_ = 0;
}
void ChainedScheduler::step(Site s) {
  ++last_epoch_;
  for (LRScheduler* part : schedulers_) part->step(s);
}

}  // namespace lazy::optim::lr_scheduler
