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

#include "lazy/optim/parameters.hpp"
#include "support/error.hpp"

namespace lazy::optim {

/// Moves each of the averages to the value of its parameter by `weight` of the way, in float32 if they are of
/// 16 bits. Error if there are not as many of both.
void update_averages(const ParameterList& averages, const ParameterList& parameters, double weight,
                     Site s = Site::current());

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
    const double weight = n_averaged == 0 ? 1
                          : decay_        ? 1 - *decay_
                                          : 1 / static_cast<double>(n_averaged + 1);
    update_averages(module.parameters(), model.parameters(), weight, s);
    if constexpr (requires { module.load_state_dict(model.named_buffers(), false, s); })
      module.load_state_dict(model.named_buffers(), false, s);
    ++n_averaged;
  }

  Model module;            // evaluate it as any model
  int64_t n_averaged = 0;  // updates so far; save it with module.state_dict()

 private:
  std::optional<double> decay_;
};

}  // namespace lazy::optim
