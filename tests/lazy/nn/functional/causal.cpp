// Compares attentions that leave out what their queries do not see, by a mask whose form is recorded, with
// those that cannot: the mask is a value then.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/common/check.hpp"

using namespace lazy;

namespace {

struct Sizes {
  int64_t length, keys, width;
};

/// Returns an attention's result and the gradients of queries, keys and values.
template <class Attend>
std::vector<Tensor> all_of(const Tensor& q, const Tensor& k, const Tensor& v, Attend attend) {
  Tensor a = (q * 1).eval(), b = (k * 1).eval(), c = (v * 1).eval();
  a.requires_grad_(), b.requires_grad_(), c.requires_grad_();
  const Tensor y = attend(a, b, c);
  sum(y * y).backward();
  return {y, a.grad(), b.grad(), c.grad()};
}

void same_bits(const Tensor& x, const Tensor& y, const std::string& what) {
  const auto a = astype(x, float64).to_vector<double>(), b = astype(y, float64).to_vector<double>();
  BOOST_REQUIRE(a.size() == b.size());
  size_t differ = 0;
  for (size_t i = 0; i < a.size(); ++i)
    differ += (std::isnan(a[i]) != std::isnan(b[i])) ||
              (!std::isnan(a[i]) && std::memcmp(&a[i], &b[i], sizeof a[i]) != 0);
  BOOST_TEST(differ == 0u, what << ": " << differ << " of " << a.size() << " differ");
}

void close(const Tensor& x, const Tensor& y, double tolerance, const std::string& what) {
  const auto a = astype(x, float64).to_vector<double>(), b = astype(y, float64).to_vector<double>();
  BOOST_REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (const double d = std::abs(a[i] - b[i]); !(d <= worst)) worst = d;
  BOOST_TEST(worst <= tolerance, what << " is off by " << worst);
}

/// True for keys up to `k` past the query.
Tensor below(int64_t length, int64_t keys, int64_t k) {
  return reshape(arange(0, keys, 1, int64), {1, keys}) <=
         reshape(arange(0, length, 1, int64), {length, 1}) + k;
}

Tensor numbers(Shape shape, DType t) { return astype(rand(shape) * 2 - 1, t).eval(); }

void compare(const Sizes& s, DType t, int64_t past, const std::string& what, const Tensor& values = {}) {
  const Tensor q = numbers({3, s.length, s.width}, t), k = numbers({3, s.keys, s.width}, t),
               v = values.handle() ? values : numbers({3, s.keys, s.width}, t);
  const Tensor mask = below(s.length, s.keys, past).eval();
  const auto want =
      all_of(q, k, v, [&](auto& a, auto& b, auto& c) { return scaled_dot_product_attention(a, b, c, mask); });
  const auto got = all_of(q, k, v, [&](auto& a, auto& b, auto& c) {
    if (past == 0) return scaled_dot_product_attention(a, b, c, {}, true);
    return scaled_dot_product_attention(a, b, c, tril(full({s.length, s.keys}, true), past));
  });
  const char* const names[] = {"result", "gradient of queries", "gradient of keys", "gradient of values"};
  for (size_t i = 0; i < 4; ++i) {
    const std::string which = what + " " + std::to_string(s.length) + "x" + std::to_string(s.keys) + "x" +
                              std::to_string(s.width) + ", " + std::to_string(past) + " past, " + names[i];
    // Gradients without a mask may go back block by block, in another order of sums.
    if (i > 0 && past == 0 && (t == float32 || t == float64))
      close(got[i], want[i], t == float32 ? 2e-5 : 1e-12, which);
    else same_bits(got[i], want[i], which);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(leaving_out_hidden_keys_changes_no_bit) {
  manual_seed(7);
  for (const Sizes& s :
       {Sizes{1, 1, 8}, {64, 64, 32}, {97, 64, 33}, {64, 131, 16}, {200, 257, 40}, {300, 7, 5}})
    for (const DType t : {float32, float64}) compare(s, t, 0, "causal");
}

BOOST_AUTO_TEST_CASE(sixteen_bit_floats_are_left_out_as_well) {
  manual_seed(8);
  for (const DType t : {float16, bfloat16}) compare({160, 160, 64}, t, 0, "causal");
}

BOOST_AUTO_TEST_CASE(keys_before_the_query_may_be_hidden) {
  manual_seed(13);
  const Tensor q = numbers({2, 150, 24}, float32), k = numbers({2, 130, 24}, float32),
               v = numbers({2, 130, 24}, float32);
  for (const int64_t past : {-40, 0, 17}) {
    const auto with = [&](const Tensor& mask) {
      return all_of(q, k, v,
                    [&](auto& a, auto& b, auto& c) { return scaled_dot_product_attention(a, b, c, mask); });
    };
    const auto got = with(triu(full({150, 130}, true), past)),
               want = with(triu(full({150, 130}, true), past).eval());
    for (size_t i = 0; i < 4; ++i) same_bits(got[i], want[i], "triu " + std::to_string(past));
  }
}

BOOST_AUTO_TEST_CASE(a_mask_by_another_diagonal_may_hide_all_or_nothing) {
  manual_seed(9);
  for (const int64_t past : {-300, -70, -1, 1, 50, 300}) compare({128, 160, 24}, float32, past, "mask");
}

// A hidden value has weight 0, and 0 times infinity or NaN is NaN: nothing may be left out then.
BOOST_AUTO_TEST_CASE(hidden_values_that_are_not_finite_count) {
  manual_seed(11);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Tensor at = reshape(arange(0, 128, 1, int64), {128, 1}) == 120;
    const Tensor v = where(at, bad, numbers({3, 128, 16}, float32)).eval();
    const Tensor q = numbers({3, 128, 16}, float32), k = numbers({3, 128, 16}, float32);
    const Tensor mask = below(128, 128, 0).eval();
    const Tensor y = scaled_dot_product_attention(q, k, v, {}, true);
    same_bits(y, scaled_dot_product_attention(q, k, v, mask), "not finite");
    BOOST_TEST(std::isnan(y.to_vector<float>()[0]));
  }
}

// Products that underflow make sums -0, which a hidden key's +0 makes +0.
BOOST_AUTO_TEST_CASE(signs_of_zeros_are_those_of_all_keys) {
  manual_seed(12);
  const Tensor q = numbers({3, 96, 16}, float32), k = numbers({3, 96, 16}, float32);
  for (const double sign : {1.0, -1.0}) {
    const Tensor row = reshape(arange(0, 96, 1, int64), {96, 1});
    const Tensor v =
        where(row < 60, full({3, 96, 16}, -1e-45, float32), full({3, 96, 16}, sign * 0.0, float32)).eval();
    compare({96, 96, 16}, float32, 0, "zeros", v);
  }
}
