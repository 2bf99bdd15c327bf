// Tests calls of values on a GPU that has no kernels for them: by ordinary ops, or on the host and back.
#include <algorithm>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(calls_elsewhere)

BOOST_AUTO_TEST_CASE(on_the_host_and_back) {
  const Tensor x = ((arange(300, 0, -1, float32) * 3).reshape({20, 15})).to(cuda);
  std::vector<float> wanted = x.to_vector<float>();
  std::sort(wanted.begin(), wanted.end());
  reset_metrics();
  const auto [values, indices] = sort((x * 2 + 1).reshape({300}));
  const Tensor after = (values - 1) / 2;
  BOOST_TEST((after.device() == cuda(0)));
  BOOST_TEST((after.to_vector<float>() == wanted));
  BOOST_TEST(indices.to_vector<int64_t>()[0] == 299);
  const Metrics m = metrics();
  BOOST_TEST(m.calls == 1u);
  BOOST_TEST(m.call_host_transfers == 1u);
  BOOST_TEST(m.call_fallbacks == 0u);
}

BOOST_AUTO_TEST_CASE(several_in_one_flush_come_in_order) {
  Tensor x = (arange(64, 0, -1, float32)).to(cuda);
  for (int i = 0; i < 4; ++i) {
    Tensor y = x;
    for (int k = 0; k < 6; ++k) y = sort(y * -1).values + 1;
    const std::vector<float> v = y.to_vector<float>();
    BOOST_TEST(std::is_sorted(v.begin(), v.end()));
    BOOST_TEST(v.front() == 1);
  }
}

BOOST_AUTO_TEST_CASE(errors_come_from_the_host_too) {
  const Tensor good = (eye(3) * 4).to(cuda), bad = (eye(3) * -4).to(cuda);
  const Tensor l = cholesky(stack({good, good})) * 1;
  BOOST_TEST(l.to_vector<float>()[0] == 2);
  const Tensor wrong = cholesky(stack({good, bad})) + good;
  BOOST_CHECK_THROW(wrong.eval(), Error);
  BOOST_CHECK_THROW(wrong.eval(), Error);
  BOOST_TEST((good + 1).to_vector<float>()[0] == 5);
}

BOOST_AUTO_TEST_CASE(by_ordinary_ops) {
  Tensor a = arange(6).reshape({2, 3}).to(cuda), b = (a + 10).eval();
  reset_metrics();
  std::vector<Tensor> parts(70, a);
  parts[1] = b;
  const std::vector<int64_t> v = concat(parts, 1).to_vector<int64_t>();
  for (size_t i = 0; i < 210; ++i) BOOST_TEST(v[i] == static_cast<int64_t>(i % 3 + (i / 3 == 1 ? 10 : 0)));
  BOOST_TEST(metrics().call_fallbacks == 1u);
  BOOST_TEST(metrics().calls == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
