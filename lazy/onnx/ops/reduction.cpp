#include <cmath>
#include <limits>
#include <numeric>

#include "lazy/core/promotion.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/ordering.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/sorting.hpp"
#include "lazy/ops/statistics.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

/// Holds the axes of a reduction; `none` if nothing is to be reduced.
struct Reduced {
  Axes axes;
  KeepDims keep = keepdims;
  bool none = false;
};

/// Reads axes, an attribute before version `input_since` and an input from then on.
Reduced reduced(Call& c, int64_t input_since) {
  Reduced r;
  r.keep = KeepDims(c.integer("keepdims", 1) != 0);
  const std::vector<int64_t> given =
      c.version() >= input_since ? (c.has(1) ? c.integers(1) : std::vector<int64_t>()) : c.integers("axes");
  Dims axes = c.axes(given, c.rank(0));
  r.none = axes.empty() && c.integer("noop_with_empty_axes", 0) != 0;
  if (axes.empty())
    for (int i = 0; i < c.rank(0); ++i) axes.push_back(i);
  r.axes = Axes(axes);
  return r;
}

using Reduction = Tensor (*)(Call&, const Tensor&, const Reduced&);

/// Records a reduction; before it `f` may map elements, which is all that is left of it without axes.
template <Reduction f, int64_t input_since>
void reduce(Call& c) {
  Reduced r = reduced(c, input_since);
  const Tensor x = c.tensor(0);
  // A tensor without dimensions is its own sum, and reductions map it as if it had one axis.
  if (r.none) {
    const Tensor one = x.unsqueeze(0, c.site());
    r.axes = Axes(0);
    r.keep = dropdims;
    return c.give(f(c, one, r).astype(x.dtype(c.site()), c.site()));
  }
  if (r.axes.empty()) {
    const Tensor one = reshape(c.arg(x), {1});
    r.axes = Axes(0);
    r.keep = dropdims;
    return c.give(f(c, one, r).astype(x.dtype(c.site()), c.site()));
  }
  c.give(f(c, x, r).astype(x.dtype(c.site()), c.site()));
}

Tensor sum_of(Call& c, const Tensor& x, const Reduced& r) {
  return sum(c.arg(x), r.axes, r.keep, x.dtype(c.site()));
}
Tensor mean_of(Call& c, const Tensor& x, const Reduced& r) { return mean(c.arg(x), r.axes, r.keep); }
Tensor prod_of(Call& c, const Tensor& x, const Reduced& r) {
  return prod(c.arg(x), r.axes, r.keep, x.dtype(c.site()));
}
Tensor l1_of(Call& c, const Tensor& x, const Reduced& r) { return sum_of(c, abs(c.arg(x)), r); }
Tensor l2_of(Call& c, const Tensor& x, const Reduced& r) {
  return sqrt(c.arg(sum_of(c, square(c.arg(x)), r)));
}
Tensor sum_square_of(Call& c, const Tensor& x, const Reduced& r) { return sum_of(c, square(c.arg(x)), r); }
Tensor log_sum_of(Call& c, const Tensor& x, const Reduced& r) { return log(c.arg(sum_of(c, x, r))); }
Tensor log_sum_exp_of(Call& c, const Tensor& x, const Reduced& r) {
  return logsumexp(c.arg(x), r.axes, r.keep);
}

/// Returns the shape that a reduction gives.
Shape reduced_shape(const Shape& shape, const Reduced& r) {
  Shape all;
  for (int i = 0; i < shape.size(); ++i) {
    const bool dropped = std::find(r.axes.begin(), r.axes.end(), i) != r.axes.end();
    if (!dropped) all.push_back(shape[i]);
    else if (r.keep.value) all.push_back(1);
  }
  return all;
}

/// Returns the largest or smallest elements; those of no elements are the lowest and the highest number.
Tensor extreme_of(Call& c, const Tensor& x, const Reduced& r, bool largest) {
  const DType dtype = x.dtype(c.site());
  if (is_bool(dtype)) return largest ? any(c.arg(x), r.axes, r.keep) : all(c.arg(x), r.axes, r.keep);
  if (numel(x.shape(c.site())) > 0)
    return largest ? max(c.arg(x), r.axes, r.keep) : min(c.arg(x), r.axes, r.keep);
  const ShapeArg shape(reduced_shape(x.shape(c.site()), r));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) return full(shape, largest ? -kInfinity : kInfinity, dtype, c.device(), c.site());
  const IInfo limits = iinfo(dtype, c.site());
  return largest ? full(shape, limits.min, dtype, c.device(), c.site())
                 : full(shape, limits.max, dtype, c.device(), c.site());
}
Tensor max_of(Call& c, const Tensor& x, const Reduced& r) { return extreme_of(c, x, r, true); }
Tensor min_of(Call& c, const Tensor& x, const Reduced& r) { return extreme_of(c, x, r, false); }

