// Tests gradients that threads compute at once through what they share.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(gradients_from_threads)

// Each thread goes back through what others go back through, too.
BOOST_AUTO_TEST_CASE(threads_that_share) {
  constexpr int kThreads = 4, kTimes = 100;
  const auto in_threads = [](auto&& f) {
    std::vector<std::thread> all;
    for (int t = 0; t < kThreads; ++t)
      all.emplace_back([&, t] {
        for (int k = 0; k < kTimes; ++k) f(t);
      });
    for (std::thread& t : all) t.join();
  };
  Tensor w = full({8}, 2.0, float64).eval();
  w.requires_grad_();
  in_threads([&](int) { sum(w * 3.0).backward(); });
  BOOST_TEST(w.grad()(5).item<double>() == 3.0 * kThreads * kTimes);

  w.zero_grad();
  Tensor trunk = w * 3.0;
  for (int i = 0; i < 10; ++i) trunk = trunk * 1.0;
  in_threads([&](int t) { sum(trunk * (1.0 + t)).backward({}, true); });
  BOOST_TEST(w.grad()(5).item<double>() == 3.0 * (1 + 2 + 3 + 4) * kTimes);

  const Pullback p = vjp([](const std::vector<Tensor>& x) { return x[0] * x[0] * 1.0; }, {w.detach()});
  std::atomic<int> wrong = 0;
  in_threads([&](int t) { wrong += p(full({8}, 1.0 + t, float64))[0](5).item<double>() != 4 * (1.0 + t); });
  BOOST_TEST(wrong == 0);
}

// A thread may give up what another is reading: each gets all of the gradient, or is told.
BOOST_AUTO_TEST_CASE(threads_that_give_up_what_is_shared) {
  std::atomic<int> told = 0;
  for (int round = 0; round < 30; ++round) {
    Tensor w = full({8}, 2.0, float64);
    w.requires_grad_();
    Tensor y = w;
    for (int i = 0; i < 10; ++i) y = y * 1.0;
    const Tensor loss = sum(y);
    std::vector<std::thread> all;
    std::atomic<int> went = 0;
    for (int t = 0; t < 3; ++t)
      all.emplace_back([&] {
        try {
          loss.backward();
          ++went;
        } catch (const Error&) { ++told; }
      });
    for (std::thread& t : all) t.join();
    BOOST_TEST(went >= 1);
    BOOST_TEST(w.grad()(5).item<double>() == went);
  }
  BOOST_TEST(told >= 0);
}

BOOST_AUTO_TEST_SUITE_END()
