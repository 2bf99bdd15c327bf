#include "lazy/nn/modules/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <unordered_map>
#include <utility>

#include "jit/calls/call.hpp"
#include "jit/core/bytes.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/record.hpp"
#include "lazy/nn/modules/paths.hpp"
#include "support/text.hpp"

namespace lazy {
namespace {

using detail::Observer;
using jit::Handle;
using jit::Node;
using jit::OpKind;
using nn::common_module;
using nn::is_in;
using nn::parent_of;

struct Arithmetic {
  double multiply_adds = 0, flops = 0;
};

double elements(const Node& n) { return static_cast<double>(numel(n.shape)); }

/// A layer is recorded as a call of x and weights, and a bias. Transposed convolutions have the weights of
/// the one that they undo.
bool is_layer(const jit::CallSpec& spec) {
  const std::string_view name = spec.name();
  return name == "linear" || name.starts_with("conv");
}
Arithmetic of_layer(const jit::CallSpec& spec, std::span<const Handle* const> operands, const Node& out) {
  if (operands.size() < 2) return {};
  const Node &x = *operands[0]->get(), &w = *operands[1]->get();
  if (w.shape.size() == 0 || w.shape[0] == 0) return {};
  const bool transposed = std::string_view(spec.name()).find("transpose") != std::string_view::npos;
  const double each = w.shape.size() == 1 ? elements(w) : elements(w) / static_cast<double>(w.shape[0]);
  Arithmetic a;
  a.multiply_adds = each * elements(transposed ? x : out);
  a.flops = 2 * a.multiply_adds + (operands.size() > 2 ? elements(out) : 0);
  return a;
}

Arithmetic of_op(jit::Op op, std::span<const Handle* const> operands, const Node& out) {
  Arithmetic a;
  switch (jit::kind_of(op)) {
    case OpKind::pointwise:
      if (op != jit::Op::cast) a.flops = elements(out);
      break;
    case OpKind::reduce:
    case OpKind::scan: a.flops = elements(*operands[0]->get()); break;
    case OpKind::contract: {
      const Shape& left = (*operands[0])->shape;
      a.multiply_adds = elements(out) * static_cast<double>(left[left.size() - 1]);
      a.flops = 2 * a.multiply_adds;
      break;
    }
    default: break;
  }
  return a;
}

/// Notes what is recorded while the model is called.
class Recorder final : public Observer {
 public:
  struct Value {
    const Node* node;
    size_t base;         // the value whose memory a view shows; else itself
    bool known;          // `path` is that of the parameters that it is computed with
    bool of_parameters;  // computed from parameters alone
    std::string path;
    Arithmetic work;
    bool read = false;             // by a value of another op
    std::vector<size_t> operands;  // values; inputs come as values without operands
    bool recorded;                 // by an op; else it was there before
  };

  explicit Recorder(nn::Module& m) {
    for (const auto& [path, p] : m.named_parameters())
      if (const Parameter* const at = p.get()) add_state(path, at->handle());
    for (const auto& [path, b] : m.named_buffers()) add_state(path, b.handle());
  }
  Recorder(const Recorder&) = delete;
  ~Recorder() {
    for (Node* n : held_) jit::drop_reference(n);
  }

  void recorded(const detail::Recorded& r) override {
    add(r.operands, r.result, of_op(r.op, r.operands, *r.result.get()), jit::kind_of(r.op) == OpKind::view);
  }
  void recorded_call(const detail::RecordedCall& c) override {
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      Arithmetic a;
      if (i == 0 && is_layer(c.spec)) a = of_layer(c.spec, c.operands, *c.outputs[i].get());
      add(c.operands, c.outputs[i], a, false);
    }
  }
  bool wants_ops(const jit::CallSpec& spec, std::span<const Handle* const>) override {
    return spec.definition().expand != nullptr && !is_layer(spec);
  }
  void begins(const char*, std::span<const Handle* const>, const Site&) override {
    if (depth_++ == 0) first_of_function_ = values.size();
  }
  /// The ops of a function belong to the module whose parameters some of them read.
  void ends(const char*, const Handle*, const detail::Derivative*) override {
    if (--depth_ > 0) return;
    std::string path;
    bool known = false;
    for (size_t v = first_of_function_; v < values.size(); ++v) {
      if (!values[v].known || !values[v].recorded) continue;
      path = known ? std::string(common_module(path, values[v].path)) : values[v].path;
      known = true;
    }
    for (size_t v = first_of_function_; known && v < values.size(); ++v)
      if (values[v].recorded && !values[v].known) values[v].path = path, values[v].known = true;
  }

