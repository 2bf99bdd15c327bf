#include "lazy/onnx/export/exporter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "jit/backend/registry.hpp"
#include "jit/graph/indexed.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/nn/functional/batch_norm_call.hpp"
#include "lazy/nn/functional/conv_problem.hpp"
#include "lazy/nn/functional/recurrent.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"
#include "support/text.hpp"

namespace lazy::onnx {
namespace {
using jit::Node;
using jit::Op;
using Bytes = wire::MessageWriter;

Bytes attribute(const char* name, int64_t v) {
  return Bytes().text(1, name).integer(3, v).integer(20, static_cast<int64_t>(AttributeType::integer));
}
Bytes attribute(const char* name, float v) {
  return Bytes().text(1, name).real(2, v).integer(20, static_cast<int64_t>(AttributeType::real));
}
Bytes attribute(const char* name, const std::vector<int64_t>& v) {
  Bytes m;
  m.text(1, name);
  for (const int64_t n : v) m.integer(8, n);
  return m.integer(20, static_cast<int64_t>(AttributeType::integers));
}

/// Returns a handle to a node that others refer to.
jit::Handle handle_to(Node* n) {
  n->counts.fetch_add(jit::Counted::kHandle, std::memory_order_relaxed);
  return jit::Handle::adopt(n);
}

std::vector<int64_t> listed(std::span<const int64_t> v) { return {v.begin(), v.end()}; }

/// Returns the operator that an op is, in the order of operands; null if there is none.
const char* same_operator(Op op) {
  switch (op) {
    case Op::negative: return "Neg";
    case Op::abs: return "Abs";
    case Op::sign: return "Sign";
    case Op::ceil: return "Ceil";
    case Op::floor: return "Floor";
    case Op::round: return "Round";
    case Op::isnan: return "IsNaN";
    case Op::isinf: return "IsInf";
    case Op::sqrt: return "Sqrt";
    case Op::exp: return "Exp";
    case Op::log: return "Log";
    case Op::sin: return "Sin";
    case Op::cos: return "Cos";
    case Op::tan: return "Tan";
    case Op::sinh: return "Sinh";
    case Op::cosh: return "Cosh";
    case Op::tanh: return "Tanh";
    case Op::asin: return "Asin";
    case Op::acos: return "Acos";
    case Op::atan: return "Atan";
    case Op::asinh: return "Asinh";
    case Op::acosh: return "Acosh";
    case Op::atanh: return "Atanh";
    case Op::erf: return "Erf";
    case Op::sigmoid: return "Sigmoid";
    case Op::add: return "Add";
    case Op::subtract: return "Sub";
    case Op::multiply: return "Mul";
    case Op::divide: return "Div";
    case Op::power: return "Pow";
    case Op::maximum: return "Max";
    case Op::minimum: return "Min";
    case Op::equal: return "Equal";
    case Op::less: return "Less";
    case Op::less_equal: return "LessOrEqual";
    case Op::greater: return "Greater";
    case Op::greater_equal: return "GreaterOrEqual";
    case Op::where: return "Where";
    case Op::matmul: return "MatMul";
    default: return nullptr;
  }
}
const char* reduction(Op op) {
  switch (op) {
    case Op::sum: return "ReduceSum";
    case Op::prod: return "ReduceProd";
    case Op::max: return "ReduceMax";
    case Op::min: return "ReduceMin";
    default: return nullptr;
  }
}

}  // namespace

const jit::CallDefinition& input_call() {
  static constinit const jit::CallDefinition input{
      .name = "onnx.input",
      .infer = [](const jit::CallSpec&, std::span<const jit::Meta> o) -> std::vector<jit::CallOutput> {
        return {jit::CallOutput::like(0, o[0], o[0].dtype)};
      },
      .expand = [](const jit::Expanding& e) -> std::vector<jit::Handle> { return {e[0]}; }};
  return input;
}

Exporter::Exporter(const NamedTensors& weights, std::vector<std::string> inputs, int64_t rows,
                   int64_t other_rows, const Site& site)
    : inputs_(std::move(inputs)), rows_(rows), other_rows_(other_rows), site_(site) {
  for (const std::string& name : inputs_) used_.insert(name);
  for (const auto& [name, t] : weights)
    if (t.handle()->ready())
      weights_.emplace(
          std::pair(static_cast<const char*>(t.handle()->data()), static_cast<int>(t.dtype(site))), name);
}

void Exporter::problem(const Node& n, const std::string& what) {
  std::string text = n.site.line() ? to_string(n.site) + ": " : std::string();
  text += (n.call ? n.call->name() : jit::name_of(n.op)) + std::string(" of ") + lazy::name_of(n.dtype) +
          " " + to_string(n.shape) + ": " + what;
  if (std::find(problems_.begin(), problems_.end(), text) == problems_.end())
    problems_.push_back(std::move(text));
}

double Exporter::constant_of(const Node& n) {
  constexpr int64_t kExact = int64_t{1} << 53;
  return detail::with_type(n.dtype, [&](auto e) {
    const auto v = n.scalar.as<decltype(e)>();
    if constexpr (std::is_integral_v<decltype(e)> && sizeof v == 8)
      if (static_cast<int64_t>(v) > kExact || static_cast<int64_t>(v) < -kExact)
        problem(n, "an integer beyond 2^53");
    return detail::cast_value<double>(v);
  });
}

std::string Exporter::node(const char* op, const Names& inputs, const std::vector<Bytes>& attributes) {
  const std::string name = "v" + std::to_string(++count_);
  Bytes m;
  for (const std::string& i : inputs) m.text(1, i);
  m.text(2, name).text(3, name + "_" + op).text(4, op);
  for (const Bytes& a : attributes) m.message(5, a);
  nodes_.push_back(std::move(m));
  return name;
}

std::string Exporter::cast(const std::string& x, DType to) {
  return node("Cast", {x}, {attribute("to", static_cast<int64_t>(data_type_of(to)))});
}

std::string Exporter::initializer(Tensor value, const std::string& wish) {
  std::string name = wish;
  // Values between nodes are named v1, v2, ...: an initializer of another thing's name gets a number.
  for (int i = 1; name.empty() || used_.contains(name); ++i)
    name = (wish.empty() ? "constant" : wish) + "_" + std::to_string(wish.empty() ? ++count_ : i);
  used_.insert(name);
  initializers_.push_back({name, std::move(value)});
  return name;
}

std::string Exporter::integers(const std::vector<int64_t>& v) {
  std::string key = "integers";
  for (const int64_t n : v) key += " " + std::to_string(n);
  std::string& name = known_[key];
  if (name.empty()) name = initializer(from_span(v));
  return name;
}

std::string Exporter::number(double v, DType t, int rank) {
  std::string& name = known_["number " + std::string(lazy::name_of(t)) + " " + text::formatted("%.17g", v) +
                             " " + std::to_string(rank)];
  if (name.empty()) {
    Shape ones;
    for (int i = 0; i < rank; ++i) ones.push_back(1);
    name = initializer(full(ShapeArg(ones), ScalarNumber(v), t));
  }
  return name;
}

std::vector<TwinSize> Exporter::extents(const Twin& t) {
  std::vector<TwinSize> all;
  for (int i = 0; i < t.a->shape.size(); ++i) all.push_back(extent(t, i));
  return all;
}

std::string Exporter::sizes(const std::vector<TwinSize>& all) {
  std::vector<int64_t> fixed;
  Names parts;
  bool same = true;
  for (const TwinSize& n : all) same = same && n.same();
  if (same) {
    for (const TwinSize& n : all) fixed.push_back(n.a);
    return integers(fixed);
  }
  if (batch_.empty())
    batch_ = node("Shape", {inputs_.at(0)}, {attribute("start", int64_t{0}), attribute("end", int64_t{1})});
  for (const TwinSize& n : all) {
    if (n.same()) {
      parts.push_back(integers({n.a}));
      continue;
    }
    const int64_t factor = n.a / rows_;
    if (factor * rows_ != n.a || factor * other_rows_ != n.b)
      problems_.push_back("an extent is " + std::to_string(n.a) + " for " + std::to_string(rows_) +
                          " rows and " + std::to_string(n.b) + " for " + std::to_string(other_rows_) +
                          ", which is no multiple of them");
    parts.push_back(factor == 1 ? batch_ : node("Mul", {batch_, integers({factor})}));
  }
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {attribute("axis", int64_t{0})});
}

