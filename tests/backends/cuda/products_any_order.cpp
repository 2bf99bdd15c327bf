// Tests products of 16-bit floats by tensor cores, on the emulated device or a GPU: sums in an order of their
// own, so they are compared with float64 within the terms' sizes. LAZY_TEST_SEED and LAZY_TEST_CASES.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/backends/cuda/on_gpu.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Disables the library, so that our kernels run.
struct WithoutLibrary : OnGpu {
  const Override blas{"LAZY_CUDA_BLAS", "off"}, sums{"LAZY_CUDA_SUMS", "any"};
};

/// Checks how far `made`, a product of a and b, is from that in float64: of `steps` terms each sum rounds, by
/// tensor cores perhaps towards zero and with a bit less than float32 has; then the result is rounded to its
/// type.
void check(const Tensor& made, const Tensor& a, const Tensor& b, const std::string& what) {
  const auto got = made.to_vector<double>();
  const OnCpu host;
  const Tensor x = astype(a, float64), y = astype(b, float64);
  const auto exact = matmul(x, y).to_vector<double>(), sizes = matmul(abs(x), abs(y)).to_vector<double>();
  const double steps = static_cast<double>(a.shape().back()) + 2;
  const double rounding = made.dtype() == float16 ? 0x1p-11 : made.dtype() == bfloat16 ? 0x1p-8 : 0;
  BOOST_REQUIRE(got.size() == exact.size());
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = sizes[i] * steps * 0x1p-22 + std::fabs(exact[i]) * rounding + 0x1p-24;
    if (std::fabs(got[i] - exact[i]) <= bound) continue;
    if (++wrong <= 3) BOOST_ERROR(what << ": element " << i << " is " << got[i] << ", not " << exact[i]);
  }
  BOOST_TEST(wrong == 0u, what);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(any_order, WithoutLibrary)

BOOST_AUTO_TEST_CASE(edges_of_tiles) {
  const int64_t edges[] = {1, 7, 127, 128, 129, 200};
  for (int i = 0; i < 18; ++i) {
    const int64_t m = edges[i % 6], n = edges[(i + i / 6) % 6], k = edges[(i * 5 + 1 + i / 6) % 6];
    const DType t = i % 2 ? float16 : bfloat16;
    const Tensor a = varied({m, k}, t), b = varied({k, n}, t, 3);
    const std::string what = std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n);
    check(matmul(a.to(cuda), b.to(cuda), float32), a, b, what);
    check(matmul(a.to(cuda), b.to(cuda)), a, b, what + ", rounded");
  }
}

/// There are as many large tiles as the emulated device has multiprocessors, or more.
BOOST_AUTO_TEST_CASE(large_tiles) {
  for (int i = 0; i < 4; ++i) {
    const bool left = i % 2 != 0, right = i / 2 != 0;
    const Tensor a = varied(left ? Shape{72, 248} : Shape{248, 72}, bfloat16).to(cuda),
                 b = varied(right ? Shape{520, 72} : Shape{72, 520}, bfloat16, 3).to(cuda);
    const Tensor x = left ? a.T() : a, y = right ? b.T() : b;
    check(matmul(x, y, float32), x.to(cpu), y.to(cpu),
          std::string(left ? "T" : "") + " x " + (right ? "T" : ""));
  }
}

