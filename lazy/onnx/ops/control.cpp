#include <algorithm>

#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

/// Returns a condition, which is read if it is not known.
bool condition_of(Call& c, const Value& v) {
  if (v.known()) return v.known()->size() == 1 && v.known()->number(0) != 0;
  return v.tensor(c.device(), c.site()).item<bool>(c.site());
}

void if_op(Call& c) {
  std::vector<Value> r = c.run(condition_of(c, c.value(0)) ? "then_branch" : "else_branch", {});
  for (size_t i = 0; i < r.size(); ++i) c.give(i, std::move(r[i]));
}

/// Joins what the steps of a loop gave as output i of its body along a new axis. No steps give what the file
/// says of it, no times.
Tensor stacked(Call& c, const std::vector<Value>& steps, int64_t axis, size_t i) {
  std::vector<Tensor> all;
  for (const Value& v : steps) all.push_back(v.tensor(c.device(), c.site()));
  if (!all.empty()) return stack(all, axis, c.site());
  const std::optional<StaticType> type = c.output_type("body", i);
  if (!type) c.fail("a loop without steps has no value to stack, and the file does not say its shape");
  const Tensor one = zeros(ShapeArg(type->shape), type->dtype, c.device(), c.site());
  return narrow(c.arg(stack({one}, axis, c.site())), axis, 0, 0);
}

void loop_op(Call& c) {
  const int64_t most = c.has(0) ? c.integer(0) : INT64_MAX;
  const auto [inputs, outputs] = c.arity("body");
  if (inputs < 2 || outputs + 1 < inputs)
    c.fail("the body takes " + std::to_string(inputs) + " values and gives " + std::to_string(outputs));
  const size_t carried = inputs - 2, scanned = outputs - 1 - carried;
  if (c.inputs() != carried + 2)
    c.fail("the body carries " + std::to_string(carried) + " values, not " + std::to_string(c.inputs() - 2));
  std::vector<Value> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(c.value(i + 2));
  std::vector<std::vector<Value>> steps(scanned);
  bool go = !c.has(1) || condition_of(c, c.value(1));
  for (int64_t i = 0; go && i < most; ++i) {
    std::vector<Value> given;
    Known number = Known::scalar(i), on = Known::of(DType::bool_, {});
    on.set(0, int64_t{1});
    given.emplace_back(std::move(number));
    given.emplace_back(std::move(on));
    for (Value& v : state) given.push_back(std::move(v));
    std::vector<Value> r = c.run("body", given);
    given.clear();
    go = condition_of(c, r[0]);
    for (size_t j = 0; j < carried; ++j) state[j] = std::move(r[j + 1]);
    for (size_t j = 0; j < scanned; ++j) steps[j].push_back(std::move(r[j + 1 + carried]));
  }
  for (size_t j = 0; j < carried; ++j) c.give(j, std::move(state[j]));
  for (size_t j = 0; j < scanned; ++j)
    if (c.wants(carried + j)) c.give(carried + j, stacked(c, steps[j], 0, 1 + carried + j));
}

/// Returns the list of an attribute with a number for each of `count` values, 0 if it is left out.
std::vector<int64_t> per_value(Call& c, const char* name, size_t count) {
  std::vector<int64_t> v = c.integers(name);
  v.resize(count);
  return v;
}

/// Goes through sequences, of which inputs `first` on are states and then sequences; returns final states and
/// stacked results.
std::vector<Value> scanned(Call& c, std::vector<Value> state, const std::vector<Tensor>& sequences,
                           const std::vector<int64_t>& axes, const std::vector<int64_t>& directions,
                           const std::vector<int64_t>& out_axes, const std::vector<int64_t>& out_directions,
                           int64_t length) {
  const size_t carried = state.size(), results = out_axes.size();
  std::vector<std::vector<Value>> steps(results);
  for (int64_t t = 0; t < length; ++t) {
    std::vector<Value> given = std::move(state);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const int axis = c.axis(axes[i], sequences[i].ndim(c.site()));
      const Tensor part = narrow(c.arg(sequences[i]), axis, directions[i] ? length - 1 - t : t, 1);
      given.emplace_back(squeeze(c.arg(part), axis));
    }
    std::vector<Value> r = c.run("body", given);
    state.assign(std::make_move_iterator(r.begin()),
                 std::make_move_iterator(r.begin() + static_cast<std::ptrdiff_t>(carried)));
    for (size_t i = 0; i < results; ++i) steps[i].push_back(std::move(r[carried + i]));
  }
  for (size_t i = 0; i < results; ++i) {
    if (out_directions[i]) std::reverse(steps[i].begin(), steps[i].end());
    state.emplace_back(stacked(c, steps[i], out_axes[i], carried + i));
  }
  return state;
}

