// Opens models in the ONNX format.
#include <algorithm>
#include <map>

#include "lazy/inference/session.hpp"
#include "lazy/io/file.hpp"
#include "lazy/onnx/model/protos.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/onnx.hpp"
#include "lazy/onnx/quantize.hpp"
#include "tools/run/model.hpp"
#include "tools/run/names.hpp"
#include "tools/run/quantise.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

Json type_of(const onnx::ValueInfoProto& v) {
  Json shape;  // null: of any shape
  if (v.type.has_shape) {
    shape = Json::array();
    for (const onnx::Dimension& d : v.type.shape) {
      if (d.value && *d.value > 0) shape.push_back(*d.value);
      else shape.push_back(d.name.empty() ? std::string("?") : std::string(d.name));
    }
  }
  const auto dtype = onnx::dtype_of(v.type.elem_type);
  const std::string type = v.type.kind != onnx::TypeKind::tensor ? "no tensor"
                           : dtype                               ? name_of(*dtype)
                                                                 : onnx::name_of(v.type.elem_type);
  return {{"name", v.name}, {"dtype", type}, {"shape", shape}};
}

/// Counts the operators and the values of a graph and of those in it.
struct Counts {
  std::map<std::string, int64_t> operators;
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;

  void add(const onnx::TensorProto& t) {
    int64_t n = 1;
    for (const int64_t d : t.dims) n *= d;
    const auto dtype = onnx::dtype_of(t.data_type);
    tensors += 1, elements += n;
    if (dtype) bytes += static_cast<uint64_t>(n) * static_cast<uint64_t>(size_of(*dtype));
  }
  void add(const std::vector<onnx::NodeProto>& nodes) {
    for (const onnx::NodeProto& n : nodes) {
      const bool own = n.domain.empty() || n.domain == "ai.onnx";
      // Exporters write weights as Constant nodes, too.
      if (own && n.op_type == "Constant") {
        for (const onnx::AttributeProto& a : n.attribute)
          if (a.t) add(*a.t);
        continue;
      }
      ++operators[(own ? "" : std::string(n.domain) + ".") + std::string(n.op_type)];
      for (const onnx::AttributeProto& a : n.attribute)
        if (a.g) add(*a.g);
    }
  }
  void add(const onnx::GraphProto& g) {
    for (const onnx::TensorProto& t : g.initializer) add(t);
    add(g.node);
  }
};

/// Describes a file without running it: opset, inputs, outputs, operators with counts, parameters. Operators
/// that are not supported are described as well. IoError for a file that is no model.
Json described(const std::filesystem::path& path) {
  const auto file = lazy::detail::open_file("onnx::load", path.string(), {}, lazy::detail::Access::mapped);
  const onnx::ModelProto model = onnx::read_model(file);
  if (!model.graph) file.bad(0, "expected an ONNX model, found none with a graph");
  Json d;
  d["file"] = path.string();
  d["file_bytes"] = file.bytes.size();
  d["producer"] = std::string(model.producer_name) +
                  (model.producer_version.empty() ? "" : " " + std::string(model.producer_version));
  d["ir_version"] = model.ir_version;
  d["opsets"] = Json::object();
  for (const onnx::OperatorSetId& o : model.opset_import)
    d["opsets"][o.domain.empty() ? "ai.onnx" : std::string(o.domain)] = o.version;
  d["inputs"] = d["outputs"] = Json::array();
  for (const onnx::ValueInfoProto& v : model.graph->input) {
    bool initialized = false;  // files of ir_version 3 list their initializers as inputs
    for (const onnx::TensorProto& t : model.graph->initializer) initialized |= t.name == v.name;
    if (!initialized) d["inputs"].push_back(type_of(v));
  }
  for (const onnx::ValueInfoProto& v : model.graph->output) d["outputs"].push_back(type_of(v));
  Counts counts;
  counts.add(*model.graph);
  for (const onnx::FunctionProto& f : model.functions) counts.add(f.node);
  d["parameters"] = {{"tensors", counts.tensors}, {"elements", counts.elements}, {"bytes", counts.bytes}};
  std::vector<std::pair<std::string, int64_t>> operators(counts.operators.begin(), counts.operators.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  d["operators"] = Json::object();
  for (const auto& [name, count] : operators) d["operators"][name] = count;
  return d;
}

std::vector<Value> values_of(std::span<const onnx::ValueInfo> all) {
  std::vector<Value> r;
  for (const onnx::ValueInfo& v : all) r.push_back({v.name, v.dtype, v.shape});
  return r;
}

class OnnxModel final : public Model {
 public:
  explicit OnnxModel(onnx::Model m)
      : model_(std::move(m)), inputs_(values_of(model_.inputs())), outputs_(values_of(model_.outputs())) {}
  const std::vector<Value>& inputs() const override { return inputs_; }
  const std::vector<Value>& outputs() const override { return outputs_; }
  NamedTensors operator()(const NamedTensors& in) override { return model_(in, Site()); }
  Calls calls(const NamedTensors& inputs, int threads) override;
  Quantised quantise(Int8 how) override {
    const quant::Config config = how == Int8::dynamic ? quant::int8_dynamic() : quant::int8_weights();
    const Quantised q = quantised(onnx::quantize_(model_, config, Site()));
    if (q.layers == 0)
      throw UsageError("--int8: the model has no weights that MatMul, Gemm and Conv nodes alone read");
    return q;
  }

 private:
  onnx::Model model_;
  std::vector<Value> inputs_, outputs_;
};

Calls OnnxModel::calls(const NamedTensors& inputs, int threads) {
  using Session = decltype(inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(
      std::declval<onnx::Model&>()));
  // Single integers, such as a sample rate, decide what is computed: they are part of the model here.
  NamedTensors bound;
  std::vector<Tensor> given;
  for (const auto& [name, t] : inputs) {
    if (!is_float(t.dtype()) && t.size() == 1) bound.set(name, t);
    else given.push_back(t);
  }
  const auto model = std::make_shared<onnx::Model>(bound.empty() ? model_ : model_.bind(bound));
  const auto session =
      std::make_shared<Session>(inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(
          *model, {.threads = threads, .benchmark = true}));
  return {[model, session, given] { (*session)(given); },
          [model, given] {
            for (Tensor& t : (*model)(given)) t.eval();
          }};
}

class OnnxFile final : public ModelFile {
 public:
  explicit OnnxFile(std::filesystem::path path) : path_(std::move(path)) {}
  Json describe() override { return described(path_); }
  std::unique_ptr<Model> load(MaybeDType dtype) override {
    onnx::Model m = onnx::load(path_, {}, Site());
    if (dtype.given) m.to(dtype.value);
    return std::make_unique<OnnxModel>(std::move(m));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<ModelFile> open_onnx(const std::filesystem::path& path) {
  return std::make_unique<OnnxFile>(path);
}

}  // namespace lazy::tool
