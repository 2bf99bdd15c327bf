// Lets a variable have no value of its own: reading it records one, at the line that reads it. A parameter
// with a parametrization is such a variable (lazy/autograd/parametrized.hpp). Internal to lazy/.
//
// Such a variable holds a node of its shape and dtype that never gets a value, and to which a Recipe is
// attached. Whoever reads a Tensor gets a value in its place: an Arg, a copy (Tensor, MaybeTensor), and the
// members that look at values. So only the variable itself has that node, and what is recorded has not.
//
// Invariant: no op reads a node with a recipe. The door of all ops (record.hpp) throws for one.
#pragma once
#include "jit/graph/attachment.hpp"
#include "lazy/core/layer_call.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::detail {

class Recipe : public jit::Attachment {
 public:
  /// Records the variable's value as it is now and returns it.
  virtual jit::Handle read(const Site&) = 0;
  /// Records a layer's result in a way of the variable's own, by integers say. Undefined: by its value.
  virtual Tensor layer(const LayerCall&, const Site&) { return {}; }
  /// Makes the variable have a value, of its shape and dtype; throws if it can't.
  virtual void assign(const jit::Handle& value, const Site&) = 0;
  /// True if gradients go through what is read.
  virtual bool requires_grad() const = 0;
  /// Forgets the gradients of what the value is computed from.
  virtual void zero_grad(const Site&) = 0;

 protected:
  Recipe() noexcept;
  ~Recipe() override;
};

/// Returns a node that stands for a variable of the recipe, which it owns.
jit::Handle with_recipe(Recipe*, DType, const Shape&, Device, const Site&);
/// Returns the recipe of a variable that has no value of its own; else null.
Recipe* recipe_of(const jit::Handle&) noexcept;
/// Returns the layer's result that its weights record themselves; undefined where they have no such way.
inline Tensor recorded_by_weights(const Arg& weights, const LayerCall& call) {
  if (const jit::Handle* const variable = weights.read_of()) [[unlikely]]
    if (Recipe* const r = recipe_of(*variable)) return r->layer(call, call.x.site());
  return {};
}
/// Returns the variable's handle; of one with a recipe its value, which `keep` holds then.
inline const jit::Handle& value_of(const jit::Handle& h, jit::Handle& keep, const Site& s) {
  if (any_recipes()) [[unlikely]]
    if (jit::Handle now = read_recipe(h, s)) return keep = std::move(now);
  return h;
}

}  // namespace lazy::detail
