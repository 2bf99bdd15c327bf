// Freezes models: what a frozen model has of weights and statistics stays as it is, so what is computed of
// them alone is computed once and kept, for all threads and programs.
//
//   lazy::inference::freeze(model);                       // eval(), too
//   lazy::inference::freeze(model, "model.safetensors");  // and writes it
//   ...
//   lazy::inference::load_frozen(other, "model.safetensors");  // maps it: no copy, in any number of
//   processes lazy::inference::thaw(model).train();
//
// A mark, not a rewrite: the model has the parameters and names that it had, and state_dict() gives them.
// Each flush folds what the marks allow. A batch norm with running statistics that alone reads a convolution
// or a linear layer is folded into its weights and bias; casts, other layouts and packed weights are kept.
// LAZY_LOG=flush and lazy::explain() say what was folded, metrics().calls_folded counts it. A fold multiplies
// weights before products are summed, so results differ in the last bits from the model's before; without one
// they are the same to the bit.
//
// Kept results take memory beside the weights, within LAZY_KEEP_MB: where that is less than the model needs,
// folded weights are computed at each call.
//
// Parameters of a frozen model have no gradients, whatever requires_grad_() said: they do once it is thawed.
// Training it throws Error, at the line of the user's that does it: train(), a step of an optimizer that has
// its parameters, backward() of a value that depends on nothing else, assigning to a parameter,
// load_state_dict(), to(). A buffer that is assigned another value is one that isn't frozen. Copies of a
// frozen model are not frozen.
#pragma once
#include <string>

#include "lazy/nn/modules/module.hpp"

namespace lazy::inference {

/// Freezes the model's parameters and buffers, which are computed. Values in memory of the user's (from_blob)
/// must stay as they are. One that is frozen already stays so. Not while other threads run the model.
nn::Module& freeze(nn::Module& model, Site s = Site::current());
/// Does that, and writes parameters and buffers by their names in the safetensors format, each as it is:
/// folds are done where they are loaded. Throws what save_safetensors() throws; the model is frozen then.
nn::Module& freeze(nn::Module& model, const std::string& path, Site s = Site::current());
/// Has the model's parameters and buffers be those of a file, mapped into memory and frozen. What has another
/// dtype or device in the model is converted, a copy. Throws what load_safetensors() and load_state_dict()
/// throw: the model is as it was.
nn::Module& load_frozen(nn::Module& model, const std::string& path, Site s = Site::current());
/// Undoes freeze(): parameters are trained again if they were before, without gradients so far. The model
/// stays in evaluation mode until train().
nn::Module& thaw(nn::Module& model, Site s = Site::current());
/// True if all parameters and buffers are frozen, and there are some.
bool is_frozen(const nn::Module& model);

}  // namespace lazy::inference
