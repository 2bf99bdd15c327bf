// Tests what simplification may and may not do: NaN, infinities, signed zeros and lost digits are preserved.
#include <cmath>
#include <cstring>

#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::Override;

namespace {

const double nan = NAN;

Tensor odd() {
  static const std::vector<double> v = {0.,  -0., 1.,   -1.,    inf,   -inf,
                                        nan, 0.1, -2.5, 5e-324, 1e308, 9007199254740993.};
  return from_span(v);
}

/// Checks that fused and op by op give the same bits; returns how many ops the kernels have.
template <class F>
uint64_t ops_of(F f) {
  jit::FlushListener listener;
  const std::vector<double> fused = f().template to_vector<double>();
  uint64_t ops = 0;
  for (const auto& r : listener.flushes) ops += r.fused_ops;
  const Override eager("LAZY_EAGER", "1");
  const std::vector<double> alone = f().template to_vector<double>();
  BOOST_REQUIRE_EQUAL(fused.size(), alone.size());
  for (size_t i = 0; i < fused.size(); ++i)
    BOOST_TEST((std::memcmp(&fused[i], &alone[i], 8) == 0 || (std::isnan(fused[i]) && std::isnan(alone[i]))),
               "element " << i << ": " << fused[i] << " and " << alone[i]);
  return ops;
}

bool negative_zero(double d) { return d == 0 && std::signbit(d); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(simplification, fresh::Fixture)

BOOST_AUTO_TEST_CASE(neutral_elements_are_not_removed) {
  const Tensor x = odd();
  const std::vector<double> plus = (x + 0.0).to_vector<double>(), minus = (x - 0.0).to_vector<double>(),
                            times = (x * 1.0).to_vector<double>(), zero = (x * 0.0).to_vector<double>(),
                            self = (x - x).to_vector<double>(), ratio = (x / x).to_vector<double>();
  BOOST_TEST((!negative_zero(plus[1]) && negative_zero(minus[1]) && negative_zero(times[1])));
  BOOST_TEST((std::isnan(times[6]) && std::isnan(plus[6])));
  BOOST_TEST((std::isnan(zero[4]) && std::isnan(zero[6]) && negative_zero(zero[3])));
  BOOST_TEST((std::isnan(self[4]) && std::isnan(self[5]) && self[2] == 0));
  BOOST_TEST((std::isnan(ratio[0]) && std::isnan(ratio[4]) && ratio[3] == 1));
  const std::vector<double> both = (x + 0.0 + x * 1.0).to_vector<double>();
  BOOST_TEST(!negative_zero(both[1]));
  BOOST_TEST((x == x).to_vector<double>()[6] == 0);
}

BOOST_AUTO_TEST_CASE(identities_that_hold_for_every_value_are_used) {
  const Tensor x = odd();
  BOOST_TEST(ops_of([&] { return -(-x) + x; }) == ops_of([&] { return x + x; }));
  BOOST_TEST(ops_of([&] { return abs(-x); }) == 1u);
  BOOST_TEST(ops_of([&] { return abs(abs(x)); }) == 1u);
  BOOST_TEST(ops_of([&] { return floor(ceil(x)); }) == 1u);
  BOOST_TEST(ops_of([&] { return maximum(exp(x), exp(x)); }) == 1u);
  BOOST_TEST(ops_of([&] { return where(x > 0, exp(x), exp(x)); }) == 1u);
  BOOST_TEST(ops_of([&] { return exp(x) * exp(x); }) == 2u);  // a common subexpression
  BOOST_TEST(ops_of([&] { return permute(permute(reshape(x * 2, {3, 4}), {1, 0}), {1, 0}) + 1; }) == 2u);
}

BOOST_AUTO_TEST_CASE(casts_that_lose_something_are_kept) {
  const std::vector<int64_t> data = {(int64_t{1} << 53) + 1, -1, 300, 70000, INT64_MIN, INT64_MAX};
  const Tensor i = from_span(data);
  const auto through = [&](DType t) { return astype(astype(i, t), int64); };
  BOOST_TEST(through(float64).to_vector<int64_t>()[0] == int64_t{1} << 53);
  BOOST_TEST(through(int16).to_vector<int64_t>()[3] == 4464);
  BOOST_TEST(through(uint8).to_vector<int64_t>()[1] == 255);
  BOOST_TEST(through(uint64).to_vector<int64_t>() == data, boost::test_tools::per_element());
  BOOST_TEST(through(bool_).to_vector<int64_t>()[2] == 1);
  for (DType t : {bool_, int8, uint16, int32, uint64, float16, bfloat16, float32, float64})
    ops_of([&] { return astype(astype(astype(i, t), int64), float64); });
  const Tensor x = odd();
  for (DType t : {bool_, int8, uint64, float16, bfloat16, float32}) {
    const Override exact("LAZY_EXACT_CASTS", "1");
    ops_of([&] { return astype(astype(x, t), float64); });
    ops_of([&] { return astype(astype(astype(astype(x, float32), float64), float32), float64); });
  }
}

BOOST_AUTO_TEST_CASE(reductions_of_one_element) {
  const Tensor x = reshape(odd(), {12, 1});
  ops_of([&] { return sum(x * 1.0, {1}); });
  ops_of([&] { return prod(x, {1}); });
  ops_of([&] { return cumsum(x, {1}); });
  BOOST_TEST(negative_zero(sum(x, {1}).to_vector<double>()[1]));
  ops_of([&] { return argmax(x, {1}) * 2; });
  ops_of([&] { return argmin(reshape(x, {3, 1, 4}), {1}); });
  ops_of([&] { return any(x != 0, {1}); });
}

BOOST_AUTO_TEST_CASE(broadcast_operands_keep_their_shape) {
  const Tensor row = fresh::numbers({1, 4}), column = fresh::numbers({4, 1});
  const Tensor y = where(column > 2, row, row);
  BOOST_TEST(to_string(y.shape()) == "[4, 4]");
  BOOST_TEST(y.to_vector<float>()[5] == 2);
  const Tensor m = maximum(row, row) + column;
  BOOST_TEST(m.to_vector<float>()[15] == 8);
  const Tensor z = abs(broadcast_to(-row, {4, 4}));
  BOOST_TEST(z.to_vector<float>()[14] == 3);
}

BOOST_AUTO_TEST_SUITE_END()
