// Tests policies: who asks them, in whose name, and what follows.
#include "lazy/core/policy.hpp"

#include <string>
#include <thread>

#include "lazy/insight/insight.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using detail::Policy;
using detail::PolicyScope;
using fresh::numbers;

namespace {

/// Notes who asks, and answers with a dtype, if it has one.
struct Noting final : Policy {
  std::vector<std::string> asked;
  std::optional<DType> answer;
  explicit Noting(std::optional<DType> t = {}) : answer(t) {}
  std::optional<DType> operand_type(const char* function, std::span<const Arg* const> arguments,
                                    std::span<const Tensor* const>) override {
    BOOST_TEST(!arguments.empty());
    asked.push_back(function);
    return answer;
  }
};

std::string names(const std::vector<std::string>& all) {
  std::string s;
  for (const std::string& n : all) s += (s.empty() ? "" : " ") + n;
  return s;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(policy, fresh::Fixture)

BOOST_AUTO_TEST_CASE(contractions_ask_once_by_their_name) {
  const Tensor m = numbers({4, 4}), b = numbers({2, 4, 4}), v = numbers({4}), image = numbers({1, 2, 6, 6}),
               w = numbers({2, 2, 3, 3}), line = numbers({1, 2, 6});
  nn::LSTM lstm(4, 3);
  nn::GRU gru(4, 3);
  const auto who = [&](auto&& f) {
    Noting note;
    const PolicyScope scope(&note);
    f();
    return names(note.asked);
  };
  BOOST_TEST(who([&] { matmul(m, m); }) == "matmul");
  BOOST_TEST(who([&] { dot(v, v); }) == "dot");
  BOOST_TEST(who([&] { mm(m, m); }) == "mm");
  BOOST_TEST(who([&] { mv(m, v); }) == "mv");
  BOOST_TEST(who([&] { bmm(b, b); }) == "bmm");
  BOOST_TEST(who([&] { addmm(m, m, m); }) == "addmm");
  BOOST_TEST(who([&] { einsum("ij,jk->ik", {m, m}); }) == "einsum");
  BOOST_TEST(who([&] { tensordot(m, m, 1); }) == "tensordot");
  BOOST_TEST(who([&] { linear(m, m, v); }) == "linear");
  BOOST_TEST(who([&] { bilinear(m, m, numbers({3, 4, 4})); }) == "bilinear");
  BOOST_TEST(who([&] { conv2d(image, w); }) == "conv2d");
  BOOST_TEST(who([&] { conv1d(line, numbers({2, 2, 3})); }) == "conv1d");
  BOOST_TEST(who([&] { conv_transpose(image, w); }) == "conv_transpose");
  BOOST_TEST(who([&] { scaled_dot_product_attention(b, b, b); }) == "scaled_dot_product_attention");
  BOOST_TEST(who([&] { prelu(m, v); }) == "prelu");
  BOOST_TEST(who([&] { lstm(reshape(m, {2, 2, 4})); }).find(' ') == std::string::npos);
  BOOST_TEST(who([&] { gru(reshape(m, {2, 2, 4})); }).find(' ') == std::string::npos);
  BOOST_TEST(who([&] {
               exp(m) + softmax(m, -1) * layer_norm(m, {4});
               matmul(m, m, float64);  // its dtype is given
             }) == "");
}

BOOST_AUTO_TEST_CASE(operands_are_taken_in_the_dtype_that_it_says) {
  const Tensor m = numbers({5, 4}), w = numbers({3, 4}), bias = numbers({3});
  const Tensor expected = linear(m.to(bfloat16), w.to(bfloat16), bias.to(bfloat16));
  Noting lower(bfloat16);
  const PolicyScope scope(&lower);
  const Tensor y = linear(m, w, bias);
  BOOST_TEST((y.dtype() == bfloat16));
  BOOST_TEST(y.to_vector<float>() == expected.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_of_it_is_in_keys) {
  const auto direct = [](const Tensor& a) { return matmul(a.to(bfloat16), a.to(bfloat16)); };
  const Tensor a = numbers({4, 4}).eval();
  (void)direct(a).to_vector<float>();
  const uint64_t misses = metrics().program_misses;
  Noting lower(bfloat16);
  const PolicyScope scope(&lower);
  (void)matmul(a, a).to_vector<float>();
  BOOST_TEST(metrics().program_misses == misses);
}

BOOST_AUTO_TEST_CASE(scopes_nest_and_end_with_an_exception) {
  const Tensor m = numbers({4, 4});
  Noting outer, inner(float64);
  const PolicyScope first(&outer);
  {
    const PolicyScope second(&inner);
    BOOST_TEST((matmul(m, m).dtype() == float64));
    const PolicyScope off(nullptr);
    BOOST_TEST((matmul(m, m).dtype() == float32));
  }
  try {
    const PolicyScope second(&inner);
    matmul(m, numbers({3, 3}));
    BOOST_ERROR("nothing was thrown");
  } catch (const ShapeError&) {}
  BOOST_TEST((matmul(m, m).dtype() == float32));
  BOOST_TEST(outer.asked.size() == 1u);
  BOOST_TEST(inner.asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(other_threads_do_not_inherit_it) {
  const Tensor m = numbers({4, 4});
  Noting lower(bfloat16);
  const PolicyScope scope(&lower);
  const Tensor y = matmul(m, m);
  DType there = bool_;
  std::thread([&] { there = matmul(m, m).dtype(), (void)y.to_vector<float>(); }).join();
  BOOST_TEST((there == float32));
  BOOST_TEST(lower.asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(gradients_are_of_the_leaves_dtype) {
  Tensor w = numbers({3, 4});
  w.requires_grad_();
  Noting lower(bfloat16);
  {
    const PolicyScope scope(&lower);
    sum(linear(numbers({2, 4}), w).to(float32)).backward();
  }
  BOOST_TEST((w.grad().dtype() == float32));
  Tensor direct = numbers({3, 4});
  direct.requires_grad_();
  sum(linear(numbers({2, 4}).to(bfloat16), direct.to(bfloat16)).to(float32)).backward();
  BOOST_TEST(w.grad().to_vector<float>() == direct.grad().to_vector<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_do_not_ask) {
  Tensor x = numbers({1, 2, 6, 6}), w = numbers({2, 2, 3, 3});
  x.requires_grad_(), w.requires_grad_();
  const Tensor y = sum(conv2d(x, w, {.stride = 2}));
  Noting lower(bfloat16);
  const PolicyScope scope(&lower);
  y.backward();
  BOOST_TEST(names(lower.asked) == "");
}

BOOST_AUTO_TEST_SUITE_END()
