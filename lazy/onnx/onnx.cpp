#include "lazy/onnx/onnx.hpp"

#include <algorithm>

#include "lazy/onnx/import/compile.hpp"
#include "lazy/onnx/import/run.hpp"
#include "lazy/onnx/program.hpp"

namespace lazy::onnx {

namespace {

const char* kind_name(TypeKind k) {
  switch (k) {
    case TypeKind::sequence: return "a sequence";
    case TypeKind::map: return "a map";
    case TypeKind::optional: return "an optional";
    case TypeKind::sparse_tensor: return "a sparse tensor";
    case TypeKind::opaque: return "of an opaque type";
    default: return "of no type";
  }
}

/// Describes an input or output; what is not supported goes to the problems.
std::optional<ValueInfo> described(const ValueInfoProto& v, const char* what,
                                   std::vector<std::string>& problems) {
  const std::string who = std::string(what) + " '" + std::string(v.name) + "' is ";
  if (v.type.kind != TypeKind::tensor) {
    problems.push_back(who + kind_name(v.type.kind) + ", which is not supported");
    return {};
  }
  const std::optional<DType> dtype = dtype_of(v.type.elem_type);
  if (!dtype) {
    problems.push_back(who + "of type " + name_of(v.type.elem_type) + ", which is not supported");
    return {};
  }
  ValueInfo info{std::string(v.name), *dtype, {}};
  if (v.type.has_shape) {
    info.shape.emplace();
    for (const Dimension& d : v.type.shape)
      info.shape->push_back(d.value ? Extent(*d.value) : Extent(std::string(d.name)));
  }
  return info;
}

/// Throws unless a tensor is as the model describes its input.
void check_input(const ValueInfo& info, const Tensor& t, const Site& s) {
  const std::string who = "onnx: input '" + info.name + "' ";
  if (!t.defined()) throw Error(who + "is a default-constructed Tensor", s);
  if (t.dtype(s) != info.dtype)
    throw DtypeError(who + "is " + name_of(info.dtype) + ", not " + name_of(t.dtype(s)), s);
  if (!info.shape) return;
  const Shape& shape = t.shape(s);
  bool fits = shape.size() == static_cast<int>(info.shape->size());
  for (int i = 0; fits && i < shape.size(); ++i) {
    const auto* const extent = std::get_if<int64_t>(&(*info.shape)[static_cast<size_t>(i)]);
    // Exporters write 0 and -1 for extents that they do not know.
    fits = !extent || *extent <= 0 || *extent == shape[i];
  }
  if (fits) return;
  std::string expected;
  for (const Extent& e : *info.shape) {
    if (!expected.empty()) expected += ", ";
    if (const auto* const n = std::get_if<int64_t>(&e)) expected += std::to_string(*n);
    else expected += std::get<std::string>(e).empty() ? "?" : std::get<std::string>(e);
  }
  throw ShapeError(who + "has the shape [" + expected + "], not " + to_string(shape), s);
}

[[noreturn]] void throw_problems(const char* op, const std::string& file, std::vector<std::string> problems,
                                 const Site& s) {
  std::vector<std::string> once;
  for (std::string& p : problems)
    if (std::find(once.begin(), once.end(), p) == once.end()) once.push_back(std::move(p));
  std::string text = std::string(op) + ": " + file + " can't be imported:";
  for (const std::string& p : once) text += "\n  " + p;
  throw Error(text, s);
}

const Program& loaded(const std::shared_ptr<const Program>& p, const Site& s) {
  if (!p) throw Error("onnx: the model is default-constructed", s);
  return *p;
}

}  // namespace

Model Program::load(const char* op, detail::FileBytes file, std::optional<std::filesystem::path> folder,
                    const LoadOptions& options, const Site& s) {
  auto program = std::make_shared<Program>();
  program->file = std::move(file);
  program->device = options.device;
  const ModelProto proto = read_model(program->file);
  if (!proto.graph) program->file.bad(0, "expected an ONNX model, found none with a graph");
  ExternalFiles external(std::move(folder), options.external_data_anywhere);
  Compiler compiler(program->file, proto, external, options.device);
  program->graph = compiler.compile();
  program->opset = compiler.version();
  for (const auto& [key, value] : proto.metadata_props) program->metadata.emplace_back(key, value);
  for (const ValueInfoProto& v : proto.graph->input) {
    std::optional<ValueInfo> info = described(v, "input", compiler.problems());
    const bool initialized = std::any_of(proto.graph->initializer.begin(), proto.graph->initializer.end(),
                                         [&](const TensorProto& t) { return t.name == v.name; });
    program->input_names.emplace_back(v.name);
    program->needed.push_back(!initialized);
    if (info && !initialized) program->inputs.push_back(*std::move(info));
  }
  for (const ValueInfoProto& v : proto.graph->output)
    if (std::optional<ValueInfo> info = described(v, "output", compiler.problems()))
      program->outputs.push_back(*std::move(info));
  if (!compiler.problems().empty()) throw_problems(op, program->file.name, compiler.problems(), s);
  Model model;
  for (auto& [name, tensor] : compiler.weights()) {
    program->weight_names.push_back(name);
    model.weights_.push_back(std::move(tensor));
  }
  model.program_ = std::move(program);
  model.eval(s);
  return model;
}

std::span<const ValueInfo> Model::inputs() const {
  if (bound_) return bound_->inputs;
  return program_ ? program_->inputs : std::span<const ValueInfo>();
}
std::span<const ValueInfo> Model::outputs() const {
  return program_ ? program_->outputs : std::span<const ValueInfo>();
}
int64_t Model::opset() const { return program_ ? program_->opset : 0; }
const std::vector<std::pair<std::string, std::string>>& Model::metadata() const {
  static const auto& none = *new std::vector<std::pair<std::string, std::string>>;
  return program_ ? program_->metadata : none;
}

void Model::members(nn::Visitor& visitor) {
  visitor.whole(*this, this, sizeof *this);
  for (size_t i = 0; i < weights_.size(); ++i) {
    const std::string& name = program_->weight_names[i];
    if (i < quantised_.size() && quantised_[i].defined()) visitor.member(name, quantised_[i]);
    else visitor.member(name, weights_[i]);
  }
}

std::vector<Tensor> Model::run(const NamedTensors& inputs, const Site& s) const {
  const Program& p = loaded(program_, s);
  std::vector<Value> values(p.input_names.size());
  size_t described = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = p.input_names[i];
    const ValueInfo* const info = p.needed[i] ? &p.inputs[described++] : nullptr;
    const bool bound = bound_ && bound_->values.contains(name);
    if (bound && inputs.contains(name)) throw Error("onnx: input '" + name + "' is bound", s);
    if (bound) {
      values[i] = bound_->values.at(name);
    } else if (inputs.contains(name)) {
      if (info) check_input(*info, inputs.at(name, s), s);
      values[i] = inputs.at(name, s);
    } else if (info) {
      throw Error("onnx: input '" + name + "' is missing", s);
    }
  }
  for (const auto& [name, tensor] : inputs)
    if (std::find(p.input_names.begin(), p.input_names.end(), name) == p.input_names.end())
      throw Error("onnx: the model has no input '" + name + "'", s);
  // Constants go where the inputs are, so that a model that was moved works on.
  const MaybeDevice device = inputs.empty() ? p.device : MaybeDevice(inputs.begin()->second.device(s));
  const Environment environment{{s, device}, weights_, quantised_};
  std::vector<Value> results = run_graph(*p.graph, environment, std::move(values));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) throw Error("onnx: output '" + p.outputs[i].name + "' was not computed", s);
    tensors.push_back(results[i].tensor(device, s));
  }
  return tensors;
}

