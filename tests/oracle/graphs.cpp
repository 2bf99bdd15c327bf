// Runs graphs: several ops, of which one uses results of others, and the gradient of the last by all leaves.
//
// A line has statements that a field ";" separates. The first is "graph" and how gradients are asked for:
// "vjp", "backward", or "eager", which is backward() after every value has been computed. Then come leaves,
// "leaf" and a tensor (of floating point: it is differentiated by), and ops, a row's name and its arguments,
// in which `V I` is the first result of statement I. The last statement is "gradient" and a tensor like the
// last value. Results are that value and the gradients.
#include "tests/oracle/table.hpp"

namespace oracle {
namespace {

using Fields = std::vector<std::string_view>;

struct Statements {
  std::vector<Tensor> leaves;
  std::vector<bool> differentiated;  // of leaves
  std::vector<Fields> ops;
  Tensor gradient;
};

Tensor tensor_of(std::span<const std::string_view> fields) {
  Given g(fields, float64);
  Tensor x = g.tensor();
  g.end();
  return x;
}

Statements read(std::span<const std::string_view> fields) {
  std::vector<Fields> all(1);
  for (const std::string_view f : fields)
    if (f == ";") all.emplace_back();
    else all.back().push_back(f);
  Statements s;
  for (const Fields& one : all) {
    const auto rest = std::span(one).subspan(1);
    if (one.at(0) == "leaf") {
      if (!s.ops.empty()) throw BadCase("a leaf behind an op");
      s.leaves.push_back(tensor_of(rest));
      s.differentiated.push_back(is_float(s.leaves.back().dtype()));
    } else if (one[0] == "gradient") {
      s.gradient = tensor_of(rest);
    } else {
      s.ops.push_back(one);
    }
  }
  return s;
}

/// Returns the last value.
Tensor value_of(const Statements& s, std::vector<Tensor> values, bool eager) {
  for (const Fields& op : s.ops) {
    const Row* const row = find(op[0]);
    if (!row) throw BadCase("no op: " + std::string(op[0]));
    const std::span<const std::string_view> all(op);
    Given given(all.subspan(1), float64, values);
    values.push_back(row->run(given).at(0));
    given.end();
    if (eager) values.back().eval();
  }
  return values.back();
}

/// Returns the leaves with those that are differentiated by replaced.
std::vector<Tensor> with_variables(const Statements& s, const std::vector<Tensor>& variables) {
  std::vector<Tensor> values;
  size_t next = 0;
  for (size_t i = 0; i < s.leaves.size(); ++i)
    values.push_back(s.differentiated[i] ? variables.at(next++) : s.leaves[i]);
  return values;
}

}  // namespace

std::vector<Tensor> run_graph(std::span<const std::string_view> fields) {
  const std::string_view how = fields[0];
  const Statements s = read(fields.subspan(2));
  std::vector<Tensor> variables;
  for (size_t i = 0; i < s.leaves.size(); ++i)
    if (s.differentiated[i]) variables.push_back(s.leaves[i]);
  std::vector<Tensor> results(1);
  if (how == "vjp") {
    const Pullback p = vjp(
        [&](const std::vector<Tensor>& x) { return value_of(s, with_variables(s, x), false); }, variables);
    results[0] = p.value;
    for (Tensor& g : p(s.gradient)) results.push_back(std::move(g));
    return results;
  }
  for (Tensor& v : variables) v.requires_grad_();
  results[0] = value_of(s, with_variables(s, variables), how == "eager");
  if (results[0].requires_grad()) results[0].backward(s.gradient);
  for (const Tensor& v : variables) results.push_back(v.grad().defined() ? v.grad() : zeros_like(v));
  return results;
}

}  // namespace oracle
