// Loads models in the ONNX format and runs them.
//
//   const lazy::onnx::Model model = lazy::onnx::load("model.onnx");
//   lazy::Tensor y = model(x);                                            // one input, one output
//   lazy::NamedTensors all = model({{"ids", ids}, {"mask", mask}});       // by name
//
// Calling a model records its ops and computes nothing, as the program's own ops do: what is around it fuses
// with it, and one program serves all sizes of dynamic dimensions. Arithmetic on shapes is done while ops are
// recorded. Only control flow whose conditions are computed (If, Loop) and sizes that depend on values
// (NonZero, Compress, ...) compute what is pending.
//
// Weights share the mapped file where they are aligned for their dtype; others are copied once. They are
// marked as ones that stay, as those of load_safetensors() are. While the model lives, nobody may write to
// the file or shorten it.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lazy/core/named.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::quant {
struct Change;
struct Config;
}  // namespace lazy::quant

namespace lazy::onnx {

/// Holds an extent: a number, the name of a dynamic one, or an empty name for one of which nothing is said.
using Extent = std::variant<int64_t, std::string>;

/// Describes an input or an output.
struct ValueInfo {
  std::string name;
  DType dtype;
  std::optional<std::vector<Extent>> shape;  // none: of any number of dimensions
};

struct LoadOptions {
  MaybeDevice device = {};              // of weights and constants; none: the default device
  bool external_data_anywhere = false;  // values of tensors may lie in files outside of the model's folder
};

struct Program;
struct Bound;

/// Holds a model. Its initializers are buffers under their names. Copies share the graph, and values until
/// one is assigned.
class Model : public nn::Module {
 public:
  /// Holds nothing: calling it throws Error.
  Model() = default;

  /// Describe what the model takes and gives, in its order. Inputs that have an initializer of their name are
  /// not listed: a call may give them all the same.
  std::span<const ValueInfo> inputs() const;
  std::span<const ValueInfo> outputs() const;
  /// Returns the version of the default domain's opset.
  int64_t opset() const;
  /// Returns what the file says besides, keys and values in its order: a recogniser's characters, a licence.
  const std::vector<std::pair<std::string, std::string>>& metadata() const;

  /// Records the model. Error for an input that is missing or unknown; DtypeError and ShapeError for one that
  /// is not as described; what lazy's functions throw, with the node's name, for what an op can't do.
  NamedTensors operator()(const NamedTensors& inputs, Site s = Site::current()) const;
  /// Takes and returns tensors in the model's order.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Site s = Site::current()) const;
  /// Takes the only input and returns the only output. Error if there are others.
  Tensor operator()(const Tensor& input, Site s = Site::current()) const;

  /// Returns the model with these inputs given, which inputs() lists no more: a sample rate, a number of
  /// steps. Conditions and sizes that follow from them are then known while ops are recorded, as those of
  /// constants are, and sessions can have them. Reads the values. Error for an input that is unknown or has
  /// more than 1024 elements; DtypeError and ShapeError for one that is not as described.
  Model bind(const NamedTensors& inputs, Site s = Site::current()) const;

  std::string name() const override { return "onnx::Model"; }

 protected:
  void members(nn::Visitor&) override;

 private:
  friend struct Program;
  friend std::vector<quant::Change> quantize_(Model&, const quant::Config&, Site);
  std::vector<Tensor> run(const NamedTensors& inputs, const Site&) const;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Bound> bound_;  // null: no input is given
  std::vector<Tensor> weights_;         // by the program's numbers
  /// Has by the same numbers, unless it is empty, the weights that quantize_() made integers of. Those have
  /// no values in weights_, others are undefined here.
  std::vector<Parameter> quantised_;
};

/// Loads a model. IoError, with the byte, for a file that is no such model; Error that lists all that is not
/// supported, each with its node: operators, attributes, types, versions.
Model load(const std::filesystem::path& path, const LoadOptions& options = {}, Site s = Site::current());
/// Loads a model from memory, which is copied. Tensors with external data are IoErrors.
Model load(std::span<const std::byte> bytes, const LoadOptions& options = {}, Site s = Site::current());

/// Loads the tensor of a TensorProto's file, as tests of the format have them. DtypeError for types that
/// there are no tensors of.
Tensor load_tensor(const std::filesystem::path& path, Site s = Site::current());

/// Describes an operator that can be imported: its name and the versions of the opset that it is for.
struct SupportedOperator {
  std::string name;
  int64_t since, until;
};
/// Lists them all, sorted by name.
std::vector<SupportedOperator> supported_operators();

}  // namespace lazy::onnx
