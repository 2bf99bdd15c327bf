// Compares array functions with what NumPy, torch and mpmath answer in tests/golden/names_*.txt (written by
// make_array_names.py), and checks what their tables cannot say.
#include <numeric>

#include "tests/common/golden_arrays.hpp"

using namespace lazy;
using golden::Tensors;

namespace {

using X = const Tensors&;

void add_numbers(golden::Functions& f) {
  f["gcd"] = [](X x) { return Tensors{gcd(x[0], x[1])}; };
  f["gcd_sum"] = [](X x) { return Tensors{sum(gcd(x[0], flip(x[0]) * 6))}; };
  f["lcm"] = [](X x) { return Tensors{lcm(x[0], x[1])}; };
  f["div"] = [](X x) { return Tensors{div(x[0], x[1])}; };
  f["div_trunc"] = [](X x) { return Tensors{div(x[0], x[1], "trunc")}; };
  f["div_floor"] = [](X x) { return Tensors{div(x[0], x[1], "floor")}; };
  f["divmod"] = [](X x) {
    const DivMod r = divmod(x[0], x[1]);
    return Tensors{r.quotient, r.remainder};
  };
  for (const int d : {0, 2, -2})
    f["round_" + std::to_string(d)] = [=](X x) { return Tensors{lazy::round(x[0], d)}; };
  f["flatten_0"] = [](X x) { return Tensors{flatten(x[0], 0)}; };
  f["flatten_1"] = [](X x) { return Tensors{flatten(x[0], 1)}; };
  f["flatten_0_-2"] = [](X x) { return Tensors{flatten(x[0], 0, -2)}; };
  f["rsub3"] = [](X x) { return Tensors{rsub(x[0], x[1], 3)}; };
  f["frexp"] = [](X x) {
    const Frexp r = frexp(x[0]);
    return Tensors{r.mantissa, r.exponent};
  };
  f["modf"] = [](X x) {
    const Modf r = modf(x[0]);
    return Tensors{r.fractional, r.integral};
  };
  f["frac"] = [](X x) { return Tensors{frac(x[0])}; };
  f["nextafter"] = [](X x) { return Tensors{nextafter(x[0], x[1])}; };
  f["spacing"] = [](X x) { return Tensors{spacing(x[0])}; };
  f["ldexp"] = [](X x) { return Tensors{lazy::ldexp(x[0], x[1])}; };
  f["float_power"] = [](X x) { return Tensors{float_power(x[0], x[1])}; };
  f["isposinf"] = [](X x) { return Tensors{isposinf(x[0])}; };
  f["isneginf"] = [](X x) { return Tensors{isneginf(x[0])}; };
}

void add_special(golden::Functions& f) {
#define UNARY(name) f[#name] = [](X x) { return Tensors{lazy::name(x[0])}; };
  UNARY(i0e)
  UNARY(i1)
  UNARY(i1e)
  UNARY(erfcx)
  UNARY(ndtr)
  UNARY(log_ndtr)
  UNARY(ndtri)
  UNARY(entr)
#undef UNARY
  f["zeta"] = [](X x) { return Tensors{zeta(x[0], x[1])}; };
  for (const int n : {1, 2, 3, 5})
    f["polygamma" + std::to_string(n)] = [=](X x) { return Tensors{polygamma(n, x[0])}; };
  f["mvlgamma3"] = [](X x) { return Tensors{mvlgamma(x[0], 3)}; };
}

void add_products(golden::Functions& f) {
  f["mm"] = [](X x) { return Tensors{mm(x[0], x[1])}; };
  f["mv"] = [](X x) { return Tensors{mv(x[0], x[1])}; };
  f["bmm"] = [](X x) { return Tensors{bmm(x[0], x[1])}; };
#define ADDED(name)                                                                 \
  f[#name] = [](X x) { return Tensors{name(x[0], x[1], x[2])}; };                   \
  f[#name "_2_3"] = [](X x) { return Tensors{name(x[0], x[1], x[2], 2, 3)}; };      \
  f[#name "_half_2"] = [](X x) { return Tensors{name(x[0], x[1], x[2], 0.5, 2)}; }; \
  f[#name "_0_2"] = [](X x) { return Tensors{name(x[0], x[1], x[2], 0, 2)}; };
  ADDED(addmm)
  ADDED(addmv)
  ADDED(addr)
  ADDED(addbmm)
  ADDED(baddbmm)
#undef ADDED
  for (const std::string mode : {"full", "same", "valid"}) {
    f["convolve_" + mode] = [=](X x) { return Tensors{convolve(x[0], x[1], mode)}; };
    f["correlate_" + mode] = [=](X x) { return Tensors{correlate(x[0], x[1], mode)}; };
  }
  f["polyval"] = [](X x) { return Tensors{polyval(x[0], x[1])}; };
}

void add_summaries(golden::Functions& f) {
  f["var_mean"] = [](X x) {
    const VarMean r = var_mean(x[0]);
    return Tensors{r.var, r.mean};
  };
  f["std_mean_axis1_keep"] = [](X x) {
    const StdMean r = std_mean(x[0], 1, keepdims, 1);
    return Tensors{r.std, r.mean};
  };
  f["aminmax_axis1"] = [](X x) {
    const MinMax r = aminmax(x[0], 1);
    return Tensors{r.min, r.max};
  };
  f["dist"] = [](X x) { return Tensors{dist(x[0], x[1])}; };
  f["dist_inf"] = [](X x) { return Tensors{dist(x[0], x[1], check::inf)}; };
  f["renorm_1_1_3"] = [](X x) { return Tensors{renorm(x[0], 1, 1, 3)}; };
  f["renorm_2_1_3"] = [](X x) { return Tensors{renorm(x[0], 2, 1, 3)}; };
  f["renorm_inf_1_3"] = [](X x) { return Tensors{renorm(x[0], check::inf, 1, 3)}; };
  f["nanargmax"] = [](X x) { return Tensors{nanargmax(x[0])}; };
  f["nanargmax_axis1"] = [](X x) { return Tensors{nanargmax(x[0], 1)}; };
  f["nanargmin"] = [](X x) { return Tensors{nanargmin(x[0])}; };
  f["nanargmin_axis1"] = [](X x) { return Tensors{nanargmin(x[0], 1)}; };
  f["nancumsum"] = [](X x) { return Tensors{nancumsum(x[0])}; };
  f["nancumsum_axis1"] = [](X x) { return Tensors{nancumsum(x[0], 1)}; };
  f["nancumprod_axis1"] = [](X x) { return Tensors{nancumprod(x[0], 1)}; };
  f["ediff1d"] = [](X x) { return Tensors{ediff1d(x[0])}; };
  f["ediff1d_more"] = [](X x) { return Tensors{ediff1d(x[0], x[1], x[2])}; };
  f["gradient"] = [](X x) { return gradient(x[0]); };
  f["gradient_half"] = [](X x) { return gradient(x[0], {0.5}, {}, 2); };
  f["gradient_2_4_axes_0_1"] = [](X x) { return gradient(x[0], {2, 4}, {0, 1}); };
  f["gradient_points"] = [](X x) { return Tensors{gradient(x[0], x[1], -1)}; };
  f["gradient_points2"] = [](X x) { return Tensors{gradient(x[0], x[1], -1, 2)}; };
  f["cumulative_trapezoid_half"] = [](X x) { return Tensors{cumulative_trapezoid(x[0], 0.5)}; };
  f["cumulative_trapezoid_points"] = [](X x) { return Tensors{cumulative_trapezoid(x[0], x[1])}; };
}

void add_grids(golden::Functions& f) {
  f["logspace_0_2_5"] = [](X) { return Tensors{logspace(0, 2, 5)}; };
  f["logspace_-1_3_4_open_2"] = [](X) { return Tensors{logspace(-1, 3, 4, false, 2)}; };
  f["geomspace_1_256_9"] = [](X) { return Tensors{geomspace(1, 256, 9)}; };
  f["geomspace_-1000_-1_4_open"] = [](X) { return Tensors{geomspace(-1000, -1, 4, false)}; };
  f["geomspace_3_7_1"] = [](X) { return Tensors{geomspace(3, 7, 1)}; };
  f["indices_2_3"] = [](X) { return Tensors{indices({2, 3})}; };
  f["indices_4"] = [](X) { return Tensors{indices(4)}; };
  f["indices_"] = [](X) { return Tensors{indices(Shape{})}; };
  f["indices_2_0"] = [](X) { return Tensors{indices({2, 0})}; };
  f["indices_2_1_3"] = [](X) { return Tensors{indices({2, 1, 3})}; };
  for (const auto& [m, n] : {std::pair(3, 4), {4, 3}, {1, 1}, {0, 2}, {5, 5}})
    for (const int k : {0, 1, -1, 3, -7}) {
      const std::string name =
          "_indices_" + std::to_string(m) + "_" + std::to_string(n) + "_" + std::to_string(k);
      f["tril" + name] = [=, m = m, n = n](X) { return Tensors{tril_indices(m, n, k)}; };
      f["triu" + name] = [=, m = m, n = n](X) { return Tensors{triu_indices(m, n, k)}; };
    }
  f["cartesian_prod"] = [](X x) { return Tensors{cartesian_prod(x)}; };
  f["block_diag"] = [](X x) { return Tensors{block_diag(x)}; };
  f["hsplit2"] = [](X x) { return hsplit(x[0], 2); };
  f["hsplit_at_1_4"] = [](X x) { return hsplit(x[0], {1, 4}); };
  f["vsplit2"] = [](X x) { return vsplit(x[0], 2); };
  f["dsplit2"] = [](X x) { return dsplit(x[0], 2); };
  f["dsplit_at_1_3"] = [](X x) { return dsplit(x[0], {1, 3}); };
  f["tensor_split3"] = [](X x) { return tensor_split(x[0], 3); };
  f["tensor_split_at_1_4"] = [](X x) { return tensor_split(x[0], {1, 4}); };
  f["concat_none"] = [](X x) { return Tensors{concat(x, none)}; };
}

void add_counts(golden::Functions& f) {
  f["mode_values"] = [](X x) { return Tensors{mode(x[0]).values}; };
  f["mode_values_axis0_keep"] = [](X x) { return Tensors{mode(x[0], 0, keepdims).values}; };
  f["mode_both"] = [](X x) {
    const Sorted r = mode(x[0]);
    return Tensors{r.values, r.indices};
  };
  f["nanmedian"] = [](X x) { return Tensors{nanmedian(x[0])}; };
  f["nanmedian_axis1"] = [](X x) { return Tensors{nanmedian(x[0], 1)}; };
  f["nanmedian_axes_0_2_keep"] = [](X x) { return Tensors{nanmedian(x[0], {0, 2}, keepdims)}; };
  f["nanquantile_0"] = [](X x) { return Tensors{nanquantile(x[0], 0)}; };
  f["nanquantile_0.25"] = [](X x) { return Tensors{nanquantile(x[0], 0.25)}; };
  f["nanquantile_0.7"] = [](X x) { return Tensors{nanquantile(x[0], 0.7)}; };
  f["nanquantile_1"] = [](X x) { return Tensors{nanquantile(x[0], 1)}; };
  f["nanpercentiles"] = [](X x) { return Tensors{nanpercentile(x[0], std::vector<double>{10, 50, 95})}; };
  f["repeat"] = [](X x) { return Tensors{repeat(x[0], x[1])}; };
  f["repeat_axis0"] = [](X x) { return Tensors{repeat_interleave(x[0], x[1], 0)}; };
  for (const int k : {1, 2, 3}) {
    f["combinations_" + std::to_string(k)] = [=](X x) { return Tensors{combinations(x[0], k)}; };
    f["combinations_" + std::to_string(k) + "_again"] = [=](X x) {
      return Tensors{combinations(x[0], k, true)};
    };
  }
}

const golden::Functions& functions() {
  static const golden::Functions table = [] {
    golden::Functions f;
    add_numbers(f), add_special(f), add_products(f), add_summaries(f), add_grids(f), add_counts(f);
    return f;
  }();
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(array_names)

BOOST_AUTO_TEST_CASE(numbers) { golden::run("names_numbers.txt", functions()); }
BOOST_AUTO_TEST_CASE(special_functions) { golden::run("names_functions.txt", functions()); }
BOOST_AUTO_TEST_CASE(products) { golden::run("names_products.txt", functions()); }
BOOST_AUTO_TEST_CASE(summaries) { golden::run("names_summaries.txt", functions()); }
BOOST_AUTO_TEST_CASE(counts) { golden::run("names_counts.txt", functions()); }
BOOST_AUTO_TEST_CASE(grids) { golden::run("names_grids.txt", functions()); }

// ldexp() multiplies by powers of two that it computes: each of them has to be one.
BOOST_AUTO_TEST_CASE(powers_of_two_are_exact) {
  for (const DType t : {float32, float64}) {
    const int low = t == float32 ? -126 : -1022, high = t == float32 ? 127 : 1023;
    const Tensor n = arange(low, high + 1);
    const std::vector<double> got = pow(full({}, 2, t), astype(n, t)).to_vector<double>();
    for (int i = low; i <= high; ++i) BOOST_TEST(got[static_cast<size_t>(i - low)] == std::ldexp(1.0, i));
  }
}

// An integer may be of any dtype and out of the range of int64.
BOOST_AUTO_TEST_CASE(exponents_of_every_dtype) {
  for (const DType t : {int8, int16, int32, int64, uint8, uint16, uint32, uint64})
    check::equal(lazy::ldexp(tensor({1.5f, -2.0f}), full({}, 3, t)), float32, {2}, {12, -16});
  check::equal(lazy::ldexp(tensor({1.5f, 0.0f}), full({}, UINT64_MAX, uint64)), float32, {2},
               {check::inf, 0});
  BOOST_TEST(lazy::ldexp(tensor({1, 2}), tensor({0, 1})).dtype() == get_default_dtype());
}

BOOST_AUTO_TEST_CASE(neighbours_of_bfloat16) {
  const Tensor x = tensor({1.0f, 0.0f, -2.0f, 3e38f}, bfloat16);
  check::equal(nextafter(x, full({}, check::inf, bfloat16)) - x, bfloat16, {4},
               {0.0078125, std::ldexp(1.0, -133), 0.0078125, std::ldexp(1.0, 120)});
}

// The call is the same on many threads' pieces, and of values not computed yet.
BOOST_AUTO_TEST_CASE(common_divisors_of_many) {
  const Tensor i = arange(1, 200001), d = gcd(i * 6, i * 4 + 2);
  const std::vector<int64_t> got = d.to_vector<int64_t>();
  size_t wrong = 0;
  for (int64_t k = 1; k <= 200000; ++k)
    wrong += got[static_cast<size_t>(k - 1)] != std::gcd(k * 6, k * 4 + 2);
  BOOST_TEST(wrong == 0u);
  check::equal(gcd(zeros({0, 3}, int32), 5), int32, {0, 3}, {});
}

// A total that is given is not read: nothing is computed before the result is asked for.
BOOST_AUTO_TEST_CASE(repeats_with_a_known_total) {
  const Tensor x = tensor({7, 8, 9}), counts = tensor({2, 0, 1});
  const auto before = metrics().flushes;
  const Tensor y = repeat(x, counts, 0, 3);
  BOOST_TEST(metrics().flushes == before);
  check::equal(y, int64, {3}, {7, 7, 9});
}

BOOST_AUTO_TEST_CASE(kinds_of_dtypes) {
  BOOST_TEST(isdtype(bool_, "bool"));
  BOOST_TEST(!isdtype(bool_, "numeric"));
  BOOST_TEST(isdtype(uint8, "integral"));
  BOOST_TEST(!isdtype(uint8, "signed integer"));
  BOOST_TEST(isdtype(uint8, "unsigned integer"));
  BOOST_TEST(isdtype(bfloat16, "real floating"));
  BOOST_TEST((result_type({ones({1}, int8), ones({1}, uint8), ones({}, int32), Arg(2)}) == int32));
}

BOOST_AUTO_TEST_CASE(likenesses) {
  const Tensor x = ones({2}, int8);
  check::equal(new_zeros(x, {2, 1}), int8, {2, 1}, {0, 0});
  check::equal(new_ones(x, 3, float32), float32, {3}, {1, 1, 1});
  check::equal(new_full(x, {1}, 7), int8, {1}, {7});
  BOOST_TEST(new_empty(x, {4}).size() == 4);
}

BOOST_AUTO_TEST_SUITE_END()
