#include "lazy/amp/grad_scaler.hpp"

#include <cmath>

#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/optim/gradients.hpp"
#include "lazy/optim/progress.hpp"

namespace lazy {
namespace {
using namespace detail;

constexpr const char* kName = "GradScaler";

void validate(const GradScalerOptions& o, double scale, const Site& s) {
  const auto check = [&](bool ok, const char* option, double v, const char* range) {
    if (!ok) fail<Error>(kName, std::string(option) + " is " + std::to_string(v) + ", not " + range, s);
  };
  check(scale > 0 && std::isfinite(static_cast<float>(scale)), "the scale", scale,
        "above 0 and finite in float32");
  check(o.growth_factor > 1 && std::isfinite(o.growth_factor), "growth_factor", o.growth_factor, "above 1");
  check(o.backoff_factor > 0 && o.backoff_factor < 1, "backoff_factor", o.backoff_factor, "in (0, 1)");
  check(o.growth_interval >= 1, "growth_interval", static_cast<double>(o.growth_interval), "at least 1");
}

Term either(const Term& a, const Term& b) { return a.handle() ? a | b : b; }

}  // namespace

GradScaler::GradScaler(const Options& o, Site s) : options_(o), initial_scale_(o.init_scale) {
  validate(o, o.init_scale, s);
}

void GradScaler::set_options(const Options& o, Site s) {
  validate(o, o.init_scale, s);
  if (o.enabled != options_.enabled) fail<Error>(kName, "is enabled or disabled when it is made", s);
  options_ = o;
}

// Both are inputs of programs from the first step on, so that has the second one's.
void GradScaler::begin(Device device, const Site& s) {
  if (scale_.defined()) return;
  const no_grad scope;
  const auto scale = static_cast<float>(initial_scale_);
  const auto tracker = static_cast<int32_t>(initial_tracker_);
  scale_ = from_span(std::span(&scale, 1), Shape{}, device, s);
  tracker_ = from_span(std::span(&tracker, 1), Shape{}, device, s);
}

Tensor GradScaler::scale(const Tensor& loss, Site s) {
  if (!is_enabled()) return loss;
  begin(loss.device(s), s);
  const Tensor wide = is_half(loss.dtype(s)) ? loss.astype(float32, s) : loss;
  return multiply(Arg(wide, s), Arg(scale_.to(loss.device(s), s), s));
}

// As torch's: the reciprocal is rounded once, from float64.
Tensor GradScaler::inverse(const char* function, const Site& s) const {
  const Formula f(function, s);
  return f.tensor((1 / f.term(scale_.handle()).as(float64)).as(float32).handle());
}

Tensor GradScaler::not_finite(const char* function, const optim::Optimizer& o, const Site& s) const {
  Formula f(function, s);
  Term found;
  optim::for_gradients(f, o.parameters(), [&](Parameter&, const Term& g) {
    if (numel(g.shape()) == 0) return;
    const Handle bad = f.opposite(f.op(Op::isfinite, g.handle()));
    const Tensor any = f.tensor(f.reduce(Op::any, bad, {}));
    found = either(found, f.term(any.to(scale_.device(s), s).handle()));
  });
  return found.handle() ? f.tensor(found.handle()) : Tensor();
}

namespace {
const Tensor& as_found(const Tensor& found) { return found; }
}  // namespace

void GradScaler::unscale_(optim::Optimizer& o, Site s) { unscale_(o, as_found, s); }
void GradScaler::step(optim::Optimizer& o, Site s) { step(o, as_found, s); }

void GradScaler::unscale_(optim::Optimizer& o, const Agree& agree, Site s) {
  constexpr const char* kFunction = "GradScaler.unscale_";
  if (!is_enabled()) return;
  if (const auto known = optimizers_.find(&o); known != optimizers_.end())
    fail<Error>(kFunction,
                known->second.stage == Stage::stepped
                    ? std::string("step(") + o.name() + ") was called since the last update()"
                    : std::string("was called for this ") + o.name() + " since the last update()",
                s);
  if (!scale_.defined()) fail<Error>(kFunction, "there is no scaled loss: scale() was not called", s);
  const no_grad scope;
  Formula f(kFunction, s);
  optim::for_gradients(f, o.parameters(), [&](Parameter&, const Term&) {
    if (f.result == float16)
      f.fail<Error>(
          "a gradient is of float16, in which it would vanish: leave it to step(), or keep parameters in "
          "float32 and compute in an autocast(float16)");
  });
  const Tensor found = agree(not_finite(kFunction, o, s)), by = inverse(kFunction, s);
  optim::for_gradients(f, o.parameters(), [&](Parameter& p, const Term& g) {
    const Term unscaled = g * f.term(by.to(p.device(s), s));
    p.set_grad(f.tensor(unscaled.as(f.result).handle()), s);
  });
  optimizers_[&o] = {Stage::unscaled, found};
}

void GradScaler::step(optim::Optimizer& o, const Agree& agree, Site s) {
  constexpr const char* kFunction = "GradScaler.step";
  if (!is_enabled()) return o.step(s);
  const auto known = optimizers_.find(&o);
  if (known != optimizers_.end() && known->second.stage == Stage::stepped)
    fail<Error>(kFunction, std::string("was called for this ") + o.name() + " since the last update()", s);
  if (!scale_.defined()) fail<Error>(kFunction, "there is no scaled loss: scale() was not called", s);
  const no_grad scope;
  const bool unscaled = known != optimizers_.end();
  const Tensor found = unscaled ? known->second.found : agree(not_finite(kFunction, o, s));
  if (found.defined()) o.step_unless(found, unscaled ? Tensor() : inverse(kFunction, s), s);
  else o.step(s);
  optimizers_[&o] = {Stage::stepped, found};
}

void GradScaler::update(Site s) {
  constexpr const char* kFunction = "GradScaler.update";
  if (!is_enabled()) return;
  if (optimizers_.empty()) fail<Error>(kFunction, "there was no step() or unscale_() since the last one", s);
  const no_grad scope;
  const Formula f(kFunction, s);
  Term found;
  for (const auto& [optimizer, known] : optimizers_)
    if (known.found.defined()) found = either(found, f.term(known.found.handle()));
  optimizers_.clear();
  if (!found.handle()) return;
  note_step();
  if (scale_.handle()->ready()) replaced_.clear();
  Replaced replaced{{}, optim::Nodes(scale_.handle()), optim::Nodes(tracker_.handle())};
  const Term scale = f.term(scale_.handle()), count = f.term(tracker_.handle()) + 1;
  const Term due = count >= static_cast<double>(options_.growth_interval);
  const Term grown = scale * options_.growth_factor;
  const Term can_grow = due & f.term(f.op(Op::isfinite, grown.handle()));
  tracker_ = f.tensor(where(found | due, count.number(0), count).handle());
  scale_ = f.tensor(where(found, scale * options_.backoff_factor, where(can_grow, grown, scale)).handle());
  replaced.by = optim::Nodes(scale_.handle());
  replaced_.push_back(replaced);
}

void GradScaler::update(double scale, Site s) {
  if (!is_enabled()) return;
  validate(options_, scale, s);
  initial_scale_ = scale;
  if (scale_.defined()) {
    const auto value = static_cast<float>(scale);
    scale_ = from_span(std::span(&value, 1), Shape{}, scale_.device(s), s);
  }
  optimizers_.clear();
  replaced_.clear();
}

// A batch whose values cannot be computed leaves no trace, as with optimizers.
void GradScaler::take_back(const optim::Failed& failed) {
  std::erase_if(optimizers_, [&](const auto& o) {
    return o.second.found.defined() && failed.contains(o.second.found.handle().get());
  });
  if (!scale_.defined()) return;
  const std::vector<Replaced> removed =
      optim::remove_failed(replaced_, failed, optim::Nodes(scale_.handle()));
  if (removed.empty()) return;
  Tensor scale(removed.front().scale.value()), tracker(removed.front().tracker.value());
  scale_ = std::move(scale);
  tracker_ = std::move(tracker);
}

double GradScaler::get_scale(Site s) const {
  if (!is_enabled()) return 1;
  return scale_.defined() ? scale_.item<double>(s) : initial_scale_;
}

NamedTensors GradScaler::state_dict() const {
  NamedTensors all;
  if (!is_enabled()) return all;
  all.set("scale", scale_.defined() ? scale_ : tensor(initial_scale_, float32));
  all.set("growth_factor", tensor(options_.growth_factor, float64));
  all.set("backoff_factor", tensor(options_.backoff_factor, float64));
  all.set("growth_interval", tensor(options_.growth_interval, int64));
  all.set("_growth_tracker", tracker_.defined() ? tracker_ : tensor(initial_tracker_, int32));
  return all;
}

void GradScaler::load_state_dict(const NamedTensors& state, Site s) {
  if (!is_enabled()) return;
  const auto number = [&](const char* key) { return optim::loaded_number(kName, state, key, s); };
  Options o = options_;
  const double scale = number("scale"), tracker = number("_growth_tracker");
  o.growth_factor = number("growth_factor");
  o.backoff_factor = number("backoff_factor");
  o.growth_interval = static_cast<int64_t>(number("growth_interval"));
  validate(o, scale, s);
  options_ = o;
  initial_scale_ = scale;
  initial_tracker_ = tracker;
  scale_ = tracker_ = Tensor();
  optimizers_.clear();
  replaced_.clear();
}

}  // namespace lazy