  /// Gives a module to each op that reads no parameters.
  void find_modules();

  std::vector<Value> values;

 private:
  void hold(const Handle& h) {
    jit::add_reference(h.get());
    held_.push_back(h.get());
  }
  void add_state(const std::string& path, const Handle& h) {
    if (number_.contains(h.get())) return;
    hold(h);
    number_[h.get()] = values.size();
    values.push_back(
        {h.get(), values.size(), true, true, std::string(parent_of(path)), {}, false, {}, false});
  }
  size_t number_of(const Handle& h) {
    const auto at = number_.find(h.get());
    if (at != number_.end()) return at->second;
    hold(h);
    number_[h.get()] = values.size();
    values.push_back({h.get(),
                      values.size(),
                      false,
                      jit::is_source(h->op) && numel(h->shape) == 1,
                      {},
                      {},
                      false,
                      {},
                      false});
    return values.size() - 1;
  }
  void add(std::span<const Handle* const> operands, const Handle& result, const Arithmetic& work, bool view) {
    Value v{result.get(), 0,  false, !operands.empty() || jit::is_source(result->op), {}, work,
            false,        {}, true};
    for (const Handle* h : operands) {
      const size_t o = number_of(*h);
      v.operands.push_back(o);
      const Value& from = values[o];
      v.of_parameters &= from.of_parameters;
      if (!from.of_parameters || !from.known) continue;
      v.path = v.known ? std::string(common_module(v.path, from.path)) : from.path;
      v.known = true;
    }
    if (number_.contains(result.get())) return;  // a view that shows all of its operand
    hold(result);
    const size_t number = values.size();
    v.base = view && !v.operands.empty() ? values[v.operands[0]].base : number;
    number_[result.get()] = number;
    values.push_back(std::move(v));
  }

  std::unordered_map<const Node*, size_t> number_;
  std::vector<Node*> held_;  // of each a reference: no other value gets its address
  int depth_ = 0;
  size_t first_of_function_ = 0;
};

void Recorder::find_modules() {
  std::vector<std::string_view> next(values.size());
  std::vector<uint8_t> has_next(values.size(), 0);
  std::string_view path;
  bool any = false;
  for (size_t v = values.size(); v-- > 0;) {
    next[v] = path, has_next[v] = any;
    if (values[v].recorded && values[v].known && !values[v].of_parameters) path = values[v].path, any = true;
  }
  std::string before;
  bool has_before = false;
  for (size_t v = 0; v < values.size(); ++v) {
    Value& value = values[v];
    if (!value.recorded || value.of_parameters) continue;
    if (value.known) {
      before = value.path, has_before = true;
      continue;
    }
    if (has_before && has_next[v]) value.path = std::string(common_module(before, next[v]));
    value.known = true;
  }
}

/// Sums up what belongs to the modules below `module`.
void sum_up(const Recorder& r, ModuleRow& row) {
  std::vector<uint8_t> inside(r.values.size(), 0), counted(r.values.size(), 0);
  for (size_t v = 0; v < r.values.size(); ++v)
    inside[v] = r.values[v].recorded && r.values[v].known && is_in(r.values[v].path, row.path);
  const auto count = [&](size_t v) {
    const size_t base = r.values[v].base;
    const Node& n = *r.values[base].node;
    if (std::exchange(counted[base], 1) ||
        (jit::is_source(n.op) && (r.values[base].recorded || numel(n.shape) == 1)))
      return;
    row.bytes += static_cast<double>(numel(n.shape)) * static_cast<double>(size_of(n.dtype));
  };
  std::vector<uint8_t> leaves(r.values.size(), 0);  // read by another module, or by nobody
  for (size_t v = 0; v < r.values.size(); ++v) {
    const Recorder::Value& value = r.values[v];
    if (!value.recorded) continue;
    for (const size_t o : value.operands) {
      if (inside[v] && !inside[o]) count(o);
      if (!inside[v] && inside[o]) leaves[o] = 1;
    }
    if (!inside[v]) continue;
    row.multiply_adds += value.work.multiply_adds;
    row.flops += value.work.flops;
    if (value.of_parameters) continue;
    row.called = true;
    row.output = value.node->shape;
    if (!value.read) leaves[v] = 1;
  }
  for (size_t v = 0; v < r.values.size(); ++v)
    if (leaves[v]) count(v);
}

/// Sets all modules to evaluate, for a scope.
class Evaluating {
 public:
  Evaluating(nn::Module& m, const Site& s) : site_(s) {
    for (nn::Module* one : m.modules()) before_.emplace_back(one, one->training());
    any_ = std::any_of(before_.begin(), before_.end(), [](const auto& b) { return b.second; });
    if (any_) m.eval(s);
  }
  Evaluating(const Evaluating&) = delete;
  ~Evaluating() {
    if (!any_) return;
    for (const auto& [m, on] : before_)  // each before those in it
      if (m->training() != on) m->train(on, site_);
  }

