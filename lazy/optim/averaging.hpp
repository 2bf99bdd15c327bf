// Averages the weights of a model over training (Izmailov et al., "Averaging Weights Leads to Wider Optima
// and Better Generalization", 2018), or exponentially, as torch.optim.swa_utils does.
//
//   optim::AveragedModel ema(model, 0.999);
//   ...
//   optimizer.step();
//   ema.update_parameters(model);      // part of the step's flush
//   evaluate(ema.module);
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "lazy/optim/parameters.hpp"
#include "lazy/optim/taking_back.hpp"
#include "support/error.hpp"

namespace lazy::optim {

/// Moves each of the averages to the value of its parameter by `weight` of the way, in float32 if they are of
/// 16 bits. Error if there are not as many of both.
void update_averages(const ParameterList& averages, const ParameterList& parameters, double weight,
                     Site s = Site::current());

/// Remembers the averages that steps replaced, for as long as the new ones have no values: one that cannot be
/// computed, because of an index out of range, is taken back.
class AverageSteps : private Revocable {
 public:
  AverageSteps() = default;
  AverageSteps(const AverageSteps&) : Revocable() {}  // a copy has steps of its own
  AverageSteps& operator=(const AverageSteps&) { return *this; }

  /// Does what update_averages() does.
  void update(const ParameterList& averages, const ParameterList& parameters, double weight, const Site& s);
  /// Returns how many steps were taken back since the latest call.
  int64_t taken_back() { return std::exchange(taken_back_, 0); }

 private:
  void take_back(const Failed&) override;
  struct Replaced {
    Nodes by, average;  // none: nothing was left of it
  };
  struct Held {
    ParameterRef average;
    std::vector<Replaced> replaced;  // in order
  };
  std::vector<Held> held_;
  int64_t taken_back_ = 0;
};

/// Holds a copy of a model whose parameters are averages of the model's.
template <class Model>
class AveragedModel {
 public:
  /// Copies the model. With a decay the average is decay * average + (1 - decay) * value, without one the
  /// mean of all values. Error unless 0 <= decay <= 1.
  explicit AveragedModel(const Model& model, std::optional<double> decay = {}, Site s = Site::current())
      : module(model), decay_(decay) {
    if (decay && !(*decay >= 0 && *decay <= 1))
      throw Error("AveragedModel: decay is " + std::to_string(*decay) + ", not in [0, 1]", s);
  }

  /// Records the next average; the first time, the parameters themselves. Buffers are copied.
  void update_parameters(Model& model, Site s = Site::current()) {
    n_averaged -= steps_.taken_back();
    const double weight = n_averaged == 0 ? 1
                          : decay_        ? 1 - *decay_
                                          : 1 / static_cast<double>(n_averaged + 1);
    if constexpr (requires { model.parameters(s); })
      steps_.update(module.parameters(s), model.parameters(s), weight, s);
    else steps_.update(module.parameters(), model.parameters(), weight, s);
    if constexpr (requires { module.load_state_dict(model.named_buffers(), false, s); })
      module.load_state_dict(model.named_buffers(s), false, s);
    ++n_averaged;
  }

  Model module;            // evaluate it as any model
  int64_t n_averaged = 0;  // updates so far; save it with module.state_dict()

 private:
  std::optional<double> decay_;
  AverageSteps steps_;
};

}  // namespace lazy::optim
