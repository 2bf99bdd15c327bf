#include "lazy/optim/lr_scheduler.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/optim/progress.hpp"
#include "support/float_mode.hpp"

namespace lazy::optim::lr_scheduler {

LRScheduler::LRScheduler(const char* name, Optimizer& optimizer, const Site& s)
    : name_(name), optimizer_(optimizer) {
  if (optimizer.size() == 0) fail("the optimizer has no parameters", s);
  for (size_t g = 0; g < optimizer.size(); ++g) base_lrs_.push_back(optimizer.initial_lr(g));
}

void LRScheduler::fail(const std::string& what, const Site& s) const {
  lazy::detail::fail<Error>(name_, what, s);
}

void LRScheduler::begin(const Site& s) {
  first_ = true;
  step(s);
  first_ = false;
}

void LRScheduler::step(Site s) { set_rates({}, s); }

// Follows torch: an epoch that is given asks for the closed form, where there is one.
void LRScheduler::set_rates(std::optional<int64_t> epoch, const Site& s) {
  if (optimizer_.size() != base_lrs_.size())
    fail("the optimizer has " + std::to_string(optimizer_.size()) + " groups now, " +
             std::to_string(base_lrs_.size()) + " when the schedule was made",
         s);
  const FloatMode mode;
  last_epoch_ = epoch.value_or(last_epoch_ + 1);
  std::vector<double> rates;
  for (size_t g = 0; g < base_lrs_.size(); ++g) {
    const std::optional<double> closed = epoch ? closed_form(g) : std::nullopt;
    rates.push_back(closed ? *closed : next(g));
  }
  for (size_t g = 0; g < rates.size(); ++g) optimizer_.set_lr(rates[g], g, s);
}

void LRScheduler::undo() {
  for (LRScheduler* part : parts()) part->undo();
  if (parts().empty()) --last_epoch_;
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (size_t g = 0; g < optimizer_.size(); ++g) rates.push_back(optimizer_.lr(g));
  return rates;
}

std::string LRScheduler::momentum_name(const Site& s) const {
  for (const char* n : {"betas.0", "momentum"})
    if (optimizer_.has_option(n)) return n;
  fail("cycle_momentum needs an optimizer with a momentum or betas, not " + std::string(optimizer_.name()),
       s);
}

void LRScheduler::set_momentum(double value, size_t group) {
  optimizer_.set_option(momentum_name(Site::current()), value, group);
}

std::vector<Option> LRScheduler::progress() { return {{"last_epoch", last_epoch_}}; }

void LRScheduler::collect(std::vector<std::pair<std::string, Option>>& all, const std::string& prefix) {
  for (const Option& o : progress()) all.emplace_back(prefix + o.name, o);
  for (size_t g = 0; g < base_lrs_.size(); ++g)
    all.emplace_back(prefix + "base_lrs." + std::to_string(g), Option("base_lr", base_lrs_[g]));
  const std::vector<LRScheduler*> inner = parts();
  for (size_t i = 0; i < inner.size(); ++i)
    inner[i]->collect(all, prefix + "schedulers." + std::to_string(i) + ".");
}

NamedTensors LRScheduler::state_dict() const {
  std::vector<std::pair<std::string, Option>> all;
  const_cast<LRScheduler*>(this)->collect(all, "");
  return saved(all);
}

void LRScheduler::load_state_dict(const NamedTensors& state, Site s) {
  std::vector<std::pair<std::string, Option>> all;
  collect(all, "");
  load(name_, all, state, s);
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, PlateauOptions o, Site s)
    : optimizer_(optimizer), o_(std::move(o)) {
  const auto fail = [&](const std::string& what) { lazy::detail::fail<Error>("ReduceLROnPlateau", what, s); };
  if (!(o_.factor >= 0 && o_.factor < 1)) fail("factor is " + std::to_string(o_.factor) + ", not in [0, 1)");
  if (o_.min_lr.size() == 1) o_.min_lr.resize(optimizer.size(), o_.min_lr[0]);
  if (o_.min_lr.size() != optimizer.size())
    fail("min_lr has " + std::to_string(o_.min_lr.size()) + " numbers for " +
         std::to_string(optimizer.size()) + " groups");
  best_ = std::numeric_limits<double>::infinity();
  if (o_.mode == PlateauOptions::Mode::max) best_ = -best_;
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const bool lower = o_.mode == PlateauOptions::Mode::min;
  const double by = lower ? -o_.threshold : o_.threshold;
  const double bar = o_.threshold_mode == PlateauOptions::Threshold::rel ? best_ * (1 + by) : best_ + by;
  return lower ? metric < bar : metric > bar;
}

void ReduceLROnPlateau::step(double metric, Site s) {
  if (o_.min_lr.size() != optimizer_.size())
    lazy::detail::fail<Error>("ReduceLROnPlateau",
                              "the optimizer has " + std::to_string(optimizer_.size()) + " groups now, " +
                                  std::to_string(o_.min_lr.size()) + " when the schedule was made",
                              s);
  const FloatMode mode;
  ++last_epoch_;
  if (is_better(metric)) best_ = metric, bad_epochs_ = 0;
  else ++bad_epochs_;
  if (cooldown_counter_ > 0) --cooldown_counter_, bad_epochs_ = 0;
  if (bad_epochs_ <= o_.patience) return;
  for (size_t g = 0; g < optimizer_.size(); ++g) {
    const double before = optimizer_.lr(g), rate = std::max(before * o_.factor, o_.min_lr[g]);
    if (before - rate > o_.eps) optimizer_.set_lr(rate, g, s);
  }
  cooldown_counter_ = o_.cooldown;
  bad_epochs_ = 0;
}

std::vector<double> ReduceLROnPlateau::get_last_lr() const {
  std::vector<double> rates;
  for (size_t g = 0; g < optimizer_.size(); ++g) rates.push_back(optimizer_.lr(g));
  return rates;
}

std::vector<Option> ReduceLROnPlateau::progress() {
  return {{"best", best_},
          {"last_epoch", last_epoch_},
          {"num_bad_epochs", bad_epochs_},
          {"cooldown_counter", cooldown_counter_}};
}

NamedTensors ReduceLROnPlateau::state_dict() const {
  std::vector<std::pair<std::string, Option>> all;
  for (const Option& o : const_cast<ReduceLROnPlateau*>(this)->progress()) all.emplace_back(o.name, o);
  return saved(all);
}

void ReduceLROnPlateau::load_state_dict(const NamedTensors& state, Site s) {
  std::vector<std::pair<std::string, Option>> all;
  for (const Option& o : progress()) all.emplace_back(o.name, o);
  load("ReduceLROnPlateau", all, state, s);
}

}  // namespace lazy::optim::lr_scheduler
