// Says how a parameter's value is computed from parts, whenever it is read (lazy/core/recipe.hpp). What there
// is to register is in lazy/nn/modules/parametrize.hpp. Internal to lazy/.
#pragma once
#include <memory>

#include "lazy/core/layer_call.hpp"

namespace lazy::detail {

/// Belongs to one parameter, owns its parts, and dies with the last value that stands for the parameter.
class Parametrized {
 public:
  virtual ~Parametrized() = default;
  /// Records the parameter's value of its parts as they are now.
  virtual Tensor value(const Site&) = 0;
  /// Records a layer's result in a way of its own (Recipe::layer); undefined: by the value.
  virtual Tensor layer(const LayerCall&, const Site&) { return {}; }
  /// Records one of its dtype, shape and device, and changes nothing, whatever reading does.
  virtual Tensor like(const Site&) = 0;
  /// Sets the parts so that the value is this one; Error if there is no way.
  virtual void assign(const Tensor& value, const Site&) = 0;
  /// Returns the same of parts of its own, which have the same values.
  virtual std::shared_ptr<Parametrized> copy() const = 0;
  /// True if any part is trained.
  virtual bool any_trained() const = 0;
  /// Trains the parts of floating point, or freezes all.
  virtual void train_parts(bool on, const Site&) = 0;
  /// Forgets the gradients of all parts.
  virtual void forget_gradients(const Site&) = 0;
};

}  // namespace lazy::detail
