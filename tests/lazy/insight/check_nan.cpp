// Tests LAZY_CHECK_NAN: who reads a NaN is told which op made it, and where.
#include <cmath>

#include "tests/common/check.hpp"

using namespace lazy;
using config::Override;

namespace {

/// Checks that the error names the op and the line where the NaN was made.
template <class F>
void blames(const char* op, int line, F&& read) {
  const std::string expected = "check_nan: the value has a NaN, first made by " + std::string(op) +
                               " at check_nan.cpp:" + std::to_string(line);
  BOOST_CHECK_EXCEPTION(read(), Error, [&](const Error& e) {
    BOOST_TEST_MESSAGE(e.what());
    return std::string(e.what()).starts_with(expected);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(check_nan)

BOOST_AUTO_TEST_CASE(names_op_and_line) {
  const Override on("LAZY_CHECK_NAN", "1");
  for (const DType t : {float16, bfloat16, float32, float64}) {
    const Tensor x = tensor({4.0f, 0.0f, -1.0f}).astype(t);
    const int line = __LINE__ + 1;
    const Tensor y = flip(sqrt(x) * 2 + 1);
    blames("sqrt", line, [&] { (void)sum(y).item<float>(); });
    blames("sqrt", line, [&] { (void)y.to_vector<double>(); });
    BOOST_TEST(y(slice(1, 3)).to_vector<double>() == (std::vector<double>{1, 5}),
               boost::test_tools::per_element());
    // A value that is masked away is none.
    BOOST_TEST(where(x < 0, 0, sqrt(x)).to_vector<double>() == (std::vector<double>{2, 0, 0}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(calls_and_gradients) {
  const Override on("LAZY_CHECK_NAN", "1");
  const int line = __LINE__ + 1;
  const Tensor sorted = sort(log(tensor({1.0, -1.0}))).values;
  blames("log", line, [&] { (void)sorted.to_vector<double>(); });
  Tensor x = tensor({0.0, 1.0});
  x.requires_grad_();
  const int root = __LINE__ + 1;
  Tensor norm = sum(sqrt(abs(x)) * 0);
  BOOST_TEST(norm.item<double>() == 0.0);
  norm.backward();  // 0 times the slope at 0, which is infinite
  blames("multiply", root, [&] { (void)x.grad().to_vector<double>(); });
}

// A NaN of the data is told by the line of the data.
BOOST_AUTO_TEST_CASE(came_in_with_data) {
  const Override on("LAZY_CHECK_NAN", "1");
  for (const DType t : {float32, float64}) {
    std::vector<float> v(24, 1.0f);
    v[7] = NAN;
    const int line = __LINE__ + 1;
    const Tensor x = asarray(v);
    const Tensor y = mean(square(matmul(x.reshape({6, 4}).to(t), ones({4, 1}, t))));
    const std::string expected =
        "check_nan: the value has a NaN, which came in with the input made at check_nan.cpp:" +
        std::to_string(line) + ": 1 of 24 elements, the first is number 7";
    for (int i = 0; i < 2; ++i)
      BOOST_CHECK_EXCEPTION(y.item<double>(), Error, [&](const Error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string(e.what()).starts_with(expected);
      });
    BOOST_TEST(where(isnan(x), 0, x).to_vector<double>()[7] == 0.0);
    BOOST_TEST(std::isnan(x.to_vector<double>()[7]));  // who reads the data finds them as they are
  }
}

BOOST_AUTO_TEST_CASE(written_ones_are_the_user_s) {
  const Override on("LAZY_CHECK_NAN", "1");
  const std::vector<double> v = where(tensor({true, false}), std::nan(""), 2.0).to_vector<double>();
  BOOST_TEST(std::isnan(v[0]));
  BOOST_TEST(v[1] == 2.0);
}

BOOST_AUTO_TEST_SUITE_END()
