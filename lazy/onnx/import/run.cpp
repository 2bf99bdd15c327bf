#include "lazy/onnx/import/run.hpp"

#include <algorithm>
#include <utility>

#include "jit/graph/record.hpp"
#include "support/profile.hpp"

namespace lazy::onnx {
namespace {

/// Gives an operator's function one step of a graph.
class StepCall final : public Call {
 public:
  StepCall(const Environment& environment, const Step& step, const std::vector<Value>& values,
           std::span<const Value> inputs, std::span<Value> outputs)
      : Call(environment.run, step.node, step.version, inputs, outputs),
        environment_(environment),
        step_(step),
        values_(values) {}

  std::vector<Value> run(std::string_view graph, std::span<const Value> inputs) override {
    return run_graph(find(graph), environment_, {inputs.begin(), inputs.end()}, &values_);
  }
  std::pair<size_t, size_t> arity(std::string_view graph) const override {
    return {find(graph).inputs.size(), find(graph).outputs.size()};
  }
  std::optional<StaticType> output_type(std::string_view graph, size_t i) const override {
    const auto& types = find(graph).output_types;
    return i < types.size() ? types[i] : std::nullopt;
  }
  Value attribute_tensor(std::string_view name) const override {
    for (const auto& [attribute, value] : step_.tensors)
      if (attribute == name) return value;
    fail("attribute '" + std::string(name) + "' is needed, and is left out");
  }

 private:
  const Graph& find(std::string_view name) const {
    for (const auto& [attribute, graph] : step_.graphs)
      if (attribute == name) return *graph;
    fail("attribute '" + std::string(name) + "' is needed, and is left out");
  }
  const Environment& environment_;
  const Step& step_;
  const std::vector<Value>& values_;
};

/// Throws the same error with the node's name before it and the line of the model's call.
template <class E>
[[noreturn]] void complete(const E& e, const NodeProto& node, const Site& site) {
  std::string what = e.what();
  if (e.where().line()) {
    const std::string place = " (" + to_string(e.where()) + ")";
    if (what.ends_with(place)) what.resize(what.size() - place.size());
  }
  throw E(describe(node) + ": " + what, site);
}

void record(const Step& step, const Environment& environment, const std::vector<Value>& values,
            std::vector<Value> inputs, std::vector<Value>& outputs) {
  if (step.function) {
    inputs.resize(step.function->inputs.size());
    outputs = run_graph(*step.function, environment, std::move(inputs));
    return outputs.resize(step.outputs.size());
  }
  StepCall call(environment, step, values, inputs, outputs);
  // Texts of labels stay for ever: there are some only while somebody wants a trace.
  const jit::Purpose label(profile::on() ? profile::intern(describe(step.node)) : nullptr);
  if (step.op->known && step.op->known(call)) return;
  step.op->record(call);
}

void run_step(const Step& step, const Environment& environment, std::vector<Value>& values) try {
  std::vector<Value> inputs(step.inputs.size()), outputs(step.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& v = values[step.inputs[i]];
    if (step.last[i]) inputs[i] = std::move(v), v = Value();
    else inputs[i] = v;
  }
  const bool of_weights = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const Value& v) {
    return v.of_weights() || !v.defined();
  });
  record(step, environment, values, std::move(inputs), outputs);
  if (of_weights && step.graphs.empty())
    for (Value& v : outputs) v.set_of_weights(true);
  for (const size_t place : step.dropped) values[place] = Value();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (step.outputs[i]) values[step.outputs[i]] = std::move(outputs[i]);
} catch (const ShapeError& e) { complete(e, step.node, environment.run.site); } catch (const DtypeError& e) {
  complete(e, step.node, environment.run.site);
} catch (const IndexError& e) { complete(e, step.node, environment.run.site); } catch (const DeviceError& e) {
  complete(e, step.node, environment.run.site);
} catch (const CompileError& e) { complete(e, step.node, environment.run.site); } catch (const IoError& e) {
  complete(e, step.node, environment.run.site);
} catch (const Error& e) { complete(e, step.node, environment.run.site); }

}  // namespace

std::vector<Value> run_graph(const Graph& graph, const Environment& environment, std::vector<Value> inputs,
                             const std::vector<Value>* outer) {
  std::vector<Value> values(graph.places);
  for (const Constant& c : graph.constants) {
    if (c.weight < environment.quantised.size() && environment.quantised[c.weight].defined()) {
      values[c.place] = Value(&environment.quantised[c.weight]);
      continue;
    }
    values[c.place] =
        Value(c.weight == Constant::kNoWeight ? Tensor() : environment.weights[c.weight], c.known);
    values[c.place].set_of_weights(true);
  }
  for (const Capture& c : graph.captures) values[c.inner] = (*outer)[c.outer];
  if (inputs.size() > graph.inputs.size())
    throw Error("the graph takes " + std::to_string(graph.inputs.size()) + " inputs, not " +
                std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined()) values[graph.inputs[i]] = std::move(inputs[i]);
  inputs.clear();
  for (const Step& step : graph.steps) run_step(step, environment, values);
  std::vector<Value> outputs;
  for (const size_t place : graph.outputs) outputs.push_back(values[place]);
  return outputs;
}

}  // namespace lazy::onnx