void Exporter::expand_if_needed(const Twin& call) {
  const jit::CallSpec& spec = *call.a->call;
  if (expanded_.contains(call.a) || &spec.definition() == &input_call() || !spec.definition().expand ||
      (spec.name() == std::string_view("linear")) || detail::batch_norm_call_of(spec))
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

Twin Exporter::resolved(Twin t) {
  while (t.a->op == Op::part && !t.a->ready()) {
    const Twin call{t.a->operand[0], t.b ? t.b->operand[0] : nullptr};
    expand_if_needed(call);
    const auto found = expanded_.find(call.a);
    if (found == expanded_.end()) break;
    const auto i = static_cast<size_t>(t.a->axes[0]);
    const auto& [a, b] = found->second;
    if (!a.at(i)) break;  // an output that the expansion leaves out
    t = {a[i].get(), t.b ? b.at(i).get() : nullptr};
  }
  return t;
}

Twin Exporter::operand(const Twin& t, int i) {
  return resolved({t.a->operand[i], t.b ? t.b->operand[i] : nullptr});
}

std::string Exporter::name_of(const Twin& given) {
  const Twin t = resolved(given);
  const auto found = names_.find(t.a);
  if (found != names_.end()) return found->second;
  return names_[t.a] = write(t);  // a source, or a value whose operands are written
}

void Exporter::visit(const Twin& last) {
  // Operands first, without recursion: models are thousands of ops deep.
  std::vector<std::pair<Twin, int>> open{{resolved(last), 0}};
  while (!open.empty()) {
    auto& [t, next] = open.back();
    if (names_.contains(t.a)) {
      open.pop_back();
      continue;
    }
    Twin from = t;
    if (t.a->op == Op::part && !t.a->ready()) from = {t.a->operand[0], t.b ? t.b->operand[0] : nullptr};
    const bool leaf = t.a->ready() || (from.a->call && &from.a->call->definition() == &input_call());
    if (!leaf && next < from.a->arity) {
      const Twin o = operand(from, next++);
      if (!names_.contains(o.a)) open.emplace_back(o, 0);
      continue;
    }
    const Twin done = t;
    open.pop_back();
    (void)name_of(done);
  }
}

void Exporter::add_output(const Twin& t, const std::string& name) {
  visit(t);
  Bytes m;
  m.text(1, name_of(t)).text(2, name).text(3, name + "_output").text(4, "Identity");
  nodes_.push_back(std::move(m));
}

std::string Exporter::weight(const Twin& t) {
  Tensor value(handle_to(t.a));
  const auto found = weights_.find({t.a->data(), static_cast<int>(t.a->dtype)});
  const std::string name = found == weights_.end() ? std::string() : found->second;
  if (!t.b || t.b == t.a) return initializer(value, name);
  const Tensor other(handle_to(t.b));
  if (t.a->shape == t.b->shape) {
    if (t.b->data() != t.a->data() && value.to_vector<double>(site_) != other.to_vector<double>(site_))
      problem(*t.a, "a value that the model makes depends on the number of rows");
    return initializer(value, name);
  }
  // This is one row of a weight that is repeated for each of the batch, such as a token of a class.
  bool repeated = t.a->shape.size() == t.b->shape.size() && t.a->data() == t.b->data();
  for (int i = 0; repeated && i < t.a->shape.size(); ++i) {
    if (extent(t, i).same()) continue;
    repeated = !t.a->contiguous && !t.b->contiguous && t.a->strides[i] == 0 && t.b->strides[i] == 0;
    if (repeated) value = narrow(Arg(value, site_), i, 0, 1);
  }
  if (!repeated) problem(*t.a, "a value that the model makes depends on the number of rows");
  return node("Expand", {initializer(value, name), sizes(extents(t))});
}

std::string Exporter::write(const Twin& t) {
  const Node& n = *t.a;
  if (n.ready()) return weight(t);
  if (t.b && (t.b->op != n.op || t.b->arity != n.arity || t.b->dtype != n.dtype)) {
    problem(n, "another number of rows has another op here");
    return "none";
  }
  switch (jit::kind_of(n.op)) {
    case jit::OpKind::constant: {
      const double v = constant_of(n);
      const std::string scalar = number(v, n.dtype);
      return n.shape.size() == 0 ? scalar : node("Expand", {scalar, sizes(extents(t))});
    }
    case jit::OpKind::iota: return write_iota(t);
    case jit::OpKind::pointwise: return write_pointwise(t);
    case jit::OpKind::view: return write_view(t);
    case jit::OpKind::contract: return node("MatMul", {name_of(operand(t, 0)), name_of(operand(t, 1))});
    case jit::OpKind::reduce: {
      const std::string x = name_of(operand(t, 0));
      const int64_t axis = n.axes[0];
      if (n.op == Op::argmax || n.op == Op::argmin)
        return node(n.op == Op::argmax ? "ArgMax" : "ArgMin", {x}, {attribute("axis", axis)});
      if (n.op == Op::any || n.op == Op::all)
        return cast(node(n.op == Op::any ? "ReduceMax" : "ReduceMin", {cast(x, int32), integers({axis})}),
                    bool_);
      return node(reduction(n.op), {x, integers({axis})});
    }
    case jit::OpKind::scan:
      if (n.op == Op::cumsum)
        return node("CumSum", {name_of(operand(t, 0)), number(static_cast<double>(n.axes[0]), int64)});
      break;
    case jit::OpKind::update: return write_update(t);
    case jit::OpKind::indexed: {
      const jit::Indexed how = jit::indexed_of(n);
      const Twin from = operand(t, 0);
      if (is_bool(n.operand[1]->dtype) || how.bounds == Bounds::mask || !extent(from, how.axis).same()) break;
      std::string at = cast(name_of(operand(t, 1)), int64);
      const auto length = static_cast<double>(from.a->shape[how.axis]);
      // Indices out of range are errors in the format, too, if they are none of these.
      if (how.bounds == Bounds::wrap) at = node("Mod", {at, number(length, int64)});
      if (how.bounds == Bounds::clip) at = node("Clip", {at, number(0, int64), number(length - 1, int64)});
      return node("GatherElements", {name_of(from), at}, {attribute("axis", static_cast<int64_t>(how.axis))});
    }
    case jit::OpKind::part:
      return write_call({n.operand[0], t.b ? t.b->operand[0] : nullptr}, static_cast<int>(n.axes[0]));
    default: break;
  }
  problem(n, "there is no operator for it");
  return "none";
}

std::string Exporter::write_pointwise(const Twin& t) {
  const Node& n = *t.a;
  Names in;
  bool whole = false;
  for (int i = 0; i < n.arity; ++i) {
    const Twin o = operand(t, i);
    // A number needs no extents beside operands that have them.
    if (o.a->op == Op::constant && !o.a->ready() && n.arity > 1) {
      const double v = constant_of(*o.a);
      in.push_back(number(v, o.a->dtype));
      continue;
    }
    whole = whole || o.a->shape == n.shape;
    in.push_back(name_of(o));
  }
  if (!whole && n.arity > 1) {
    // Together they may still broadcast to all of it; extents are said where they may not.
    in[static_cast<size_t>(n.arity) - 1] = node("Expand", {in.back(), sizes(extents(t))});
  }
  const DType type = n.op == Op::where ? n.dtype : n.arity ? operand(t, 0).a->dtype : n.dtype;
  const auto real = [&](double v) { return number(v, type); };
  switch (n.op) {
    case Op::cast: return cast(in[0], n.dtype);
    case Op::bitwise_invert: return node(is_bool(type) ? "Not" : "BitwiseNot", in);
    case Op::bitwise_and: return node(is_bool(type) ? "And" : "BitwiseAnd", in);
    case Op::bitwise_or: return node(is_bool(type) ? "Or" : "BitwiseOr", in);
    case Op::bitwise_xor: return node(is_bool(type) ? "Xor" : "BitwiseXor", in);
    case Op::not_equal: return node("Not", {node("Equal", in)});
    case Op::isfinite: return node("Not", {node("Or", {node("IsNaN", in), node("IsInf", in)})});
    case Op::rsqrt: return node("Reciprocal", {node("Sqrt", in)});
    case Op::expm1: return node("Sub", {node("Exp", in), real(1)});
    case Op::log1p: return node("Log", {node("Add", {in[0], real(1)})});
    case Op::log2: return node("Mul", {node("Log", in), real(1.4426950408889634)});
    case Op::log10: return node("Mul", {node("Log", in), real(0.43429448190325182)});
    case Op::erfc: return node("Sub", {real(1), node("Erf", in)});
    case Op::gelu: {
      const std::string tail =
          node("Add", {node("Erf", {node("Mul", {in[0], real(0.70710678118654752)})}), real(1)});
      return node("Mul", {node("Mul", {in[0], real(0.5)}), tail});
    }
    case Op::trunc:
      if (!is_float(type)) return in[0];
      return node("Mul", {node("Sign", in), node("Floor", {node("Abs", in)})});
    case Op::fma: return node("Add", {node("Mul", {in[0], in[1]}), in[2]});
    case Op::hypot:
      return node("Sqrt", {node("Add", {node("Mul", {in[0], in[0]}), node("Mul", {in[1], in[1]})})});
    case Op::floor_divide:
      if (is_float(type)) return node("Floor", {node("Div", in)});
      break;
    case Op::remainder:
      if (!is_float(type)) return node("Mod", in);
      return node("Sub", {in[0], node("Mul", {in[1], node("Floor", {node("Div", in)})})});
    default: break;
  }
  if (const char* const op = same_operator(n.op)) return node(op, in);
  problem(n, "there is no operator for it");
  return "none";
}

std::string Exporter::write_view(const Twin& t) {
  const Node& n = *t.a;
  const Twin o = operand(t, 0);
  const std::string x = name_of(o);
  if (n.op == Op::permute) return node("Transpose", {x}, {attribute("perm", listed(n.axes))});
  if (n.op == Op::broadcast) return node("Expand", {x, sizes(extents(t))});
  if (n.op == Op::window) return write_window(t);
  if (n.op == Op::reshape) {
    std::vector<TwinSize> all = extents(t);
    const auto differs = std::find_if(all.begin(), all.end(), [](const TwinSize& e) { return !e.same(); });
    if (differs != all.end() &&
        std::all_of(differs + 1, all.end(), [](const TwinSize& e) { return e.same(); }))
      *differs = {-1, -1};
    return node("Reshape", {x, sizes(all)});
  }
  std::vector<TwinSize> starts, ends;
  std::vector<int64_t> axes, steps;
  for (int a = 0; a < n.shape.size(); ++a) {
    const TwinSize start{n.ints[a], t.b ? t.b->ints[a] : n.ints[a]}, length = extent(t, a),
                                                                     from = extent(o, a);
    const int64_t step = n.steps[a];
    if (start.a == 0 && start.b == 0 && step == 1 && length.a == from.a && length.b == from.b) continue;
    const auto end = [&](int64_t begin, int64_t count) {
      const int64_t last = begin + (count - 1) * step;
      if (step > 0) return begin + count * step;  // behind the axis is its end
      return last + step < 0 ? std::numeric_limits<int64_t>::min() / 2 : last + step;
    };
    axes.push_back(a);
    steps.push_back(step);
    starts.push_back(start);
    ends.push_back({end(start.a, length.a), end(start.b, length.b)});
  }
  if (axes.empty()) return x;
  return node("Slice", {x, sizes(starts), sizes(ends), integers(axes), integers(steps)});
}

/// Writes overlapping windows as a gather along each axis, whose elements then go to an axis at the end.
std::string Exporter::write_window(const Twin& t) {
  const Node& n = *t.a;
  std::string x = name_of(operand(t, 0));
  const int rank = n.operand[0]->shape.size();
  for (int i = 0; i < n.axes.size(); ++i) {
    const auto axis = static_cast<int>(n.axes[i]);
    if (!extent(t, axis).same()) problem(n, "windows along the batch");
    const int64_t count = n.shape[axis], length = n.shape[rank + i];
    std::vector<int64_t> places;
    for (int64_t w = 0; w < count; ++w)
      for (int64_t k = 0; k < length; ++k) places.push_back(w * n.ints[i] + k * n.steps[i]);
    const std::string at = initializer(from_span(places, ShapeArg({count, length})));
    x = node("Gather", {x, at}, {attribute("axis", static_cast<int64_t>(axis))});
    std::vector<int64_t> order;
    for (int a = 0; a < rank + i + 1; ++a)
      if (a != axis + 1) order.push_back(a);
    order.push_back(axis + 1);
    x = node("Transpose", {x}, {attribute("perm", order)});
  }
  return x;
}

std::string Exporter::write_iota(const Twin& t) {
  const Node& n = *t.a;
  const auto axis = static_cast<int>(n.axes[0]);
  std::vector<int64_t> along(static_cast<size_t>(n.shape.size()), 1);
  if (n.shape.size() == 0) return number(0, int64);
  along[static_cast<size_t>(axis)] = -1;
  std::string x;
  if (extent(t, axis).same()) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n.shape[axis]; ++i) values.push_back(i);
    x = integers(values);
  } else {
    const std::string end = node("Squeeze", {sizes({extent(t, axis)})});
    x = node("Range", {number(0, int64), end, number(1, int64)});
  }
  x = node("Reshape", {x, integers(along)});
  for (int a = 0; a < n.shape.size(); ++a)
    if (a != axis && n.shape[a] != 1) return node("Expand", {x, sizes(extents(t))});
  return x;
}

