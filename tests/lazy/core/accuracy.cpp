// Tests which form of an elementary function is recorded, and that it is part of what is computed, not of
// when.
#include "lazy/core/accuracy.hpp"

#include <thread>

#include "tests/common/check.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using lazy::config::Override;

BOOST_AUTO_TEST_SUITE(accuracy)

namespace {

/// Returns values at which the forms of gelu, exp and sigmoid differ.
Tensor arguments() { return linspace(-4, 3, 1000) * 1.00390625f; }
std::vector<float> gelu_of(const Tensor& x, const char* accuracy) {
  const Override as("LAZY_ACCURACY", accuracy);
  return gelu(x).to_vector<float>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_scope_and_the_variable_say_it) {
  const Tensor x = arguments().eval();
  const std::vector<float> full = gelu_of(x, "full"), standard = gelu_of(x, "standard"),
                           fast = gelu_of(x, "fast");
  BOOST_TEST((full != standard));
  BOOST_TEST((fast != standard));
  const Override as("LAZY_ACCURACY", "standard");
  {
    const accuracy_scope outer(Accuracy::full);
    BOOST_TEST((gelu(x).to_vector<float>() == full));
    {
      const accuracy_scope inner(Accuracy::fast);
      BOOST_TEST((gelu(x).to_vector<float>() == fast));
    }
    BOOST_TEST((gelu(x).to_vector<float>() == full));
  }
  BOOST_TEST((gelu(x).to_vector<float>() == standard));
}

BOOST_AUTO_TEST_CASE(an_op_without_the_form_takes_the_next) {
  const Tensor x = arguments().eval();
  const auto values = [&](Accuracy a) {
    const accuracy_scope scope(a);
    return erfc(x).to_vector<float>();
  };
  BOOST_TEST((values(Accuracy::fast) == values(Accuracy::standard)));
  BOOST_TEST((values(Accuracy::standard) != values(Accuracy::full)));
}

BOOST_AUTO_TEST_CASE(integers_have_one_power) {
  const Tensor i = arange(1000) % 7;
  const accuracy_scope scope(Accuracy::fast);
  const std::vector<int64_t> cubes = pow(i, 3).to_vector<int64_t>(),
                             factors = (i * i * i).to_vector<int64_t>();
  BOOST_TEST((cubes == factors));
}

BOOST_AUTO_TEST_CASE(it_is_recorded_with_the_op) {
  const Tensor x = arguments().eval();
  const std::vector<float> full = gelu_of(x, "full"), standard = gelu_of(x, "standard");
  const Tensor before = gelu(x);
  Tensor within;
  {
    const accuracy_scope scope(Accuracy::standard);
    within = gelu(x);
    BOOST_TEST((before.to_vector<float>() == full));
  }
  BOOST_TEST((within.to_vector<float>() == standard));
}

BOOST_AUTO_TEST_CASE(forms_in_one_graph_stay_apart) {
  const Tensor x = arguments().eval();
  const auto difference = [&](Accuracy a) {
    const Tensor precise = exp(x);
    const accuracy_scope scope(a);
    return (precise - exp(x)).to_vector<float>();
  };
  for (int again = 0; again < 2; ++again) {  // compiled, then found
    for (const float d : difference(Accuracy::full)) BOOST_REQUIRE(d == 0);
    const std::vector<float> standard = difference(Accuracy::standard), fast = difference(Accuracy::fast);
    BOOST_TEST(std::any_of(standard.begin(), standard.end(), [](float d) { return d != 0; }));
    BOOST_TEST((standard != fast));
  }
}

BOOST_AUTO_TEST_CASE(a_derivative_takes_the_form_in_force_where_it_is_recorded) {
  const auto slope = [](DType t, Accuracy a) {
    Tensor x = astype(arguments(), t);
    x.requires_grad_();
    const Tensor y = sum(gelu(x));
    const accuracy_scope scope(a);
    y.backward();
    return astype(x.grad(), float64).to_vector<double>();
  };
  const std::vector<double> full = slope(float32, Accuracy::full),
                            standard = slope(float32, Accuracy::standard);
  BOOST_TEST((full != standard));
  for (size_t i = 0; i < full.size(); ++i) BOOST_REQUIRE_SMALL(full[i] - standard[i], 1e-6);
  BOOST_TEST((slope(float64, Accuracy::standard) == slope(float64, Accuracy::full)));
}

BOOST_AUTO_TEST_CASE(other_threads_have_their_own) {
  const Tensor x = arguments().eval();
  const std::vector<float> full = gelu_of(x, "full");
  const accuracy_scope scope(Accuracy::standard);
  std::vector<float> there;
  std::thread([&] { there = gelu(x).to_vector<float>(); }).join();
  BOOST_TEST((there == full));
}

BOOST_AUTO_TEST_CASE(float64_has_one_form) {
  const Tensor x = astype(arguments(), float64).eval();
  const auto values = [&](Accuracy a) {
    const accuracy_scope scope(a);
    return (exp(x) + gelu(x) + tanh(x)).to_vector<double>();
  };
  BOOST_TEST((values(Accuracy::fast) == values(Accuracy::full)));
}

BOOST_AUTO_TEST_CASE(fusing_changes_no_bit) {
  for (const Accuracy a : {Accuracy::standard, Accuracy::fast}) {
    const accuracy_scope scope(a);
    for (const int64_t n : {0, 1, 7, 16, 33, 1000}) {
      const Tensor x = linspace(-6, 6, n).eval();
      const auto chain = [&] {
        const Tensor bounded = sigmoid(x) * tanh(erf(x)) + log1p(abs(x)) * expm1(x) + erfc(x);
        return (gelu(x * 0.5f) + exp(-x) + sin(x) * cos(x) + log(abs(x) + 1) + pow(abs(x), x) + bounded)
            .to_vector<float>();
      };
      const std::vector<float> fused = chain();
      const Override eager("LAZY_EAGER", "1");
      BOOST_TEST((chain() == fused), n);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
