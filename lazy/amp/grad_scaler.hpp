// Keeps gradients of float16 from vanishing: the loss is multiplied by a scale before backward(), the
// gradients are divided by it before the step, and a step whose gradients are infinite or NaN is skipped.
//
//   GradScaler scaler;
//   for (auto [x, y] : batches) {
//     optimizer.zero_grad();
//     Tensor loss;
//     {
//       const autocast scope(float16);
//       loss = cross_entropy(model(x), y);
//     }
//     scaler.scale(loss).backward();
//     scaler.unscale_(optimizer);                              // only if something looks at the gradients,
//     optim::clip_grad_norm_(model.named_parameters(), 1.0);   // as clipping does
//     scaler.step(optimizer);
//     scaler.update();
//     eval(loss);
//   }
//
// Whether a step is skipped, the scale, and the number of steps are values of the graph: nothing is read, and
// forward, backward, update and the new scale are one flush. The scale is torch's (torch.amp.GradScaler):
// growth_factor times as large after growth_interval steps in a row that were not skipped, unless that is no
// finite float32, and backoff_factor times as large after a skipped one.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "lazy/optim/optimizer.hpp"

namespace lazy {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;        // above 1
  double backoff_factor = 0.5;     // in (0, 1)
  int64_t growth_interval = 2000;  // steps, at least 1
  bool enabled = true;             // if not, gradients and steps are as without a scaler
};

class GradScaler : private optim::Revocable {
 public:
  using Options = GradScalerOptions;
  /// Error for an option out of range.
  explicit GradScaler(const Options& = {}, Site = Site::current());

  /// Makes of what was found of an optimizer's gradients (bool, no axes: one is not finite; undefined: there
  /// are none) what counts, where others hold gradients of the same step.
  using Agree = std::function<Tensor(const Tensor& found)>;

  /// Returns the loss, of any shape, times the scale, in float32 or float64.
  Tensor scale(const Tensor& loss, Site = Site::current());
  /// Divides the gradients of the optimizer's parameters by the scale, once before its step. Error for the
  /// second time, after the step, and for gradients of float16, which would vanish: step() divides them in
  /// float32.
  void unscale_(optim::Optimizer&, Site = Site::current());
  /// Does so for an optimizer of some of the gradients, as distributed::ZeroOptimizer's.
  void unscale_(optim::Optimizer&, const Agree&, Site = Site::current());
  /// Records the optimizer's step by the unscaled gradients, which is skipped if one of them is infinite or
  /// NaN. Error for the second time since the last update(), and for LBFGS.
  void step(optim::Optimizer&, Site = Site::current());
  /// Does so for an optimizer of some of the gradients, all of which are looked at.
  void step(optim::Optimizer&, const Agree&, Site = Site::current());
  /// Has the scale grow or shrink, once after the steps of all optimizers. Error if there was none.
  void update(Site = Site::current());
  /// Sets the scale instead.
  void update(double scale, Site = Site::current());

  /// Returns the scale, 1 if the scaler is disabled. Computes what is pending.
  double get_scale(Site = Site::current()) const;
  bool is_enabled() const noexcept { return options_.enabled; }
  const Options& options() const noexcept { return options_; }
  /// Replaces the factors and the interval; the scale stays. Error for one out of range.
  void set_options(const Options&, Site = Site::current());

  /// Returns `scale`, `growth_factor`, `backoff_factor`, `growth_interval` and `_growth_tracker`, the number
  /// of steps since the scale changed; nothing if the scaler is disabled.
  NamedTensors state_dict() const;
  /// Takes what state_dict() returned; a disabled scaler takes nothing. Error for a name that is missing or a
  /// value out of range; nothing changes then.
  void load_state_dict(const NamedTensors&, Site = Site::current());

 private:
  enum class Stage { unscaled, stepped };
  /// Holds what is known of an optimizer since the last update.
  struct OfOptimizer {
    Stage stage;
    Tensor found;  // bool, no axes: a gradient is not finite; undefined if there is no gradient
  };
  /// Remembers what an update replaced, for as long as its own values are pending.
  struct Replaced {
    optim::Nodes by, scale, tracker;
  };

  void begin(Device, const Site&);
  Tensor inverse(const char* function, const Site&) const;
  Tensor not_finite(const char* function, const optim::Optimizer&, const Site&) const;
  void take_back(const optim::Failed&) override;

  Options options_;
  Tensor scale_;    // float32, no axes; undefined until it is needed, when it is on the device of the loss
  Tensor tracker_;  // int32, no axes
  double initial_scale_, initial_tracker_ = 0;
  std::unordered_map<const optim::Optimizer*, OfOptimizer> optimizers_;
  std::vector<Replaced> replaced_;
};

}  // namespace lazy