/// Writes parts that are put one behind the other along an axis, and fill it, as one node.
std::optional<std::string> Exporter::write_concat(const Twin& last) {
  std::vector<Twin> parts;
  int axis = -1;
  Twin t = last;
  for (;;) {
    const Twin part = operand(t, 1);
    for (int a = 0; a < t.a->shape.size(); ++a) {
      if (t.a->steps[a] != 1) return {};
      if (part.a->shape[a] == t.a->shape[a]) continue;
      if ((axis >= 0 && axis != a) || !extent(part, a).same()) return {};
      axis = a;
    }
    parts.push_back(part);
    const Twin base = operand(t, 0);
    if (base.a->op == Op::constant && !base.a->ready()) break;
    if (base.a->op != Op::slice_update || base.a->ready()) return {};
    t = base;
  }
  if (axis < 0) return {};
  // From the last update, which ends the axis, to the first, which begins it.
  int64_t end = last.a->shape[axis];
  Names in;
  t = last;
  for (const Twin& p : parts) {
    end -= p.a->shape[axis];
    if (t.a->ints[axis] != end) return {};
    in.insert(in.begin(), name_of(p));
    t = operand(t, 0);
  }
  if (end != 0) return {};
  return node("Concat", in, {attribute("axis", static_cast<int64_t>(axis))});
}