 private:
  std::vector<std::pair<nn::Module*, bool>> before_;
  const Site site_;
  bool any_ = false;
};

std::string with_unit(double v) {
  constexpr const char* units[] = {"", " K", " M", " G", " T"};
  size_t unit = 0;
  for (; v >= 1e3 && unit + 1 < std::size(units); ++unit) v /= 1e3;
  return text::formatted(unit == 0 ? "%.0f" : v < 100 ? "%.2f" : "%.0f", v) + units[unit];
}
std::string with_commas(int64_t v) {
  std::string s = std::to_string(v);
  for (size_t i = s.size(); i > 3; i -= 3) s.insert(i - 3, ",");
  return s;
}

}  // namespace

ModuleSummary detail::summary_of(nn::Module& model, const std::function<void()>& call, const Site& s) {
  Recorder recorder(model);
  {
    const Evaluating evaluating(model, s);
    const Inferring off(false);
    const Observing all(recorder);
    call();
  }
  recorder.find_modules();
  for (const Recorder::Value& v : recorder.values)
    for (const size_t o : v.operands) recorder.values[o].read = true;
  ModuleSummary summary;
  for (const auto& [path, m] : model.named_modules()) {
    ModuleRow row;
    row.path = path;
    row.type = m->name();
    for (const ModuleRow& around : summary.rows) row.depth += path != around.path && is_in(path, around.path);
    row.parameters = m->num_parameters();
    row.trained = m->num_parameters(true);
    sum_up(recorder, row);
    summary.rows.push_back(std::move(row));
  }
  return summary;
}

std::string to_string(const ModuleSummary& s) {
  const std::vector<std::string> head = {"module", "output", "parameters", "multiply-adds", "flops", "bytes"};
  std::vector<std::vector<std::string>> lines;
  std::vector<const ModuleRow*> around;  // the modules that a row is in
  for (const ModuleRow& r : s.rows) {
    around.resize(static_cast<size_t>(r.depth));
    const size_t own = around.empty() || around.back()->path.empty() ? 0 : around.back()->path.size() + 1;
    const std::string name = r.path.substr(own);
    around.push_back(&r);
    lines.push_back(
        {std::string(static_cast<size_t>(2 * r.depth), ' ') + (name.empty() ? "" : name + ": ") + r.type,
         r.called ? lazy::to_string(r.output) : "-", r.parameters ? with_commas(r.parameters) : "-",
         r.called ? with_unit(r.multiply_adds) : "-", r.called ? with_unit(r.flops) : "-",
         r.called ? text::human_size(static_cast<uint64_t>(r.bytes)) : "-"});
  }
  std::vector<size_t> width;
  for (const std::string& h : head) width.push_back(h.size());
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string out;
  const auto write = [&](const std::vector<std::string>& line) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(width[i] - line[i].size(), ' ');
      row += (i ? "  " : "") + (i < 2 ? line[i] + blanks : blanks + line[i]);
    }
    out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  };
  write(head);
  for (const auto& line : lines) write(line);
  const ModuleRow& all = s.total();
  out += with_commas(all.parameters) + (all.parameters == 1 ? " parameter, " : " parameters, ") +
         with_commas(all.trained) + " of them trained; " + with_unit(all.multiply_adds) + " multiply-adds, " +
         with_unit(all.flops) + " flops, " + text::human_size(static_cast<uint64_t>(all.bytes)) +
         " to read and write at least\n";
  return out;
}

std::ostream& operator<<(std::ostream& out, const ModuleSummary& s) { return out << to_string(s); }

}  // namespace lazy