/// Reduces all known elements to one, which is what is asked of shapes.
bool known_reduction(Call& c, int64_t input_since, int64_t (*f)(int64_t, int64_t), int64_t first) {
  if (!all_known(c) || c.value(0).known()->real() || c.rank(0) > 1) return false;
  const Reduced r = reduced(c, input_since);
  const Known& k = *c.value(0).known();
  if (r.none || (k.size() == 0 && first < 0)) return false;
  Known result = Known::of(k.dtype, r.keep.value ? Shape(c.rank(0), 1) : Shape());
  result.set(0, std::accumulate(k.integers.begin() + (first < 0), k.integers.end(),
                                first < 0 ? k.integers[0] : first, f));
  c.give(std::move(result));
  return true;
}
bool known_sum(Call& c) {
  return known_reduction(
      c, 13, [](int64_t a, int64_t b) { return a + b; }, 0);
}
bool known_prod(Call& c) {
  return known_reduction(
      c, 18, [](int64_t a, int64_t b) { return a * b; }, 1);
}
bool known_reduce_max(Call& c) {
  return known_reduction(
      c, 18, [](int64_t a, int64_t b) { return std::max(a, b); }, -1);
}
bool known_reduce_min(Call& c) {
  return known_reduction(
      c, 18, [](int64_t a, int64_t b) { return std::min(a, b); }, -1);
}

template <Tensor (*f)(Arg, Axes, KeepDims)>
void arg_extreme(Call& c) {
  const int axis = c.axis(c.integer("axis", 0), c.rank(0));
  const KeepDims keep(c.integer("keepdims", 1) != 0);
  if (!c.integer("select_last_index", 0)) return c.give(f(c[0], axis, keep));
  const Tensor reversed = flip(c[0], axis), at = f(c.arg(reversed), axis, keep);
  c.give(subtract(Arg(c.shape(0)[axis] - 1, c.site()), c.arg(at)));
}

void cum_sum_op(Call& c) {
  const int axis = c.axis(c.integer(1), c.rank(0));
  const bool reverse = c.integer("reverse", 0) != 0, exclusive = c.integer("exclusive", 0) != 0;
  const Tensor x = reverse ? flip(c[0], axis) : c.tensor(0);
  Tensor r = cumsum(c.arg(x), axis, c.dtype(0));
  if (exclusive) r = subtract(c.arg(r), c.arg(x));
  c.give(reverse ? flip(c.arg(r), axis) : r);
}

void top_k_op(Call& c) {
  const int axis = c.axis(c.integer("axis", -1), c.rank(0));
  const int64_t k = c.version() < 10 ? c.needed("k") : c.integer(1);
  Sorted r = topk(c[0], k, axis, c.integer("largest", 1) != 0);
  c.give(0, std::move(r.values));
  c.give(1, std::move(r.indices));
}

constexpr const char* kReduceAttributes = "axes keepdims noop_with_empty_axes";

const Operator kReductions[] = {
    {"ReduceSum", 1, 21, kReduceAttributes, reduce<sum_of, 13>, known_sum},
    {"ReduceMean", 1, 21, kReduceAttributes, reduce<mean_of, 18>},
    {"ReduceProd", 1, 21, kReduceAttributes, reduce<prod_of, 18>, known_prod},
    {"ReduceMax", 1, 21, kReduceAttributes, reduce<max_of, 18>, known_reduce_max},
    {"ReduceMin", 1, 21, kReduceAttributes, reduce<min_of, 18>, known_reduce_min},
    {"ReduceL1", 1, 21, kReduceAttributes, reduce<l1_of, 18>},
    {"ReduceL2", 1, 21, kReduceAttributes, reduce<l2_of, 18>},
    {"ReduceSumSquare", 1, 21, kReduceAttributes, reduce<sum_square_of, 18>},
    {"ReduceLogSum", 1, 21, kReduceAttributes, reduce<log_sum_of, 18>},
    {"ReduceLogSumExp", 1, 21, kReduceAttributes, reduce<log_sum_exp_of, 18>},
    {"ArgMax", 1, 21, "axis keepdims select_last_index", arg_extreme<argmax>},
    {"ArgMin", 1, 21, "axis keepdims select_last_index", arg_extreme<argmin>},
    {"CumSum", 11, 21, "exclusive reverse", cum_sum_op},
    {"TopK", 1, 21, "axis k largest sorted", top_k_op},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReductions; }

}  // namespace lazy::onnx
