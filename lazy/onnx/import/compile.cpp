#include "lazy/onnx/import/compile.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace lazy::onnx {
namespace {

constexpr int kMostFunctions = 32;              // functions that call each other
constexpr size_t kMostNodes = size_t{1} << 22;  // of all graphs and inlined functions

bool is_default(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Returns what is said of a value whose extents are all known; nothing for others.
std::optional<StaticType> static_type(const TypeProto& type) {
  const std::optional<DType> dtype = dtype_of(type.elem_type);
  if (type.kind != TypeKind::tensor || !type.has_shape || !dtype || type.shape.size() >= kMaxRank) return {};
  StaticType r{*dtype, {}};
  for (const Dimension& d : type.shape) {
    if (!d.value || *d.value < 0) return {};
    r.shape.push_back(*d.value);
  }
  return r;
}

/// Marks, from the last step to the first one, which inputs are read for the last time.
void mark_last_reads(Graph& graph) {
  std::vector<bool> needed(graph.places, false);
  for (const size_t place : graph.outputs) needed[place] = true;
  for (auto step = graph.steps.rbegin(); step != graph.steps.rend(); ++step) {
    std::set<size_t> captured;
    for (const auto& [name, inner] : step->graphs)
      for (const Capture& c : inner->captures) captured.insert(c.outer);
    for (const size_t place : captured)
      if (!needed[place]) step->dropped.push_back(place);
    step->last.resize(step->inputs.size());
    for (size_t i = 0; i < step->inputs.size(); ++i) {
      const size_t place = step->inputs[i];
      const bool again = std::find(step->inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   step->inputs.end(), place) != step->inputs.end();
      step->last[i] = place != 0 && !needed[place] && !captured.contains(place) && !again;
    }
    for (const size_t place : step->inputs) needed[place] = true;
    for (const size_t place : captured) needed[place] = true;
  }
}

}  // namespace

std::string describe(const NodeProto& n) {
  if (!n.name.empty()) return "node " + in_quotes(n.name) + " (" + std::string(n.op_type) + ")";
  std::string output;
  for (const std::string_view o : n.output)
    if (output.empty()) output = o;
  return "the node of " + in_quotes(output) + " (" + std::string(n.op_type) + ")";
}

void Compiler::problem(const NodeProto& n, const std::string& what) {
  problems_.push_back(describe(n) + ": " + what);
}

int64_t Compiler::version_of(const std::vector<OperatorSetId>& opsets, const std::string& who,
                             int64_t otherwise) {
  int64_t version = otherwise;
  for (const OperatorSetId& o : opsets)
    if (is_default(o.domain)) version = o.version;
  if (version > kNewestOpset)
    problems_.push_back(who + " is of opset " + std::to_string(version) + ", which is newer than " +
                        std::to_string(kNewestOpset) + ", the newest one that is known");
  return version;
}

std::unique_ptr<Graph> Compiler::compile() {
  constexpr int64_t kNewestIr = 10;
  if (model_.ir_version > kNewestIr)
    problems_.push_back("the file is of ir_version " + std::to_string(model_.ir_version) +
                        ", which is newer than " + std::to_string(kNewestIr) +
                        ", the newest one that is known");
  version_ = version_of(model_.opset_import, "the model", 1);
  if (model_.training) problems_.emplace_back("training information (training_info) is not supported");
  auto graph = std::make_unique<Graph>();
  Scope scope;
  scope.graph = graph.get();
  scope.version = version_;
  fill(*model_.graph, scope);
  return graph;
}

std::unique_ptr<Graph> Compiler::graph_of(const GraphProto& g, Scope& outer) {
  auto graph = std::make_unique<Graph>();
  Scope scope;
  scope.outer = &outer;
  scope.graph = graph.get();
  scope.attributes = outer.attributes;
  scope.version = outer.version;
  scope.depth = outer.depth;
  fill(g, scope);
  return graph;
}

std::unique_ptr<Graph> Compiler::function_of(const FunctionProto& f, const NodeProto& call,
                                             const Scope& caller) {
  auto graph = std::make_unique<Graph>();
  if (caller.depth >= kMostFunctions) {
    problem(call, "functions call each other more than " + std::to_string(kMostFunctions) + " deep");
    return graph;
  }
  std::map<std::string_view, const AttributeProto*> attributes;
  for (const AttributeProto& a : f.attribute_proto) attributes[a.name] = &a;
  for (const AttributeProto& a : call.attribute) attributes[a.name] = &a;
  Scope scope;
  scope.graph = graph.get();
  scope.attributes = &attributes;
  scope.version = version_of(f.opset_import, "function " + in_quotes(f.name), caller.version);
  scope.depth = caller.depth + 1;
  for (const std::string_view name : f.input) graph->inputs.push_back(add_place(scope, name));
  add_nodes(f.node, scope);
  for (const std::string_view name : f.output) {
    const size_t place = find_place(scope, name);
    if (!place)
      problems_.push_back("function " + in_quotes(f.name) + ": nothing gives its output " + in_quotes(name));
    graph->outputs.push_back(place);
  }
  mark_last_reads(*graph);
  return graph;
}

void Compiler::fill(const GraphProto& g, Scope& scope) {
  Graph& graph = *scope.graph;
  std::set<std::string_view> initialized;
  for (const TensorProto& t : g.initializer) {
    initialized.insert(t.name);
    if (has_values(t, "initializer " + in_quotes(t.name)))
      add_constant(scope, t.name, std::string(t.name), t);
    else add_place(scope, t.name);
  }
  for (const auto& [name, sparse] : g.sparse_initializer) {
    initialized.insert(name);
    if (has_values(sparse.values, "initializer " + in_quotes(name)))
      add_constant(scope, name, std::string(name), make_tensor(file_, sparse, external_, device_));
    else add_place(scope, name);
  }
  for (const ValueInfoProto& v : g.input) {
    if (!initialized.contains(v.name)) add_place(scope, v.name);
    graph.inputs.push_back(scope.places.at(v.name));
  }
  add_nodes(g.node, scope);
  for (const ValueInfoProto& v : g.output) {
    const size_t place = find_place(scope, v.name);
    if (!place) problems_.push_back("nothing gives the output " + in_quotes(v.name));
    graph.outputs.push_back(place);
    graph.output_types.push_back(static_type(v.type));
  }
  mark_last_reads(graph);
}

void Compiler::add_nodes(const std::vector<NodeProto>& nodes, Scope& scope) {
  scope.graph->steps.reserve(nodes.size());
  for (const NodeProto& n : nodes)
    if (!add_constant_node(n, scope)) add_node(n, scope);
}

void Compiler::add_node(const NodeProto& n, Scope& scope) {
  // Functions that call others twice each would grow without end.
  if (++nodes_ > kMostNodes) {
    if (nodes_ == kMostNodes + 1)
      problems_.push_back("the model has more than " + std::to_string(kMostNodes) +
                          " nodes, those of functions counted at each call");
    return;
  }
  Step step;
  step.node = n;
  step.version = scope.version;
  for (const std::string_view name : n.input) {
    const size_t place = name.empty() ? 0 : find_place(scope, name);
    if (!name.empty() && !place) problem(n, "nothing before it gives its input " + in_quotes(name));
    step.inputs.push_back(place);
  }
  add_attributes(step, scope);
  find_operator_of(step, scope);
  for (const std::string_view name : n.output)
    step.outputs.push_back(name.empty() ? 0 : add_place(scope, name));
  scope.graph->steps.push_back(std::move(step));
}

const FunctionProto* Compiler::find_function(const NodeProto& n) const {
  for (const FunctionProto& f : model_.functions)
    if (f.name == n.op_type && f.overload == n.overload &&
        (f.domain == n.domain || (is_default(f.domain) && is_default(n.domain))))
      return &f;
  return nullptr;
}

void Compiler::find_operator_of(Step& step, Scope& scope) {
  const NodeProto& n = step.node;
  if (const FunctionProto* const f = find_function(n)) {
    step.function = function_of(*f, n, scope);
    return;
  }
  if (!is_default(n.domain))
    return problem(n, "operators of domain " + in_quotes(n.domain) + " are not supported");
  step.op = find_operator(n.op_type, step.version);
  if (!step.op)
    return problem(n, has_operator(n.op_type)
                          ? "the operator is not supported in opset " + std::to_string(step.version)
                          : "the operator is not supported");
  check_attributes(step);
}

void Compiler::check_attributes(const Step& step) {
  for (const AttributeProto& a : step.node.attribute)
    if (!has_word(step.op->attributes, a.name))
      problem(step.node, "attribute " + in_quotes(a.name) + " is not supported");
  if (step.op->check)
    if (const std::string why = step.op->check(step.node); !why.empty()) problem(step.node, why);
}

void Compiler::add_attributes(Step& step, Scope& scope) {
  std::vector<AttributeProto> all;
  for (const AttributeProto& given : step.node.attribute) {
    AttributeProto a = given;
    if (!given.ref_attr_name.empty()) {
      if (!scope.attributes || !scope.attributes->contains(given.ref_attr_name))
        continue;  // it has the default
      a = *scope.attributes->at(given.ref_attr_name);
      a.name = given.name;
    }
    if (a.g) step.graphs.emplace_back(a.name, graph_of(*a.g, scope));
    if (a.t && has_values(*a.t, describe(step.node) + ": attribute " + in_quotes(a.name))) {
      Tensor t = make_tensor(file_, *a.t, external_, device_);
      std::optional<Known> known = known_elements(t, kMostKnown, kMostKnown, file_.site);
      step.tensors.emplace_back(a.name, known ? Value(*std::move(known)) : Value(std::move(t)));
    }
    all.push_back(std::move(a));
  }
  step.node.attribute = std::move(all);
}

bool Compiler::add_constant_node(const NodeProto& n, Scope& scope) {
  if (n.op_type != "Constant" || !is_default(n.domain)) return false;
  if (n.output.size() != 1 || n.attribute.size() != 1) {
    problem(n, "expected one attribute and one output");
    return true;
  }
  const AttributeProto* a = &n.attribute[0];
  const std::string_view name = n.output[0], kind = a->name;
  if (!a->ref_attr_name.empty()) {
    if (!scope.attributes || !scope.attributes->contains(a->ref_attr_name)) {
      problem(n, "the function is called without attribute " + in_quotes(a->ref_attr_name));
      add_place(scope, name);
      return true;
    }
    a = scope.attributes->at(a->ref_attr_name);
  }
  std::optional<Known> known;
  if (kind == "value" && a->t) {
    if (has_values(*a->t, describe(n))) {
      add_constant(scope, name, "", *a->t);
      return true;
    }
  } else if (kind == "sparse_value" && a->sparse_tensor) {
    if (has_values(a->sparse_tensor->values, describe(n))) {
      add_constant(scope, name, std::string(name), make_tensor(file_, *a->sparse_tensor, external_, device_));
      return true;
    }
  } else if (kind == "value_int") {
    known = Known::scalar(a->i);
  } else if (kind == "value_ints") {
    known = Known::vector(a->ints);
  } else if (kind == "value_float") {
    known = Known::of(DType::float32, {});
    known->set(0, static_cast<double>(a->f));
  } else if (kind == "value_floats") {
    known = Known::of(DType::float32, {static_cast<int64_t>(a->floats.size())});
    for (size_t i = 0; i < a->floats.size(); ++i) known->set(i, static_cast<double>(a->floats[i]));
  } else {
    problem(n, "attribute " + in_quotes(kind) + " is not supported");
  }
  const size_t place = add_place(scope, name);
  if (known)
    scope.graph->constants.push_back(
        {place, Constant::kNoWeight, std::make_shared<const Known>(*std::move(known))});
  return true;
}

void Compiler::add_constant(Scope& scope, std::string_view name, const std::string& weight,
                            const TensorProto& t) {
  add_constant(scope, name, weight, make_tensor(file_, t, external_, device_));
}

void Compiler::add_constant(Scope& scope, std::string_view name, const std::string& weight, Tensor t) {
  Constant c;
  // Floating-point numbers are weights above the size that scales, bounds and quantisation have.
  constexpr int64_t kMostReals = 16;
  // Zero points are many where weights have many channels, and are looked at before anything is computed.
  constexpr int64_t kMostZeroPoints = 1 << 16;
  const DType dtype = t.dtype(file_.site);
  const bool zero_points = t.ndim(file_.site) == 1 && (dtype == int8 || dtype == uint8);
  std::optional<Known> known =
      known_elements(t, zero_points ? kMostZeroPoints : kMostKnown, kMostReals, file_.site);
  if (known) c.known = std::make_shared<const Known>(*std::move(known));
  if (!c.known || !weight.empty()) {
    std::string unique = weight.empty() ? std::string(name) : weight;
    if (const int before = names_[unique]++) unique += "#" + std::to_string(before + 1);
    c.weight = weights_.size();
    weights_.emplace_back(std::move(unique), std::move(t));
  }
  c.place = add_place(scope, name);
  scope.graph->constants.push_back(std::move(c));
}

size_t Compiler::add_place(Scope& scope, std::string_view name) {
  const size_t place = scope.graph->places++;
  scope.places[name] = place;
  return place;
}

size_t Compiler::find_place(Scope& scope, std::string_view name) {
  if (const auto found = scope.places.find(name); found != scope.places.end()) return found->second;
  if (!scope.outer) return 0;
  const size_t outer = find_place(*scope.outer, name);
  if (!outer) return 0;
  const size_t place = add_place(scope, name);
  scope.graph->captures.push_back({outer, place});
  return place;
}

bool Compiler::has_values(const TensorProto& t, const std::string& who) {
  if (dtype_of(t.data_type)) return true;
  problems_.push_back(who + " is of type " + name_of(t.data_type) + ", which is not supported");
  return false;
}

}  // namespace lazy::onnx
