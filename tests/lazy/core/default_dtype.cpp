// Tests that all floating-point values without a given dtype have the same: float32 unless set.
#include <atomic>
#include <thread>

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::DefaultDType;
using check::equal;

BOOST_AUTO_TEST_SUITE(default_dtype)

namespace {

std::string type(const Tensor& x) { return name_of(x.dtype()); }

/// Checks that everything that takes the default dtype has `want`.
void everything_is(DType t) {
  const std::string want = name_of(t);
  const Tensor i = tensor({1, 4}), u8 = ones({2}, uint8), b = ones({2}, bool_);
  // Literals
  BOOST_TEST(type(tensor(2.5)) == want);
  BOOST_TEST(type(tensor({1.0, 2.0})) == want);
  BOOST_TEST(type(tensor({{1.0, 2.0}, {3.0, 4.0}})) == want);
  BOOST_TEST(type(tensor({{1.5, 2}, {true, 3}})) == want);
  BOOST_TEST(type(tensor({1.0L})) == want);
  BOOST_TEST(type(tensor({{}})) == want);
  BOOST_TEST(type(asarray(2.5)) == want);
  BOOST_TEST(type(full({2}, 2.5)) == want);
  // Ranges and fillings
  BOOST_TEST(type(zeros({2})) == want);
  BOOST_TEST(type(ones({2})) == want);
  BOOST_TEST(type(empty({2})) == want);
  BOOST_TEST(type(eye(2)) == want);
  BOOST_TEST(type(linspace(0, 1, 5)) == want);
  BOOST_TEST(type(linspace(0.f, 1.f, 5)) == want);
  BOOST_TEST(type(arange(0.5)) == want);
  BOOST_TEST(type(arange(0, 1, 0.25f)) == want);
  // Integers where only floats will do
  for (const Tensor& x : {i, u8, b}) {
    BOOST_TEST(type(x / x) == want);
    BOOST_TEST(type(x / 2) == want);
    BOOST_TEST(type(2 / x) == want);
    BOOST_TEST(type(x * 0.5) == want);
    BOOST_TEST(type(x * 0.5f) == want);
    BOOST_TEST(type(x * float16_t(0.5f)) == want);
    BOOST_TEST(type(exp(x)) == want);
    BOOST_TEST(type(atan2(x, x)) == want);
    BOOST_TEST(type(fma(x, x, x)) == want);
    BOOST_TEST(type(mean(x)) == want);
    BOOST_TEST(type(var(x)) == want);
    BOOST_TEST(type(x.std()) == want);
    BOOST_TEST(type(logsumexp(x)) == want);
    BOOST_TEST(type(where(x > 0, x, 0.5)) == want);
    BOOST_TEST(type(clip(x, 0.5, 9)) == want);
  }
  BOOST_TEST(type(arange(4) / 4.0f) == want);
  BOOST_TEST(type(avg_pool(ones({1, 1, 4, 4}, int32), {2})) == want);
  BOOST_TEST(type(adaptive_avg_pool(ones({1, 1, 4, 4}, uint8), {2})) == want);
  BOOST_TEST((result_type(i, 0.5) == t));
  // Scalars alone
  BOOST_TEST(type(add(1.0, 2.0)) == want);
  BOOST_TEST(type(maximum(1, 2.0)) == want);
  BOOST_TEST(type(where(b, 1.0, 0)) == want);
  BOOST_TEST(type(exp(Arg(1))) == want);
}

/// Checks that data with a dtype keep it.
void typed_data_stays() {
  const std::vector<double> v{1, 2};
  const std::vector<float> f{1, 2};
  double memory[2] = {1, 2};
  const Tensor f32 = ones({2}, float32), f64 = ones({2}, float64), f16 = ones({2}, float16);
  BOOST_TEST(type(asarray(v)) == "float64");
  BOOST_TEST(type(from_span(v)) == "float64");
  BOOST_TEST(type(from_span(std::span<const double>(v))) == "float64");
  BOOST_TEST(type(from_blob(memory, {2})) == "float64");
  BOOST_TEST(type(asarray(f)) == "float32");
  BOOST_TEST(type(tensor({1.0f, 2.0f})) == "float32");
  BOOST_TEST(type(full({2}, 1.5f)) == "float32");
  BOOST_TEST(type(full({2}, float16_t(1.5f))) == "float16");
  BOOST_TEST(type(tensor({1.0, 2.0}, float64)) == "float64");
  BOOST_TEST(type(tensor({1.0, 2.0}, float32)) == "float32");
  BOOST_TEST(type(zeros({2}, float64)) == "float64");
  BOOST_TEST(type(linspace(0, 1, 3, true, float64)) == "float64");
  BOOST_TEST(type(eye(2, -1, 0, float16)) == "float16");
  BOOST_TEST(type(arange(0, 1, 0.5, float64)) == "float64");
  BOOST_TEST(type(f32 * 0.1) == "float32");
  BOOST_TEST(type(f64 * 0.1f) == "float64");
  BOOST_TEST(type(f16 * 0.1) == "float16");
  BOOST_TEST(type(exp(f64)) == "float64");
  BOOST_TEST(type(mean(f16)) == "float16");
  BOOST_TEST(type(f64 + arange(2)) == "float64");
  BOOST_TEST(type(f32 + arange(2)) == "float32");
  BOOST_TEST(type(tensor({1, 2}) * 2) == "int64");
  BOOST_TEST(type(arange(3)) == "int64");
  BOOST_TEST(type(sum(tensor({1, 2}))) == "int64");
  BOOST_TEST(type(add(1.0f, 2.0f)) == "float32");
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_float32_unless_set) {
  BOOST_TEST((get_default_dtype() == float32));
  everything_is(float32);
  typed_data_stays();
  const DefaultDType doubles(float64);
  BOOST_TEST((get_default_dtype() == float64));
  everything_is(float64);
  typed_data_stays();
}

BOOST_AUTO_TEST_CASE(the_variable_says_it) {
  {
    const config::Override doubles("LAZY_DEFAULT_DTYPE", "float64");
    BOOST_TEST((get_default_dtype() == float64));
    everything_is(float64);
    set_default_dtype(float32);  // the last call counts
    BOOST_TEST(type(tensor({0.5})) == "float32");
  }
  BOOST_TEST((get_default_dtype() == float32));
  BOOST_CHECK_THROW(config::set("LAZY_DEFAULT_DTYPE", "float16"), ConfigError);
}

BOOST_AUTO_TEST_CASE(values_are_of_that_precision) {
  equal(tensor({0.1}), float32, {1}, {static_cast<double>(0.1f)});
  equal(tensor({{0.1, 1}, {2, 3}}), float32, {2, 2}, {static_cast<double>(0.1f), 1, 2, 3});
  equal(tensor({1}) / 3, float32, {1}, {static_cast<double>(1 / 3.f)});
  equal(mean(tensor({0, 0, 1})), float32, {}, {static_cast<double>(1 / 3.f)});
  const DefaultDType doubles(float64);
  equal(tensor({0.1}), float64, {1}, {0.1});
  equal(tensor({{0.1, 1}, {2, 3}}), float64, {2, 2}, {0.1, 1, 2, 3});
  equal(tensor({1}) / 3, float64, {1}, {1 / 3.});
  equal(mean(tensor({0, 0, 1})), float64, {}, {1 / 3.});
  equal(linspace(0, 1, 4), float64, {4}, {0, 1 * (1 / 3.), 2 * (1 / 3.), 1});
}

BOOST_AUTO_TEST_CASE(is_read_when_an_op_is_recorded) {
  const Tensor x = tensor({1, 2});
  Tensor y, z;
  {
    const DefaultDType doubles(float64);
    y = x / 3;
  }
  z = x / 3;
  equal(y, float64, {2}, {1 / 3., 2 / 3.});
  equal(z, float32, {2}, {static_cast<double>(1 / 3.f), static_cast<double>(2 / 3.f)});
}

BOOST_AUTO_TEST_CASE(only_two_dtypes_will_do) {
  for (const DType t : {float16, bfloat16, int64, bool_})
    THROWS(DtypeError, set_default_dtype(t),
           std::string("set_default_dtype: takes float32 or float64, not ") + name_of(t));
  BOOST_TEST((get_default_dtype() == float32));
}

BOOST_AUTO_TEST_CASE(threads_see_one) {
  const DefaultDType back(float32);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      set_default_dtype(float64);
      set_default_dtype(float32);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const DType t = (tensor({1, 2}) / 4 + tensor({0.5, 0.25})).dtype();
    BOOST_TEST((t == float32 || t == float64));
    BOOST_TEST(mean(tensor({1, 2})).item<double>() == 1.5);
  }
  stop = true;
  other.join();
}

BOOST_AUTO_TEST_SUITE_END()
