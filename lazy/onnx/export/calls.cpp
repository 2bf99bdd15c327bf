// Writes intentions: as an operator where there is one, else as what they are expanded to.
#include <cstring>

#include "jit/backend/registry.hpp"
#include "lazy/nn/functional/batch_norm_call.hpp"
#include "lazy/nn/functional/conv_problem.hpp"
#include "lazy/nn/functional/recurrent.hpp"
#include "lazy/onnx/export/parts.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/quant/export.hpp"

namespace lazy::onnx {

const jit::CallDefinition& input_call() {
  static constinit const jit::CallDefinition input{
      .name = "onnx.input",
      .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
        return {jit::CallOutput::like(0, o[0], o[0].dtype)};
      },
      .expand = [](const jit::Expanding& e) -> std::vector<jit::Handle> { return {e[0]}; }};
  return input;
}

void Exporter::expand_if_needed(const Twin& call) {
  const jit::CallSpec& spec = *call.a->call;
  if (expanded_.contains(call.a) || &spec.definition() == &input_call() || !spec.definition().expand ||
      (spec.name() == std::string_view("linear")) || detail::batch_norm_call_of(spec) ||
      &spec.definition() == &quant::detail::kQuantize || &spec.definition() == &quant::detail::kDequantize)
    return;
  if (const auto conv = detail::conv_layer_of(spec, call.a->operand[0]->shape.size() - 2);
      conv && conv->layout == channels_first)
    return;
  const auto of = [&](Node* n) {
    if (!n) return std::vector<jit::Handle>();
    std::vector<jit::Handle> operands;
    for (int i = 0; i < n->arity; ++i) operands.push_back(handle_to(n->operand[i]));
    std::vector<const jit::Handle*> pointers;
    for (const jit::Handle& h : operands) pointers.push_back(&h);
    jit::Backend& backend = jit::backend_of(Device{}, site_);
    const jit::Preferences prefers = backend.preferences();
    const jit::Expanding all{*n->call, pointers, backend, prefers, n->site};
    return detail::is_recurrent_layer(spec) ? detail::recurrent_by_steps(all) : spec.definition().expand(all);
  };
  expanded_[call.a] = {of(call.a), of(call.b)};
}

std::string Exporter::write_call(const Twin& call, int output) {
  const Node& n = *call.a;
  const jit::CallSpec& spec = *n.call;
  if (&spec.definition() == &input_call()) {
    int64_t number = 0;
    std::memcpy(&number, spec.attributes().data(), sizeof number);
    return inputs_.at(static_cast<size_t>(number));
  }
  Names in;
  for (int i = 0; i < n.arity; ++i) in.push_back(name_of(operand(call, i)));
  if (spec.name() == std::string_view("linear")) {
    const int rank = n.operand[0]->shape.size();
    if (n.operand[1]->shape.size() == 2 && rank == 2 && (n.arity == 2 || n.operand[2]->shape.size() == 1))
      return node("Gemm", in, {attribute("transB", int64_t{1})});
    std::string y;
    if (n.operand[1]->shape.size() == 1) y = node("MatMul", {in[0], in[1]});
    else
      y = node("MatMul",
               {in[0], node("Transpose", {in[1]}, {attribute("perm", std::vector<int64_t>{1, 0})})});
    return n.arity == 2 ? y : node("Add", {y, in[2]});
  }
  if (&spec.definition() == &quant::detail::kQuantize) {
    if (n.arity == 2) in.push_back(number(0, int8));  // the zero point, which says the dtype
    return node("QuantizeLinear", in);
  }
  if (&spec.definition() == &quant::detail::kDequantize)
    return node("DequantizeLinear", in, {attribute("axis", int64_t{0})});
  if (const auto conv = detail::conv_layer_of(spec, n.operand[0]->shape.size() - 2)) {
    std::vector<int64_t> pads = listed(conv->padding);
    pads.insert(pads.end(), conv->padding.begin(), conv->padding.end());
    return node("Conv", in,
                {attribute("strides", listed(conv->stride)), attribute("pads", pads),
                 attribute("dilations", listed(conv->dilation)), attribute("group", conv->groups)});
  }
  if (const auto norm = detail::batch_norm_call_of(spec); norm && norm->layout == channels_first) {
    const Twin eps = operand(call, 3);
    if (eps.a->op == Op::constant && !eps.a->ready()) {
      const double v = constant_of(*eps.a);
      const DType type = n.operand[1]->dtype;
      const auto filled = [&](double value) {
        return initializer(full(ShapeArg(n.operand[1]->shape), value, type));
      };
      const std::string weight = norm->weighted ? in[4] : filled(1);
      const std::string bias = norm->biased ? in[4 + norm->weighted] : filled(0);
      return node("BatchNormalization", {in[0], weight, bias, in[1], in[2]},
                  {attribute("epsilon", static_cast<float>(v))});
    }
  }
  problem(n, output == 0 ? "there is no operator for it" : "there is no operator for its output");
  return "none";
}

}  // namespace lazy::onnx