std::string Exporter::write_update(const Twin& t) {
  const Node& n = *t.a;
  if (n.op != Op::slice_update) {
    problem(n, "there is no operator for it");
    return "none";
  }
  if (std::optional<std::string> joined = write_concat(t)) return *joined;
  const Twin base = operand(t, 0), part = operand(t, 1);
  std::vector<int64_t> pads(2 * static_cast<size_t>(n.shape.size()), 0);
  Shape mask;
  bool fits = true;
  for (int a = 0; a < n.shape.size(); ++a) {
    const bool whole = part.a->shape[a] == n.shape[a];
    fits = fits && n.steps[a] == 1 && (whole || extent(t, a).same());
    mask.push_back(whole ? 1 : n.shape[a]);
    pads[static_cast<size_t>(a)] = n.ints[a];
    pads[static_cast<size_t>(a + n.shape.size())] = n.shape[a] - n.ints[a] - part.a->shape[a];
    if (whole) pads[static_cast<size_t>(a)] = pads[static_cast<size_t>(a + n.shape.size())] = 0;
  }
  if (!fits) {
    problem(n, "an update with gaps, or of a part of the batch");
    return "none";
  }
  const bool filled = base.a->op == Op::constant && !base.a->ready();
  double fill = 0;
  if (filled) fill = constant_of(*base.a);
  const std::string padded = node("Pad", {name_of(part), integers(pads), number(fill, n.dtype)});
  if (filled) return padded;
  std::vector<uint8_t> inside(static_cast<size_t>(numel(mask)), 1);
  for (size_t i = 0; i < inside.size(); ++i) {
    size_t rest = i;
    for (int a = mask.size(); a-- > 0; rest /= static_cast<size_t>(mask[a])) {
      const auto at = static_cast<int64_t>(rest % static_cast<size_t>(mask[a]));
      if (mask[a] > 1 && (at < n.ints[a] || at >= n.ints[a] + part.a->shape[a])) inside[i] = 0;
    }
  }
  const std::string at = initializer(from_span(inside, ShapeArg(mask)).to(bool_));
  return node("Where", {at, padded, name_of(base)});
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
