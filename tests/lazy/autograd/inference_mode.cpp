// inference_mode: what is recorded has no gradients, for good, and says so where one would go through it.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <lazy/inference/replay.hpp>
#include <lazy/lazy.hpp>
#include <lazy/linalg/linalg.hpp>
#include <lazy/nn/nn.hpp>
#include <lazy/optim/optim.hpp>
#include <string>
#include <thread>

using namespace lazy;

BOOST_AUTO_TEST_SUITE(inference_modes)

namespace {

/// Returns the text of the Error that f throws.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_computed_in_it_has_no_gradient) {
  Parameter w = arange(4).astype(float32);
  Tensor y, outside = sum(w * w);
  {
    const inference_mode scope;
    BOOST_TEST(is_inference_mode_enabled());
    BOOST_TEST(!is_grad_enabled());
    y = sum(w * w) + relu(w)(1);
    BOOST_TEST(!y.requires_grad());
    BOOST_TEST(is_inference(y));
    BOOST_TEST(!is_inference(w));
    BOOST_TEST(!is_inference(outside));
  }
  BOOST_TEST(!is_inference_mode_enabled());
  BOOST_TEST(is_grad_enabled());
  BOOST_TEST(y.item<float>() == 15.f);
  BOOST_TEST(is_inference(y));
  BOOST_TEST(says(error_of([&] { y.backward(); }), "computed in inference_mode"));
  outside.backward();
  BOOST_TEST(w.grad().to_vector<float>() == (std::vector<float>{0, 2, 4, 6}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_use_where_a_gradient_goes_through_tells_both_lines) {
  Parameter w = ones({3});
  Tensor x;
  int made, used;
  {
    const inference_mode scope;
    x = sigmoid(w), made = __LINE__;
  }
  std::string text;
  try {
    used = __LINE__, (void)(w * x);
  } catch (const Error& e) {
    text = e.what();
    BOOST_TEST(e.where().line() == static_cast<uint32_t>(used));
  }
  BOOST_TEST(says(text, "inference_mode.cpp:" + std::to_string(made)), text);
  BOOST_TEST(says(text, "clone()"), text);
  // Each road that an op can take: fused, joined, a call, a function with its own derivative.
  const Tensor square = [&] {
    const inference_mode scope;
    return eye(3) + x;
  }();
  Parameter m = eye(3);
  for (const auto& f : std::vector<std::function<Tensor()>>{
           [&] { return x - w; }, [&] { return where(x > 0, x, w); },
           [&] {
             return concat({w, x}, 0);
           },
           [&] { return matmul(m, square); }, [&] { return linear(square, m); },
           [&] { return solve(m, square); }, [&] { return logaddexp(w, x); },
           [&] { return softmax(m + square, -1); }})
    BOOST_TEST(says(error_of(f), "inference_mode"));
  // The program goes on, and there is a way.
  for (const Tensor& own : {x.clone(), x.detach()}) {
    BOOST_TEST(!is_inference(own));
    const Tensor y = sum(w * own);
    w.zero_grad();
    y.backward();
    BOOST_TEST(w.grad().to_vector<float>() == x.to_vector<float>(), boost::test_tools::per_element());
  }
  const no_grad scope;
  BOOST_CHECK_NO_THROW((w * x).eval());
}

BOOST_AUTO_TEST_CASE(what_has_no_gradient_anyway_may_be_used) {
  Parameter w = randn({4, 3});
  Tensor labels, rows, size;
  {
    const inference_mode scope;
    labels = argmax(w + 1, -1), rows = arange(2), size = full({3}, 2.f);
  }
  cross_entropy(w, labels).backward();
  BOOST_CHECK_NO_THROW(sum(take(w, rows, 0) * size).backward());
}

BOOST_AUTO_TEST_CASE(variables_remain_what_they_are) {
  Parameter w = ones({3});
  Tensor marked = ones({3}), plain = zeros({3}) + 1;
  marked.requires_grad_();
  nn::BatchNorm2d norm(2);
  Parameter made;
  {
    const inference_mode scope;
    w = w + 1;
    marked += 1;
    plain += 1;
    plain(0) = 7;
    norm(randn({4, 2, 3, 3}) + 5);
    made = randn({2}) * 2;
    const nn::Linear inner(3, 3);
    BOOST_TEST(inner.weight.requires_grad());
  }
  BOOST_TEST(w.requires_grad());
  BOOST_TEST(marked.requires_grad());
  BOOST_TEST(!is_inference(plain));
  sum(w * marked * plain).backward();
  BOOST_TEST(w.grad().to_vector<float>() == (std::vector<float>{14, 4, 4}), boost::test_tools::per_element());
  norm.eval();
  BOOST_TEST(norm.running_mean.to_vector<float>()[0] > 0.3);
  BOOST_CHECK_NO_THROW(sum(norm(ones({1, 2, 2, 2}) * made(0))).backward());
  BOOST_TEST(made.grad().defined());
}

BOOST_AUTO_TEST_CASE(an_optimizer_steps_in_it) {
  Parameter w = ones({2});
  optim::SGD sgd({w.ref()}, {.lr = 0.5, .momentum = 0.5});
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    sum(w * w).backward();
    const inference_mode scope;
    sgd.step();
  }
  Parameter v = ones({2});
  optim::SGD other({v.ref()}, {.lr = 0.5, .momentum = 0.5});
  for (int i = 0; i < 3; ++i) {
    other.zero_grad();
    sum(v * v).backward();
    other.step();
  }
  BOOST_TEST(w.to_vector<float>() == v.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(scopes_nest) {
  Parameter w = ones({2});
  {
    const inference_mode scope;
    {
      const inference_mode off(false);
      BOOST_TEST((w * 2).requires_grad());
      const no_grad inner;
      BOOST_TEST(!(w * 2).requires_grad());
      BOOST_TEST(!is_inference(w * 2));
    }
    BOOST_TEST(is_inference(w * 2));
    {
      const enable_grad on;
      BOOST_TEST((w * 2).requires_grad());
      const inference_mode again;
      BOOST_TEST(is_inference(w * 2));
    }
    BOOST_TEST(!(w * 2).requires_grad());
  }
  const no_grad outer;
  { const inference_mode scope; }
  BOOST_TEST(!is_grad_enabled());
  BOOST_TEST(!is_inference(w * 2));
}

BOOST_AUTO_TEST_CASE(gradients_that_are_asked_for_in_it) {
  Parameter w = arange(3).astype(float32);
  const Tensor loss = sum(w * w * w);
  const inference_mode scope;
  loss.backward();
  BOOST_TEST(w.grad().to_vector<float>() == (std::vector<float>{0, 3, 12}), boost::test_tools::per_element());
  const Tensor g = grad([](const Tensor& x) { return sum(x * x); })(full({2}, 3.f));
  BOOST_TEST(g.to_vector<float>() == (std::vector<float>{6, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_threads_are_not_in_it) {
  Parameter w = ones({2});
  const inference_mode scope;
  bool tracked = false;
  std::thread([&] { tracked = (w * 2).requires_grad() && !is_inference_mode_enabled(); }).join();
  BOOST_TEST(tracked);
}

BOOST_AUTO_TEST_CASE(intentions_and_replays_in_it) {
  manual_seed(1);
  nn::Conv2d conv(2, 3, 3);
  const Tensor x = randn({1, 2, 6, 6});
  const Tensor wanted = conv(x).detach().eval();
  const auto step = replay(conv);
  const inference_mode scope;
  BOOST_TEST(conv(x).to_vector<float>() == wanted.to_vector<float>(), boost::test_tools::per_element());
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(step(x).to_vector<float>() == wanted.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_flush_in_it_expands_gradients) {
  nn::Conv2d conv(2, 3, 3);
  const Tensor x = randn({1, 2, 6, 6});
  sum(conv(x) * conv(x)).backward();
  const Tensor wanted = conv.weight.grad().clone().eval();
  conv.weight.zero_grad();
  sum(conv(x) * conv(x)).backward();
  const inference_mode scope;
  BOOST_TEST(conv.weight.grad().to_vector<float>() == wanted.to_vector<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
