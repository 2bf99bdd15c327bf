// Says what lazy-run wants of a model, whatever format it is in.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lazy/core/named.hpp"
#include "nlohmann/json.hpp"

namespace lazy::tool {

/// Holds an extent: a number, the name of a dynamic one, or an empty name for one of which nothing is said.
using Extent = std::variant<int64_t, std::string>;

/// Describes an input or an output.
struct Value {
  std::string name;
  DType dtype;
  std::optional<std::vector<Extent>> shape;  // none: of any number of dimensions
  bool optional = false;                     // a call may leave it out
};

/// Holds the same call in two ways. A session may turn the model down, with an Error, when it is called
/// first.
struct Calls {
  std::function<void()> of_session, plain;
};

/// Says how weights become int8, with a scale for each output channel. weights: what they multiply stays as
/// it is. dynamic: it is rounded to int8 too, in each call. usual: dynamic, and weights for the ONNX format.
enum class Int8 : uint8_t { none, usual, weights, dynamic };

/// Says what was quantised.
struct Quantised {
  int64_t layers = 0, bytes_before = 0, bytes_after = 0;  // of their weights
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const std::vector<Value>& inputs() const = 0;
  virtual const std::vector<Value>& outputs() const = 0;
  /// Records the model.
  virtual NamedTensors operator()(const NamedTensors& inputs) = 0;
  /// Returns calls with these inputs, valid while they and the model live.
  virtual Calls calls(const NamedTensors& inputs, int threads) = 0;
  /// Has the weights of linear maps and convolutions be int8. UsageError for a model that has none.
  virtual Quantised quantise(Int8) = 0;
};

/// Holds a file, or a folder, that has a model.
class ModelFile {
 public:
  virtual ~ModelFile() = default;
  /// Returns what it has: "file", "inputs", "outputs" and "parameters", and what its format says besides.
  virtual nlohmann::ordered_json describe() = 0;
  /// Loads the model, once. `dtype` is that of its weights, if it is given.
  virtual std::unique_ptr<Model> load(MaybeDType dtype) = 0;
};

/// Opens a file in the ONNX format.
std::unique_ptr<ModelFile> open_onnx(const std::filesystem::path&);
/// Opens a folder with config.json and weights, or a file in the GGUF format.
std::unique_ptr<ModelFile> open_pretrained(const std::filesystem::path&);
/// Opens a folder or a file that ends in .gguf by the second, others by the first.
std::unique_ptr<ModelFile> open_model(const std::filesystem::path&);

}  // namespace lazy::tool