Model Model::bind(const NamedTensors& inputs, Site s) const {
  const Program& p = loaded(program_, s);
  auto bound = bound_ ? std::make_shared<Bound>(*bound_) : std::make_shared<Bound>(Bound{{}, p.inputs});
  for (const auto& [name, tensor] : inputs) {
    const auto info = std::find_if(bound->inputs.begin(), bound->inputs.end(),
                                   [&](const ValueInfo& v) { return v.name == name; });
    if (info == bound->inputs.end()) throw Error("onnx: the model has no input '" + name + "' to bind", s);
    check_input(*info, tensor, s);
    std::optional<Known> known = known_elements(tensor, kMostKnown, kMostKnown, s);
    if (!known)
      throw Error("onnx: input '" + name + "' can't be bound: it has " + std::to_string(tensor.size(s)) +
                      " " + name_of(info->dtype) + ", and no more than " + std::to_string(kMostKnown) +
                      " numbers other than uint64 are",
                  s);
    bound->values.emplace(name, *std::move(known));
    bound->inputs.erase(info);
  }
  Model model = *this;
  model.bound_ = std::move(bound);
  return model;
}

NamedTensors Model::operator()(const NamedTensors& inputs, Site s) const {
  std::vector<Tensor> results = run(inputs, s);
  NamedTensors named;
  for (size_t i = 0; i < results.size(); ++i) named.set(program_->outputs[i].name, std::move(results[i]));
  return named;
}

std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs, Site s) const {
  loaded(program_, s);
  const std::span<const ValueInfo> all = this->inputs();
  if (inputs.size() != all.size())
    throw Error("onnx: the model takes " + std::to_string(all.size()) + " inputs, not " +
                    std::to_string(inputs.size()),
                s);
  NamedTensors named;
  for (size_t i = 0; i < inputs.size(); ++i) named.set(all[i].name, inputs[i]);
  return run(named, s);
}

Tensor Model::operator()(const Tensor& input, Site s) const {
  std::vector<Tensor> results = (*this)(std::vector<Tensor>{input}, s);
  if (results.size() != 1)
    throw Error("onnx: the model has " + std::to_string(results.size()) + " outputs, not one", s);
  return std::move(results[0]);
}

Model load(const std::filesystem::path& path, const LoadOptions& options, Site s) {
  return Program::load("onnx::load",
                       detail::open_file("onnx::load", path.string(), s, detail::Access::mapped),
                       path.has_parent_path() ? path.parent_path() : std::filesystem::path("."), options, s);
}

Model load(std::span<const std::byte> bytes, const LoadOptions& options, Site s) {
  const auto own =
      std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return Program::load("onnx::load", detail::FileBytes{"onnx::load", "the bytes", s, *own, own}, {}, options,
                       s);
}

Tensor load_tensor(const std::filesystem::path& path, Site s) {
  const detail::FileBytes file = detail::open_file("onnx::load_tensor", path.string(), s);
  const TensorProto t = read_tensor(file);
  if (!dtype_of(t.data_type))
    file.fail<DtypeError>(0, "the tensor is of type " + name_of(t.data_type) + ", which is not supported");
  ExternalFiles external(path.parent_path(), false);
  return make_tensor(file, t, external, {});
}

std::vector<SupportedOperator> supported_operators() {
  std::vector<SupportedOperator> all{{"Constant", kOldestOpset, kNewestOpset}};
  for (const auto family : all_operators())
    for (const Operator& o : family) all.push_back({o.name, o.since, o.until});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.name != b.name ? a.name < b.name : a.since < b.since;
  });
  return all;
}

}  // namespace lazy::onnx
