// Saves what a call of a model records as a model in the ONNX format.
//
//   lazy::onnx::save(model, x, "model.onnx");                              // for the shape of x
//   lazy::onnx::save(model, x, "model.onnx", {.dynamic_batch = true});     // for any number of rows
//
// The call is recorded and not run. Convolutions, linear maps and batch norms are nodes of the format; what
// has no operator of its own, as attention, is written as the ops that it stands for. Weights are
// initializers under the names of state_dict(), other values that the model reads are initializers, too.
// Opset 18.
#pragma once
#include <concepts>
#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "lazy/core/named.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::onnx {

struct SaveOptions {
  std::vector<std::string> inputs = {};   // names; none: x, or x0, x1, ... of several
  std::vector<std::string> outputs = {};  // names; none: y, or y0, y1, ...
  /// The extent of axis 0 of all inputs may be another in calls of what is saved. The model is recorded for
  /// two numbers of rows, and what differs between them follows from the input's.
  bool dynamic_batch = false;
};

/// Saves a function of tensors. `weights` names what it reads. Error that lists all ops that can't be saved,
/// before anything is written; Error for a value that is read while the function records, and for extents
/// that follow from the batch otherwise than by a factor; IoError for what can't be written.
void save(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& call,
          const NamedTensors& weights, const std::vector<Tensor>& example, const std::filesystem::path& path,
          const SaveOptions& options = {}, Site s = Site::current());

/// Saves a model of one or, by a vector, several tensors, as it is: call eval() before for what serves.
template <std::derived_from<nn::Module> M, class Example>
requires std::is_invocable_v<M&, const Example&>
void save(M& model, const Example& example, const std::filesystem::path& path,
          const SaveOptions& options = {}, Site s = Site::current()) {
  constexpr bool several = std::is_same_v<Example, std::vector<Tensor>>;
  const auto call = [&](const std::vector<Tensor>& inputs) {
    const auto listed = [](auto&& r) {
      if constexpr (std::is_convertible_v<decltype(r), Tensor>) return std::vector<Tensor>{Tensor(r)};
      else return std::vector<Tensor>(r.begin(), r.end());
    };
    if constexpr (several) return listed(model(inputs));
    else return listed(model(inputs.at(0)));
  };
  if constexpr (several) save(call, model.state_dict(s), example, path, options, s);
  else save(call, model.state_dict(s), std::vector<Tensor>{example}, path, options, s);
}

}  // namespace lazy::onnx
