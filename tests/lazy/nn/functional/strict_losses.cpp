// Tests that losses refuse labels and probabilities that are none, at the user's line when the value is read,
// and tell, once a line, of what is allowed and seldom meant.
#include <cmath>

#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;

namespace {

/// Reads what the call returns; checks that this throws E, of this file's line, with the text in it.
template <class E, class F>
void refuses(F&& call, const std::string& text, int line) {
  try {
    (void)call().template to_vector<double>();
    BOOST_ERROR("nothing was thrown: " << text);
  } catch (const Error& e) {
    BOOST_TEST((typeid(e) == typeid(E)), e.what());
    BOOST_TEST(std::string(e.what()).find(text) != std::string::npos, e.what());
    BOOST_TEST(std::string(file_name(e.where())) == "strict_losses.cpp", e.what());
    BOOST_TEST(e.where().line() == static_cast<unsigned>(line), e.what());
  }
}
#define REFUSES(E, call, text) refuses<E>([&] { return Tensor(call); }, text, __LINE__)

size_t times(const std::string& part, const std::string& text) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(strict_losses)

BOOST_AUTO_TEST_CASE(labels_below_0) {
  for (const DType t : {float32, float64, float16}) {
    const Tensor x = tensor({{1.0, 2.0, 3.0}, {3.0, 2.0, 1.0}}).to(t);
    for (const DType i : {int8, int32, int64}) {
      const Tensor bad = tensor({0, -1}).to(i), far = tensor({0, 3}).to(i);
      REFUSES(IndexError, cross_entropy(x, bad),
              "cross_entropy: index -1 is out of range for an axis of 3 elements");
      REFUSES(IndexError, cross_entropy(x, far), "cross_entropy: index 3 is out of range");
      REFUSES(IndexError, nll_loss(x, bad), "nll_loss: index -1 ");
      REFUSES(IndexError, nll_loss(x, bad, {.weight = ones({3})}), "nll_loss: index -1 ");
      REFUSES(IndexError, multi_margin_loss(x, bad), "multi_margin_loss: index -1 ");
      REFUSES(IndexError, embedding(bad, x), "embedding: index -1 ");
      REFUSES(IndexError, embedding_bag(bad.reshape({1, 2}), x), "index -1 ");
    }
    // ignore_index comes first; unsigned labels have none below 0
    check::close(cross_entropy(x, tensor({2, -1}), {.ignore_index = -1}),
                 {cross_entropy(x, tensor({2, -100})).item<double>()}, 0);
    check::close(cross_entropy(x, tensor({2, 0}).to(uint8)),
                 {cross_entropy(x, tensor({2, 0})).item<double>()}, 0);
    REFUSES(IndexError, cross_entropy(x, tensor({0, -2}), {.ignore_index = -1}), "cross_entropy: index -2 ");
  }
  const Tensor steps = log_softmax(ones({4, 1, 3}), -1);
  REFUSES(IndexError, ctc_loss(steps, tensor({{1, -1}}), tensor({4}), tensor({2})), "index -1 ");
  BOOST_TEST(isfinite(ctc_loss(steps, tensor({{1, -1}}), tensor({4}), tensor({1})))
                 .item<bool>());  // not one of its labels
  nn::AdaptiveLogSoftmaxWithLoss softmax(4, 10, {5});
  REFUSES(IndexError, softmax(ones({1, 4}), tensor({-1})).output, "index -1 ");
}

BOOST_AUTO_TEST_CASE(gradients_of_good_labels) {
  Tensor x = tensor({{1.0, 2.0, 3.0}, {3.0, 2.0, 1.0}});
  x.requires_grad_();
  cross_entropy(x, tensor({0, 2})).backward();
  const Tensor wanted = (softmax(x.detach(), -1) - tensor({{1.0, 0.0, 0.0}, {0.0, 0.0, 1.0}})) / 2;
  BOOST_TEST(allclose(x.grad(), wanted).item<bool>());
}

BOOST_AUTO_TEST_CASE(probabilities) {
  const Tensor t = ones({2, 2});
  const std::string what = "binary_cross_entropy: x and the target have to be in 0 to 1";
  REFUSES(Error, binary_cross_entropy(tensor({{0.5, 1.0}, {0.0, 2.0}}), t), what);
  REFUSES(Error, binary_cross_entropy(tensor({{0.5, -0.1}, {0.0, 1.0}}), t), what);
  REFUSES(Error, binary_cross_entropy(tensor({{std::nan(""), 0.1}, {0.0, 1.0}}), t), what);
  REFUSES(Error, binary_cross_entropy(t, t * 2), what);
  REFUSES(Error, binary_cross_entropy(tensor(1.5), tensor(1.0)), what);
  REFUSES(Error, binary_cross_entropy(t * 2, t, {}, Reduction::none), what);
  REFUSES(Error, nn::BCELoss()(t * 2, t), what);
  for (const DType d : {float16, float32, float64})
    check::close(binary_cross_entropy(tensor({0.0, 1.0, 0.5}).to(d), tensor({0.0, 1.0, 1.0}).to(d)),
                 {std::log(2.0) / 3}, 1e-3);
  BOOST_TEST(binary_cross_entropy(zeros({0}), zeros({0}), {}, Reduction::sum).item<double>() == 0);
  Tensor x = tensor({0.25, 0.5});
  x.requires_grad_();
  binary_cross_entropy(x, tensor({1.0, 0.0}), {}, Reduction::sum).backward();
  BOOST_TEST(allclose(x.grad(), tensor({-4.0, 2.0})).item<bool>());
}

BOOST_AUTO_TEST_CASE(shapes_that_broadcast) {
  const Tensor x = ones({6}), y = zeros({6, 1});
  const auto said = [&](auto loss) {
    return fresh::standard_error_of([&] {
      for (int i = 0; i < 3; ++i) (void)loss(x, y);
    });
  };
  const auto expect = [&](const std::string& name, int line, const std::string& text) {
    BOOST_TEST(times(name + " at strict_losses.cpp:" + std::to_string(line) +
                         " broadcasts x [6] and a target [6, 1] to [6, 6]",
                     text) == 1u,
               text);
  };
#define TELLS(name) expect(#name, __LINE__, said([](const Tensor& a, const Tensor& b) { return name(a, b); }))
  TELLS(mse_loss);
  TELLS(l1_loss);
  TELLS(smooth_l1_loss);
  TELLS(huber_loss);
  TELLS(poisson_nll_loss);
  TELLS(hinge_embedding_loss);
  TELLS(kl_div);
  const std::string nothing = fresh::standard_error_of([&] {
    (void)mse_loss(x, x);
    (void)mse_loss(x, 0.5);
    (void)mse_loss(x, tensor(0.5));
    BOOST_CHECK_THROW(mse_loss(x, ones({5})), ShapeError);
  });
  BOOST_TEST(nothing == "");
}

BOOST_AUTO_TEST_CASE(float64_data) {
  nn::Linear linear(3, 2);
  nn::Conv1d conv(3, 2, 1);
  nn::LSTM lstm(3, 2);
  Parameter w(ones({3, 2}));
  const Tensor x = ones({4, 3}, float64), image = ones({1, 3, 5}, float64), steps = ones({5, 1, 3}, float64);
  const auto tells = [&](const std::string& name, auto f) {
    const std::string text = fresh::standard_error_of([&] {
      for (int i = 0; i < 3; ++i) f();
    });
    BOOST_TEST(times(name + " at strict_losses.cpp:", text) == 1u, text);
    BOOST_TEST(times("computes in float64", text) == 1u, text);
  };
  tells("linear", [&] { (void)linear(x); });
  tells("conv1d", [&] { (void)conv(image); });
  tells("matmul", [&] { (void)matmul(x, w); });
  tells("matmul", [&] { (void)matmul(w.T(), x.T()); });
  tells("LSTM", [&] { (void)lstm(steps); });
  const std::string nothing = fresh::standard_error_of([&] {
    (void)linear(x.to(float32));
    (void)matmul(x, ones({3, 2}));  // no parameter
    linear.to(float64);
    (void)linear(x);
  });
  BOOST_TEST(nothing == "");
}

BOOST_AUTO_TEST_SUITE_END()
