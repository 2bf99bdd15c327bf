// Tests in which programs half of a box is left out. tests/lazy/nn/functional/causal.cpp compares bits.
#include "tests/common/fresh.hpp"
#include "tests/common/log_lines.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;

namespace {

/// Returns what the program of `f` says of its tile groups.
template <class F>
std::string groups_of(F f) {
  cache::clear();
  const Override channels("LAZY_LOG", "fusion");
  const fresh::LogLines lines;
  f();
  return lines.text();
}

Tensor heads() { return reshape(numbers({2 * 80 * 16}), {2, 80, 16}).eval(); }
Tensor indices(bool rows) {
  const Tensor i = arange(0, 80, 1, int64);
  return rows ? reshape(i, {80, 1}) : reshape(i, {1, 80});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(skips)

BOOST_AUTO_TEST_CASE(a_causal_attention_leaves_out_half_of_each_step) {
  const Tensor q = heads(), k = heads(), v = heads();
  const std::string text = groups_of([&] { scaled_dot_product_attention(q, k, v, {}, true).eval(); });
  BOOST_TEST(contains(text, "half left out in 4 kernels"), text);
  const std::string all = groups_of([&] { scaled_dot_product_attention(q, k, v).eval(); });
  BOOST_TEST(!contains(all, "left out"), all);
}

BOOST_AUTO_TEST_CASE(its_gradients_do_as_well) {
  Tensor q = heads(), k = heads(), v = heads();
  q.requires_grad_(), k.requires_grad_(), v.requires_grad_();
  const std::string text = groups_of([&] {
    sum(scaled_dot_product_attention(q, k, v, tril(full({80, 80}, true))) * 2).backward();
    q.grad().eval();
  });
  BOOST_TEST(contains(text, "half left out in 6 kernels"), text);   // the attention; scores, queries
  BOOST_TEST(contains(text, "half left out in 1 kernel\n"), text);  // values; keys
}

BOOST_AUTO_TEST_CASE(what_counts_is_the_form_of_a_mask) {
  const Tensor q = heads(), k = heads(), v = heads();
  const auto with = [&](const Tensor& mask) {
    return groups_of([&] { scaled_dot_product_attention(q, k, v, mask).eval(); });
  };
  for (const int64_t past : {-1, 0, 3}) {
    const std::string lower = with(tril(full({80, 80}, true), past));
    BOOST_TEST(contains(lower, "half left out in 4 kernels"), lower);
    const std::string upper = with(triu(full({80, 80}, true), past));
    BOOST_TEST(contains(upper, "half left out in 4 kernels"), upper);
  }
  // A mask whose form is not known is looked at when the program runs.
  for (const Tensor& mask : {(indices(false) <= indices(true)).eval(), indices(false) == indices(true),
                             (indices(false) < 40).eval(), ~(indices(false) < 40).eval()}) {
    const std::string value = with(mask);
    BOOST_TEST(contains(value, ", what a mask hides left out in 4 kernels"), value);
  }
  const std::string added = with(where(indices(false) < 40, 0.0f, -1.0f).eval());
  BOOST_TEST(!contains(added, "left out"), added);
}

BOOST_AUTO_TEST_CASE(a_form_and_a_mask_are_left_out_together) {
  const Tensor q = heads(), k = heads(), v = heads(), mask = (indices(false) < 40).eval();
  const std::string text = groups_of([&] { scaled_dot_product_attention(q, k, v, mask, true).eval(); });
  BOOST_TEST(contains(text, "half left out in 4 kernels, what a mask hides left out in 4 kernels"), text);
}

// Values beside the diagonal that no mask hides, and a masked number other than 0, are needed.
BOOST_AUTO_TEST_CASE(what_is_not_zero_is_not_left_out) {
  const Tensor x = reshape(numbers({80 * 80}), {80, 80}).eval(),
               y = reshape(numbers({80 * 16}), {80, 16}).eval();
  const Tensor hidden = indices(false) <= indices(true);
  const auto product = [&](double other) {
    const Tensor w = where(hidden, exp(x), other);
    return std::pair(matmul(w, y), sum(w, {-1}));
  };
  const auto got = product(0.5);
  const Tensor w = where(hidden.eval(), exp(x), 0.5).eval();
  BOOST_TEST(all(got.first == matmul(w, y)).item<bool>());
  BOOST_TEST(all(got.second == sum(w, {-1})).item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()