/// Returns the number of sequences that a scan goes through, once the body is seen to take `before` values
/// less than the node.
size_t sequences_of(Call& c, size_t before) {
  const int64_t count = c.needed("num_scan_inputs");
  const auto [inputs, outputs] = c.arity("body");
  if (count < 1 || c.inputs() < before + static_cast<size_t>(count) || inputs != c.inputs() - before ||
      outputs < inputs - static_cast<size_t>(count))
    c.fail("the body takes " + std::to_string(inputs) + " values and gives " + std::to_string(outputs));
  return static_cast<size_t>(count);
}

void scan_op(Call& c) {
  const size_t count = sequences_of(c, 0), first = c.inputs() - count;
  std::vector<Value> state;
  for (size_t i = 0; i < first; ++i) state.push_back(c.value(i));
  const std::vector<Tensor> sequences = c.tensors(first);
  const std::vector<int64_t> axes = per_value(c, "scan_input_axes", count);
  const size_t results = c.arity("body").second - first;
  const int64_t length = sequences.at(0).size(c.axis(axes[0], sequences[0].ndim(c.site())), c.site());
  std::vector<Value> r = scanned(
      c, std::move(state), sequences, axes, per_value(c, "scan_input_directions", count),
      per_value(c, "scan_output_axes", results), per_value(c, "scan_output_directions", results), length);
  for (size_t i = 0; i < r.size(); ++i) c.give(i, std::move(r[i]));
}

/// Scans each sequence of a batch by itself, as version 8 does.
void scan_8_op(Call& c) {
  const size_t count = sequences_of(c, 1), first = c.inputs() - count;
  const int64_t batch = c.shape(first)[0];
  const std::vector<int64_t> lengths = c.has(0) ? c.integers(0) : std::vector<int64_t>();
  if (!lengths.empty() && lengths.size() != static_cast<size_t>(batch))
    c.fail<ShapeError>("expected a length for each of " + std::to_string(batch) + " sequences");
  const size_t results = c.arity("body").second - (first - 1);
  std::vector<std::vector<Value>> all(first - 1 + results);
  for (int64_t b = 0; b < batch; ++b) {
    const auto part = [&](size_t i) { return squeeze(c.arg(narrow(c[i], 0, b, 1)), 0); };
    std::vector<Value> state;
    for (size_t i = 1; i < first; ++i) state.emplace_back(part(i));
    std::vector<Tensor> sequences;
    for (size_t i = first; i < c.inputs(); ++i) sequences.push_back(part(i));
    const int64_t length =
        lengths.empty() ? sequences.at(0).size(0, c.site()) : lengths[static_cast<size_t>(b)];
    std::vector<Value> r = scanned(c, std::move(state), sequences, std::vector<int64_t>(count),
                                   per_value(c, "directions", count), std::vector<int64_t>(results),
                                   std::vector<int64_t>(results), length);
    for (size_t i = 0; i < all.size(); ++i) all[i].push_back(std::move(r[i]));
  }
  for (size_t i = 0; i < all.size(); ++i) c.give(i, stacked(c, all[i], 0, i));
}

const Operator kControls[] = {
    {"If", 1, 21, "then_branch else_branch", if_op},
    {"Loop", 1, 21, "body", loop_op},
    {"Scan", 8, 8, "body directions num_scan_inputs", scan_8_op},
    {"Scan", 9, 21,
     "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions",
     scan_op},
};

}  // namespace

std::span<const Operator> control_operators() { return kControls; }

}  // namespace lazy::onnx