BOOST_AUTO_TEST_CASE(random_shapes_and_layouts) {
  const uint64_t first = asked_seed(), count = asked_cases(12);
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << first << " LAZY_TEST_CASES=" << count);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    const bool even = up_to(2) != 0;
    const auto size = [&] { return even ? 8 * (1 + up_to(20)) : 1 + up_to(160); };
    const int64_t m = size(), k = size(), n = size(), batch = 1 + up_to(3);
    const DType t = up_to(2) ? float16 : bfloat16;
    // Makes a side of these many lines and steps: packed either way, from a larger one, in batches or one for
    // all.
    const auto side = [&](int64_t lines, int64_t steps, uint32_t salt) {
      const bool turned = up_to(2) != 0, cut = up_to(3) == 0, all = up_to(3) == 0;
      const int64_t from = even ? 8 : 1 + up_to(3);
      Shape shape = {all ? 1 : batch, lines, steps};
      if (turned) std::swap(shape[1], shape[2]);
      if (cut) shape[1] += from, shape[2] += from;
      const Tensor whole = varied(shape, t, static_cast<uint32_t>(seed) * 2 + salt).to(cuda);
      const Tensor part = cut ? whole(_, slice(from, none), slice(from, none)) : whole;
      return turned ? part.mT() : part;
    };
    const Tensor a = side(m, k, 0), b = side(n, k, 1).mT();
    const std::string what = "LAZY_TEST_SEED=" + std::to_string(seed) +
                             " LAZY_TEST_CASES=1: " + std::to_string(m) + " x " + std::to_string(k) + " x " +
                             std::to_string(n);
    check(matmul(a, b, float32), a.to(cpu), b.to(cpu), what);
  }
}

BOOST_AUTO_TEST_CASE(epilogues) {
  const Tensor a = varied({130, 72}, bfloat16), b = varied({72, 136}, bfloat16, 3),
               bias = varied({136}, bfloat16, 5), residual = varied({130, 136}, bfloat16, 7);
  const auto layer = [](const Tensor& x, const Tensor& w, const Tensor& c, const Tensor& r) {
    const Tensor h = matmul(x, w, float32) + astype(c, float32);
    const Tensor g = h * 0.5f * (1 + tanh(0.79f * (h + 0.044f * h * h * h))), s = astype(g, bfloat16) + r;
    eval(g, s);
    return std::pair{g.to_vector<double>(), s.to_vector<double>()};
  };
  const auto [g, s] = layer(a.to(cuda), b.to(cuda), bias.to(cuda), residual.to(cuda));
  const OnCpu host;
  const auto [host_g, host_s] = layer(a, b, bias, residual);
  for (size_t i = 0; i < g.size(); ++i) {
    BOOST_REQUIRE(std::fabs(g[i] - host_g[i]) <= 1e-3 * (1 + std::fabs(host_g[i])));
    BOOST_REQUIRE(std::fabs(s[i] - host_s[i]) <= 0x1p-6 * (1 + std::fabs(host_s[i])));
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_stays_so) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> left(70 * 65, 1), right(65 * 80, 1);
  left[3 * 65 + 64] = nan;    // row 3
  left[5 * 65 + 2] = inf;     // row 5
  right[2 * 80 + 7] = -1;     // with row 5's: -inf in column 7
  right[64 * 80 + 79] = inf;  // column 79
  left[9 * 65 + 64] = 0;      // 0 * inf
  set_default_device(cpu);
  const Tensor a = astype(from_span(left, {70, 65}), bfloat16),
               b = astype(from_span(right, {65, 80}), bfloat16);
  const auto wanted = matmul(a, b, float32).to_vector<double>();
  set_default_device(cuda);
  const auto got = matmul(a.to(cuda), b.to(cuda), float32).to_vector<double>();
  BOOST_TEST((std::isnan(got[3 * 80]) && got[5 * 80] == inf && got[5 * 80 + 7] == -inf));
  BOOST_TEST((got[79] == inf && std::isnan(got[9 * 80 + 79])));
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST((got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i])), i);
}

BOOST_AUTO_TEST_CASE(ordered_sums_are_the_cpus) {
  const Override ordered("LAZY_CUDA_SUMS", "ordered");
  const Tensor a = varied({128, 100}, float16), b = varied({100, 136}, float16, 3);
  const auto got = bits(matmul(a.to(cuda), b.to(cuda), float32));
  const OnCpu host;
  BOOST_TEST((got == bits(matmul(a, b, float32))));
}

BOOST_AUTO_TEST_SUITE_END()
