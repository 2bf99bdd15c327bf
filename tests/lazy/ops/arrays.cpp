// Compares array functions with what NumPy and torch answer in tests/golden/arrays_*.txt (their format:
// tests/golden/make_arrays.py), on operands in memory, with steps and negative strides, and not computed yet.
#include "tests/common/golden_arrays.hpp"

using namespace lazy;
using golden::Tensors;

namespace {

/// Holds functions by the names that the files have for them, with their other arguments.
const golden::Functions& functions() {
  using X = const Tensors&;
  const auto pair = [](const Sorted& s) { return Tensors{s.values, s.indices}; };
  const auto both = [](const HistogramResult& h) { return Tensors{h.counts, h.edges}; };
  using Widths = std::vector<std::pair<int64_t, int64_t>>;
  static const double infinity = check::inf;
  static golden::Functions table = {
      {"split3", [](X x) { return split(x[0], 3); }},
      {"split_at_2_5",
       [](X x) {
         return split(x[0], {2, 5});
       }},
      {"split_at_-2_9",
       [](X x) {
         return split(x[0], {-2, 9});
       }},
      {"split_at_4_2",
       [](X x) {
         return split(x[0], std::vector<int64_t>{4, 2});
       }},
      {"split2_axis1", [](X x) { return split(x[0], 2, 1); }},
      {"array_split3", [](X x) { return array_split(x[0], 3); }},
      {"chunk4", [](X x) { return chunk(x[0], 4); }},
      {"unstack_axis1", [](X x) { return unstack(x[0], 1); }},
      {"narrow_1_2_3", [](X x) { return Tensors{narrow(x[0], 1, 2, 3)}; }},
      {"hstack", [](X x) { return Tensors{hstack(x)}; }},
      {"vstack", [](X x) { return Tensors{vstack(x)}; }},
      {"dstack", [](X x) { return Tensors{dstack(x)}; }},
      {"column_stack", [](X x) { return Tensors{column_stack(x)}; }},
      {"tile3", [](X x) { return Tensors{tile(x[0], 3)}; }},
      {"tile2_1_2",
       [](X x) {
         return Tensors{tile(x[0], {2, 1, 2})};
       }},
      {"tile0", [](X x) { return Tensors{tile(x[0], 0)}; }},
      {"repeat3", [](X x) { return Tensors{repeat(x[0], 3)}; }},
      {"repeat2_axis1", [](X x) { return Tensors{repeat_interleave(x[0], 2, 1)}; }},
      {"repeat0_axis0", [](X x) { return Tensors{repeat(x[0], 0, 0)}; }},
      {"roll2", [](X x) { return Tensors{roll(x[0], 2)}; }},
      {"roll-1", [](X x) { return Tensors{roll(x[0], -1)}; }},
      {"roll100000000001", [](X x) { return Tensors{roll(x[0], 100000000001)}; }},
      {"roll_2_-1_axes_0_1",
       [](X x) {
         return Tensors{roll(x[0], {2, -1}, {0, 1})};
       }},
      {"roll_1_axes_0_1",
       [](X x) {
         return Tensors{roll(x[0], 1, {0, 1})};
       }},
      {"roll_1_2_axes_0_0",
       [](X x) {
         return Tensors{roll(x[0], {1, 2}, {0, 0})};
       }},
      {"rot90_1_axes_1_0",
       [](X x) {
         return Tensors{rot90(x[0], 1, {1, 0})};
       }},
      {"flipud", [](X x) { return Tensors{flipud(x[0])}; }},
      {"fliplr", [](X x) { return Tensors{fliplr(x[0])}; }},
      {"atleast_1d", [](X x) { return Tensors{atleast_1d(x[0])}; }},
      {"atleast_2d", [](X x) { return Tensors{atleast_2d(x[0])}; }},
      {"atleast_3d", [](X x) { return Tensors{atleast_3d(x[0])}; }},
      {"unflatten_1_2_-1",
       [](X x) {
         return Tensors{unflatten(x[0], 1, {2, -1})};
       }},
      {"expand_2_-1_-1",
       [](X x) {
         return Tensors{expand(x[0], {2, -1, -1})};
       }},
      {"pad2d_constant",
       [](X x) {
         return Tensors{pad(x[0], {{1, 0}, {2, 3}})};
       }},
      {"pad_constant_2_3",
       [](X x) {
         return Tensors{pad(x[0], {{2, 3}}, "constant", 7)};
       }},
      {"diff", [](X x) { return Tensors{diff(x[0])}; }},
      {"diff2", [](X x) { return Tensors{diff(x[0], 2)}; }},
      {"diff_axis0", [](X x) { return Tensors{diff(x[0], 1, 0)}; }},
      {"diagonal_0_axes_2_0", [](X x) { return Tensors{diagonal(x[0], 0, 2, 0)}; }},
      {"diagonal_-1_axes_-1_1", [](X x) { return Tensors{diagonal(x[0], -1, -1, 1)}; }},
      {"trace_0_axes_2_0", [](X x) { return Tensors{trace(x[0], 0, 2, 0)}; }},
      {"diag_embed_0_axes_0_1", [](X x) { return Tensors{diag_embed(x[0], 0, 0, 1)}; }},
      {"diag_embed_-2_axes_2_0", [](X x) { return Tensors{diag_embed(x[0], -2, 2, 0)}; }},
      {"tri_3_4_0", [](X) { return Tensors{tri(3, 4)}; }},
      {"tri_4_3_-1", [](X) { return Tensors{tri(4, 3, -1)}; }},
      {"tri_2_2_5", [](X) { return Tensors{tri(2, 2, 5)}; }},
      {"tri_0_2_0", [](X) { return Tensors{tri(0, 2)}; }},
      {"vander", [](X x) { return Tensors{vander(x[0])}; }},
      {"vander3_increasing", [](X x) { return Tensors{vander(x[0], 3, true)}; }},
      {"vander0", [](X x) { return Tensors{vander(x[0], 0)}; }},
      {"kron", [](X x) { return Tensors{kron(x[0], x[1])}; }},
      {"cross", [](X x) { return Tensors{cross(x[0], x[1])}; }},
      {"cross_axis0", [](X x) { return Tensors{cross(x[0], x[1], 0)}; }},
      {"inner", [](X x) { return Tensors{inner(x[0], x[1])}; }},
      {"nanvar_c1", [](X x) { return Tensors{nanvar(x[0], {}, dropdims, 1)}; }},
      {"nanstd_axis1_c1", [](X x) { return Tensors{nanstd(x[0], 1, dropdims, 1)}; }},
      {"average", [](X x) { return Tensors{average(x[0], x[1])}; }},
      {"average_axis1", [](X x) { return Tensors{average(x[0], x[1], 1)}; }},
      {"average_axis0_keep", [](X x) { return Tensors{average(x[0], x[1], 0, keepdims)}; }},
      {"cov", [](X x) { return Tensors{cov(x[0])}; }},
      {"cov_0", [](X x) { return Tensors{cov(x[0], 0)}; }},
      {"corrcoef", [](X x) { return Tensors{corrcoef(x[0])}; }},
      {"trapezoid_half", [](X x) { return Tensors{trapezoid(x[0], 0.5)}; }},
      {"trapezoid_points", [](X x) { return Tensors{trapezoid(x[0], x[1])}; }},
      {"trapezoid_points_axis0", [](X x) { return Tensors{trapezoid(x[0], x[1], 0)}; }},
      {"isclose", [](X x) { return Tensors{isclose(x[0], x[1])}; }},
      {"isclose_nan", [](X x) { return Tensors{isclose(x[0], x[1], 1e-5, 1e-8, true)}; }},
      {"isclose_loose", [](X x) { return Tensors{isclose(x[0], x[1], 0.5, 0.25)}; }},
      {"allclose", [](X x) { return Tensors{allclose(x[0], x[1])}; }},
      {"array_equal", [](X x) { return Tensors{array_equal(x[0], x[1])}; }},
      {"array_equal_nan", [](X x) { return Tensors{array_equal(x[0], x[1], true)}; }},
      {"nan_to_num", [](X x) { return Tensors{nan_to_num(x[0])}; }},
      {"nan_to_num_1_2_-3", [](X x) { return Tensors{nan_to_num(x[0], 1, 2, -3)}; }},
      {"cumprod", [](X x) { return Tensors{cumprod(x[0])}; }},
      {"cumprod_axis0", [](X x) { return Tensors{cumprod(x[0], 0)}; }},
      {"cumprod_axis1", [](X x) { return Tensors{cumprod(x[0], 1)}; }},
      {"cummax", [](X x) { return Tensors{cummax(x[0]).values}; }},
      {"cummax_axis1", [](X x) { return Tensors{cummax(x[0], 1).values}; }},
      {"cummin", [](X x) { return Tensors{cummin(x[0]).values}; }},
      {"logcumsumexp", [](X x) { return Tensors{logcumsumexp(x[0])}; }},
      {"cumsum_axis0", [](X x) { return Tensors{cumsum(x[0], 0)}; }},
      {"cumsum_axis1", [](X x) { return Tensors{cumsum(x[0], 1)}; }},
      {"cumulative_sum_initial_axis0", [](X x) { return Tensors{cumulative_sum(x[0], 0, {}, true)}; }},
      {"cumulative_prod_initial_axis1", [](X x) { return Tensors{cumulative_prod(x[0], 1, {}, true)}; }},
      {"cumulative_prod", [](X x) { return Tensors{cumulative_prod(x[0])}; }},
      {"running_max_axis0", [=](X x) { return pair(cummax(x[0], 0)); }},
      {"running_max_axis1", [=](X x) { return pair(cummax(x[0], 1)); }},
      {"running_min_axis0", [=](X x) { return pair(cummin(x[0], 0)); }},
      {"running_min_axis1", [=](X x) { return pair(cummin(x[0], -1)); }},
      {"topk3", [=](X x) { return pair(topk(x[0], 3)); }},
      {"topk2_smallest", [=](X x) { return pair(topk(x[0], 2, -1, false)); }},
      {"topk2_axis0", [=](X x) { return pair(topk(x[0], 2, 0)); }},
      {"topk0", [=](X x) { return pair(topk(x[0], 0)); }},
      {"kthvalue2", [=](X x) { return pair(kthvalue(x[0], 2)); }},
      {"kthvalue3_axis0_keep", [=](X x) { return pair(kthvalue(x[0], 3, 0, keepdims)); }},
      {"median", [](X x) { return Tensors{median(x[0])}; }},
      {"median_axis1", [](X x) { return Tensors{median(x[0], 1)}; }},
      {"median_axes_0_1_keep",
       [](X x) {
         return Tensors{median(x[0], {0, 1}, keepdims)};
       }},
      {"quantiles",
       [](X x) {
         return Tensors{quantile(x[0], {0, 0.3, 0.75})};
       }},
      {"quantiles_axis1_keep",
       [](X x) {
         return Tensors{quantile(x[0], std::vector{0.1, 0.6}, 1, keepdims)};
       }},
      {"percentile_30", [](X x) { return Tensors{percentile(x[0], 30)}; }},
      {"percentiles_axes_0_2",
       [](X x) {
         return Tensors{percentile(x[0], {10, 50}, {0, 2})};
       }},
      {"nonzero", [](X x) { return nonzero(x[0]); }},
      {"argwhere", [](X x) { return Tensors{argwhere(x[0])}; }},
      {"flatnonzero", [](X x) { return Tensors{flatnonzero(x[0])}; }},
      {"unique", [](X x) { return Tensors{unique(x[0])}; }},
      {"unique_counts",
       [](X x) {
         const UniqueCounts u = unique_counts(x[0]);
         return Tensors{u.values, u.counts};
       }},
      {"unique_inverse",
       [](X x) {
         const UniqueInverse u = unique_inverse(x[0]);
         return Tensors{u.values, u.inverse};
       }},
      {"masked_fill", [](X x) { return Tensors{masked_fill(x[0], x[1], 7)}; }},
      {"masked_select", [](X x) { return Tensors{masked_select(x[0], x[1])}; }},
      {"index_select_axis1", [](X x) { return Tensors{index_select(x[0], 1, x[1])}; }},
      {"gather_axis0", [](X x) { return Tensors{gather(x[0], 0, x[1])}; }},
      {"gather_axis1", [](X x) { return Tensors{gather(x[0], 1, x[1])}; }},
      {"searchsorted", [](X x) { return Tensors{searchsorted(x[0], x[1])}; }},
      {"searchsorted_right", [](X x) { return Tensors{searchsorted(x[0], x[1], true)}; }},
      {"digitize", [](X x) { return Tensors{digitize(x[0], x[1])}; }},
      {"digitize_right", [](X x) { return Tensors{digitize(x[0], x[1], true)}; }},
      {"bucketize", [](X x) { return Tensors{bucketize(x[0], x[1])}; }},
      {"interp", [](X x) { return Tensors{interp(x[0], x[1], x[2])}; }},
      {"bincount", [](X x) { return Tensors{bincount(x[0])}; }},
      {"bincount_12", [](X x) { return Tensors{bincount(x[0], 12)}; }},
      {"bincount_weights", [](X x) { return Tensors{bincount(x[0], x[1])}; }},
      {"histogram_3_2_2", [=](X x) { return both(histogram(x[0], 3, 2, 2)); }},
      {"addcmul_half", [](X x) { return Tensors{addcmul(x[0], x[1], x[2], 0.5)}; }},
      {"addcdiv_half", [](X x) { return Tensors{addcdiv(x[0], x[1], x[2], 0.5)}; }},
  };
  if (table.contains("exp2")) return table;
  for (const int k : {-1, 0, 1, 2, 3})
    table["rot90_" + std::to_string(k)] = [=](X x) { return Tensors{rot90(x[0], k)}; };
  for (const char* mode : {"edge", "reflect", "symmetric", "wrap"}) {
    const std::string name = mode;
    table["pad_" + name + "_2_3"] = [=](X x) { return Tensors{pad(x[0], {{2, 3}}, name)}; };
    table["pad_" + name + "_0_11"] = [=](X x) { return Tensors{pad(x[0], {{0, 11}}, name)}; };
    table["pad_" + name + "_9_0"] = [=](X x) { return Tensors{pad(x[0], {{9, 0}}, name)}; };
    table["pad2d_" + name] = [=](X x) { return Tensors{pad(x[0], Widths{{1, 0}, {2, 3}}, name)}; };
  }
  for (const int k : {0, 1, -1, 2, -4, 9}) {
    const std::string n = std::to_string(k);
    table["diagonal_" + n] = [=](X x) { return Tensors{diagonal(x[0], k)}; };
    table["diag_" + n] = [=](X x) { return Tensors{diag(x[0], k)}; };
    table["diag_embed_" + n] = [=](X x) { return Tensors{diag_embed(x[0], k)}; };
    table["trace_" + n] = [=](X x) { return Tensors{trace(x[0], k)}; };
  }
  const auto reduction = [&](const std::string& name, auto f) {
    table[name] = [=](X x) { return Tensors{f(x[0], {}, dropdims)}; };
    table[name + "_axis1"] = [=](X x) { return Tensors{f(x[0], 1, dropdims)}; };
    table[name + "_axes_0_2_keep"] = [=](X x) { return Tensors{f(x[0], {0, 2}, keepdims)}; };
  };
#define REDUCTION(name) \
  reduction(#name, [](const Tensor& x, Axes axes, KeepDims keep) { return name(x, axes, keep); });
  REDUCTION(nansum)
  REDUCTION(nanprod)
  REDUCTION(nanmean)
  REDUCTION(nanvar)
  REDUCTION(nanstd)
  REDUCTION(nanmax)
  REDUCTION(nanmin)
  REDUCTION(ptp)
#undef REDUCTION
  for (const auto& [text, order] : std::map<std::string, double>{{"0", 0},
                                                                 {"1", 1},
                                                                 {"2", 2},
                                                                 {"3", 3},
                                                                 {"0.5", 0.5},
                                                                 {"inf", infinity},
                                                                 {"-inf", -infinity},
                                                                 {"-1", -1}}) {
    const double p = order;
    table["vector_norm_" + text] = [=](X x) { return Tensors{vector_norm(x[0], p)}; };
    table["vector_norm_" + text + "_axis1"] = [=](X x) { return Tensors{norm(x[0], p, 1)}; };
  }
  for (const auto& [text, share] :
       std::map<std::string, double>{{"0", 0}, {"0.25", 0.25}, {"0.5", 0.5}, {"0.99", 0.99}, {"1", 1}}) {
    const double q = share;
    table["quantile_" + text] = [=](X x) { return Tensors{quantile(x[0], q)}; };
  }
  for (const int bins : {1, 3, 10, 24}) {
    table["histogram_" + std::to_string(bins)] = [=](X x) { return both(histogram(x[0], bins)); };
    table["histogram_" + std::to_string(bins) + "_-1_2"] = [=](X x) {
      return both(histogram(x[0], bins, -1, 2));
    };
  }
  const auto decomposed = [](const LeastSquares& l) {
    return Tensors{l.solution, l.rank, l.singular_values};
  };
  table["lstsq"] = [=](X x) { return decomposed(lstsq(x[0], x[1])); };
  table["slogdet"] = [](X x) { return Tensors{slogdet(x[0]).sign, slogdet(x[0]).logabsdet}; };
  table["qr"] = [](X x) { return Tensors{qr(x[0]).Q, qr(x[0]).R}; };
  table["matrix_power_5"] = [](X x) { return Tensors{matrix_power(x[0], 5)}; };
  table["matrix_power_-2"] = [](X x) { return Tensors{matrix_power(x[0], -2)}; };
  table["multi_dot"] = [](X x) { return Tensors{multi_dot(x)}; };
  for (const auto& [text, order] : std::map<std::string, NormOrder>{{"fro", "fro"},
                                                                    {"nuc", "nuc"},
                                                                    {"1", 1},
                                                                    {"-1", -1},
                                                                    {"2", 2},
                                                                    {"-2", -2},
                                                                    {"inf", infinity},
                                                                    {"-inf", -infinity}}) {
    const NormOrder p = order;
    table["matrix_norm_" + text] = [=](X x) { return Tensors{matrix_norm(x[0], p)}; };
    table["cond_" + text] = [=](X x) { return Tensors{cond(x[0], p)}; };
  }
#define UNARY(name) table[#name] = [](X x) { return Tensors{lazy::name(x[0])}; };
#define BINARY(name) table[#name] = [](X x) { return Tensors{lazy::name(x[0], x[1])}; };
  UNARY(cholesky)
  UNARY(det)
  UNARY(eigvalsh)
  UNARY(inv)
  UNARY(matrix_exp)
  UNARY(matrix_rank)
  UNARY(pinv)
  UNARY(svdvals)
  UNARY(tensorinv)
  BINARY(solve)
  BINARY(tensorsolve)
  UNARY(cbrt)
  UNARY(sinc)
  UNARY(deg2rad)
  UNARY(rad2deg)
  UNARY(logit)
  UNARY(erfinv)
  UNARY(lgamma)
  UNARY(digamma)
  UNARY(i0)
  BINARY(xlogy)
  BINARY(xlog1py)
  BINARY(logaddexp2)
  BINARY(heaviside)
  BINARY(fmod)
  BINARY(fmax)
  BINARY(fmin)
  UNARY(exp2)
#undef UNARY
#undef BINARY
  table["lerp"] = [](X x) { return Tensors{lazy::lerp(x[0], x[1], x[2])}; };
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(arrays)

BOOST_AUTO_TEST_CASE(rearranging) { golden::run("arrays_rearranging.txt", functions()); }
BOOST_AUTO_TEST_CASE(diagonals) { golden::run("arrays_diagonals.txt", functions()); }
BOOST_AUTO_TEST_CASE(statistics) { golden::run("arrays_statistics.txt", functions()); }
BOOST_AUTO_TEST_CASE(ordering) { golden::run("arrays_ordering.txt", functions()); }
BOOST_AUTO_TEST_CASE(running) { golden::run("arrays_running.txt", functions()); }
BOOST_AUTO_TEST_CASE(selecting) { golden::run("arrays_selecting.txt", functions()); }
BOOST_AUTO_TEST_CASE(special) { golden::run("arrays_special.txt", functions()); }
BOOST_AUTO_TEST_CASE(linear) { golden::run("arrays_linear.txt", functions()); }

BOOST_AUTO_TEST_SUITE_END()
