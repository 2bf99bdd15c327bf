#include "tools/run/describe.hpp"

#include <iostream>
#include <sstream>

#include "lazy/io/file.hpp"
#include "lazy/onnx/model/protos.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "support/text.hpp"

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

std::string shape_text(const Json& shape) {
  if (shape.is_null()) return "of any shape";
  std::string text = "[";
  for (const Json& n : shape)
    text += (text.size() > 1 ? ", " : "") + (n.is_string() ? n.get<std::string>() : n.dump());
  return text + "]";
}

void print_values(std::ostream& out, const char* title, const Json& values) {
  out << title << '\n';
  for (const Json& v : values)
    out << "  " << text::printable(v["name"].get<std::string>()) << "  " << v["dtype"].get<std::string>()
        << ' ' << text::printable(shape_text(v["shape"])) << '\n';
}

}  // namespace

Json describe_file(const std::filesystem::path& path) {
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

std::string description_text(const Json& d) {
  std::ostringstream out;
  out << d["file"].get<std::string>() << ": " << text::human_size(d["file_bytes"].get<uint64_t>());
  if (!d["producer"].get<std::string>().empty())
    out << ", by " << text::one_line(d["producer"].get<std::string>());
  out << ", opset ";
  const char* comma = "";
  for (const auto& [domain, version] : d["opsets"].items()) {
    out << comma << (domain == "ai.onnx" ? "" : text::one_line(domain) + " ") << version;
    comma = ", ";
  }
  out << '\n';
  print_values(out, "inputs", d["inputs"]);
  print_values(out, "outputs", d["outputs"]);
  const Json& p = d["parameters"];
  out << "parameters\n  " << p["elements"] << " numbers in " << p["tensors"] << " tensors, "
      << text::human_size(p["bytes"].get<uint64_t>()) << '\n';
  int64_t nodes = 0;
  for (const auto& [name, count] : d["operators"].items()) nodes += count.get<int64_t>();
  out << "operators\n  " << nodes << " nodes";
  comma = ": ";
  for (const auto& [name, count] : d["operators"].items()) {
    out << comma << count << ' ' << text::one_line(name);
    comma = ", ";
  }
  out << '\n';
  return out.str();
}

}  // namespace lazy::tool
