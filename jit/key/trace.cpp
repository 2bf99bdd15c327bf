#include "jit/key/trace.hpp"

#include <cstdio>

#include "jit/calls/call.hpp"
#include "support/fp16.hpp"

namespace lazy::jit {

Trace::Trace(const CapturedGraph& f) : captured(&f) {
  const auto n = static_cast<uint32_t>(f.values.size());
  values.resize(n);
  same_as.resize(n);
  const uint32_t* words = f.key.data() + 1;  // made by this process: nothing to check
  for (uint32_t v = 0; v < n; ++v, words += words_of_value(words[1])) {
    const KeyValue in = read_value(words);
    Value& out = values[v];
    out.op = in.op;
    out.dtype = in.dtype;
    out.accuracy = in.accuracy;
    out.rank = in.rank;
    out.ones = in.ones;
    out.extents = out.rank;
    for (uint32_t ones = out.ones; ones; ones &= ones - 1) --out.extents;
    out.output = in.output;
    out.arity = static_cast<int>(in.operands.size());
    if (out.arity > ValueOperands::kInline)
      out.operand.refer_to(many_.emplace_back(new uint32_t[in.operands.size()]).get());
    for (int i = 0; i < out.arity; ++i) out.operand[i] = in.operands[static_cast<size_t>(i)];
    out.node = v;
    same_as[v] = v;
  }
}

uint32_t Trace::append_copy(uint32_t of) {
  Value c;
  c.op = Op::cast;
  c.dtype = values[of].dtype;
  c.arity = 1;
  c.rank = values[of].rank;
  c.ones = values[of].ones;
  c.extents = values[of].extents;
  c.operand[0] = of;
  c.node = values[of].node;
  values.push_back(c);
  same_as.push_back(static_cast<uint32_t>(values.size() - 1));
  return same_as.back();
}

static std::string label(const Trace& t, uint32_t v) {
  const Value& x = t.values[v];
  std::string s = std::string(name_of(x.op)) + suffix_of(x.accuracy) + " " + name_of(x.dtype) + " " +
                  to_string(t.shape(v));
  const Node& n = t.node(v);
  if (x.op == Op::call) s += " " + describe(*n.call);
  if (!n.axes.empty() && x.op != Op::reshape && x.op != Op::slice && x.op != Op::input)
    s += " axes=" + to_string(n.axes);
  if (x.op == Op::window) s += " step=" + to_string(n.ints) + " dilation=" + to_string(n.steps);
  if (x.op == Op::slice) s += " start=" + to_string(n.ints) + " step=" + to_string(n.steps);
  return s;
}

namespace {

/// Returns the line that recorded a node, and what for, if it is a part of something.
std::string made_at(const Node& n) {
  return to_string(n.site) + (n.purpose ? std::string(" (") + n.purpose + ")" : "");
}

/// Returns a constant's value as a number; of floats of 8 bits their bits.
std::string value_text(Scalar value, DType type) {
  const auto real = [](double v) {
    char s[40];
    std::snprintf(s, sizeof s, "%.9g", v);
    return std::string(s);
  };
  switch (type) {
    case DType::bool_: return value.bits ? "true" : "false";
    case DType::int8: return std::to_string(value.as<int8_t>());
    case DType::int16: return std::to_string(value.as<int16_t>());
    case DType::int32: return std::to_string(value.as<int32_t>());
    case DType::int64: return std::to_string(value.as<int64_t>());
    case DType::float16: return real(fp16::float16_value(value.as<uint16_t>()));
    case DType::bfloat16: return real(fp16::bfloat16_value(value.as<uint16_t>()));
    case DType::float32: return real(static_cast<double>(value.as<float>()));
    case DType::float64: return real(value.as<double>());
    default: return std::to_string(value.bits);
  }
}

}  // namespace

std::string print(const Trace& t) {
  std::string s;
  for (uint32_t v = 0; v < t.values.size(); ++v) {
    const Value& x = t.values[v];
    s += "v" + std::to_string(v) + " = " + label(t, v);
    for (int i = 0; i < x.arity; ++i) s += (i ? ", v" : " v") + std::to_string(x.operand[i]);
    if (x.op == Op::constant) s += " " + value_text(t.node(v).scalar, x.dtype);
    if (x.output) s += "  -> output";
    if (t.same_as[v] != v) s += "  == v" + std::to_string(t.same_as[v]);
    if (t.node(v).site.line() != 0 || x.op != Op::input) s += "  ; " + made_at(t.node(v));
    s += "\n";
  }
  return s;
}

std::string dot(const Trace& t, const std::vector<int>& kernel_of) {
  std::string s = "digraph trace {\n  node [shape=box, fontname=monospace];\n";
  for (uint32_t v = 0; v < t.values.size(); ++v) {
    const Value& x = t.values[v];
    const std::string id = "v" + std::to_string(v);
    s += "  " + id + " [label=\"" + id + " " + label(t, v);
    if (x.op != Op::input) s += "\\n" + to_string(t.node(v).site);
    const int k = v < kernel_of.size() ? kernel_of[v] : -1;
    if (k >= 0) s += "\\nkernel " + std::to_string(k);
    s += x.output ? "\", style=bold];\n" : "\"];\n";
    for (int i = 0; i < x.arity; ++i) s += "  v" + std::to_string(x.operand[i]) + " -> " + id + ";\n";
  }
  return s + "}\n";
}

}  // namespace lazy::jit
