#include "lazy/onnx/export/exporter.hpp"

#include <algorithm>

#include "jit/graph/indexed.hpp"
#include "lazy/onnx/export/parts.hpp"

namespace lazy::onnx {
namespace {

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

}  // namespace lazy::onnx
