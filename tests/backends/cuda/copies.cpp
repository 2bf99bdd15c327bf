// Tests copies between the host and the GPU: every size, and memory that the user may change at once.
#include <algorithm>
#include <memory>
#include <numeric>

#include <functional>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {
std::vector<uint8_t> bytes_of(size_t n) {
  std::vector<uint8_t> v(n);
  uint32_t seed = 7;
  for (uint8_t& b : v) b = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return v;
}
}  // namespace

BOOST_FIXTURE_TEST_SUITE(copies, OnGpu)

BOOST_AUTO_TEST_CASE(of_every_size) {
  constexpr size_t kMiB = size_t{1} << 20;
  for (size_t n : {size_t{0}, size_t{1}, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1, 17 * kMiB}) {
    const std::vector<uint8_t> v = bytes_of(n);
    const Metrics before = metrics();
    const Tensor x = from_span(v);
    BOOST_TEST(to_string(x.device()) == "cuda:0");
    BOOST_TEST((x.to_vector<uint8_t>() == v), n << " bytes");
    BOOST_TEST(metrics().bytes_to_device - before.bytes_to_device == n);
    BOOST_TEST(metrics().bytes_from_device - before.bytes_from_device == n);
  }
}

BOOST_AUTO_TEST_CASE(the_users_memory_is_free_at_once) {
  for (size_t n : {size_t{100}, size_t{5} << 20}) {
    std::vector<uint8_t> v = bytes_of(n);
    const std::vector<uint8_t> was = v;
    bool deleted = false;
    const Tensor x =
        from_blob(v.data(), {static_cast<int64_t>(n)}, uint8, {}, [&](void*) { deleted = true; });
    BOOST_TEST(deleted);  // it was copied
    std::fill(v.begin(), v.end(), uint8_t{0});
    v = {};
    BOOST_TEST((x.to_vector<uint8_t>() == was));
  }
  std::vector<float> v(1000);
  std::iota(v.begin(), v.end(), 0.0f);
  Tensor y;
  {
    const OnCpu host;
    y = from_blob(v.data(), {1000}).to(cuda) * 2;
  }
  std::fill(v.begin(), v.end(), -1.0f);
  BOOST_TEST(y(999).item<float>() == 1998);
}

BOOST_AUTO_TEST_CASE(views_come_back_as_they_look) {
  const Tensor h = varied({7, 11, 5}), x = h.to(cuda);
  const auto check = [&](auto&& view) { BOOST_TEST((bits(view(x)) == bits(view(h)))); };
  check([](const Tensor& t) { return t.T(); });
  check([](const Tensor& t) { return flip(t, {1}); });
  check([](const Tensor& t) { return t(slice(1, 6, 2), _, slice(4, none, -2)); });
  check([](const Tensor& t) { return broadcast_to(t(3, 2), {4, 5}); });
  check([](const Tensor& t) { return t(2, 3, 4); });
  check([](const Tensor& t) { return t(slice(3, 3)); });
  const Tensor there = x.T().to(cpu);
  BOOST_TEST(to_string(there.device()) == "cpu");
  BOOST_TEST((bits(there) == bits(h.T())));
  // The user's view of memory is copied to the GPU.
  std::vector<float> v(60);
  std::iota(v.begin(), v.end(), 0.0f);
  const Tensor blob = from_blob(v.data() + 59, {4, 5}, float32, {-15, -2});
  BOOST_TEST(blob(0, 0).item<float>() == 59);
  BOOST_TEST(blob(3, 4).item<float>() == 59 - 45 - 8);
}

BOOST_AUTO_TEST_CASE(data_stays_where_it_is) {
  const Tensor x = varied({100}).to(cuda);
  const float* const p = x.data<float>();
  BOOST_TEST(p == x.data<float>());
  BOOST_TEST(p[99] == x(99).item<float>());
  (x + 1).eval();
  BOOST_TEST(p[0] == x(0).item<float>());
}

BOOST_AUTO_TEST_CASE(every_dtype_there_and_back) {
  for (DType t : {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
                  float64}) {
    const Tensor h = astype(varied({37}, float64) * 3, t);
    const Tensor x = h.to(cuda);
    BOOST_TEST((bits(x) == bits(h)), name_of(t));
    BOOST_TEST((bits(x.to(cpu)) == bits(h)), name_of(t));
    BOOST_TEST(name_of(x.to(cpu).dtype()) == std::string(name_of(t)));
  }
}

// Sources are everywhere, but what a function makes of them must be where its operands are.
BOOST_AUTO_TEST_CASE(functions_of_tensors_that_are_not_on_the_default_device) {
  const OnCpu by_default;
  const Override ordered("LAZY_CUDA_SUMS", "ordered");
  const Tensor image = varied({1, 3, 8, 8}), matrix = varied({40, 40});
  const std::vector<std::function<Tensor(const Tensor& image, const Tensor& m)>> functions = {
      [](auto&, auto& m) { return tril(m); },
      [](auto&, auto& m) { return triu(m, 1); },
      [](auto&, auto& m) { return scaled_dot_product_attention(m, m, m, {}, true); },
      [](auto& x, auto&) { return max_pool(x, 2); },
      [](auto& x, auto&) { return avg_pool(x, 2, {.padding = 1}); },
      [](auto& x, auto& m) {
        return conv2d(x, m(slice(0, 3), slice(0, 27)).reshape({3, 3, 3, 3}), {.padding = {1}});
      },
      [](auto&, auto& m) { return argmax(m, 0); },
      [](auto&, auto& m) { return where(m > 0, m, 1) + ones_like(m); },
      [](auto&, auto& m) {
        return concat({m, zeros_like(m)}, 1);
      },
      [](auto&, auto& m) { return (arange(40, float32).to(m.device()) + 1) * m; },
  };
  for (size_t i = 0; i < functions.size(); ++i) {
    const Tensor there = functions[i](image.to(cuda), matrix.to(cuda));
    BOOST_TEST((there.device() == cuda), i);
    BOOST_TEST((bits(there) == bits(functions[i](image, matrix))), i);
  }
}

BOOST_AUTO_TEST_SUITE_END()
