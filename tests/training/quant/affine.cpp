// Tests scales, zero points, integers and gradients of quantisation against torch's
// (tests/golden/make_quant.py), and integers of 4 bits.
#include "lazy/quant/affine.hpp"

#include <fstream>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/quant/quantize.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/common/golden_lines.hpp"

using namespace lazy;

namespace {

std::vector<std::vector<std::string>> lines_of(const std::string& what) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/quant.txt");
  std::vector<std::vector<std::string>> all;
  for (std::string line; std::getline(in, line);)
    if (auto f = golden::fields(line); f[0] == what) all.push_back(std::move(f));
  BOOST_REQUIRE(!all.empty());
  return all;
}

std::vector<float> floats(const std::string& text) {
  std::vector<float> all;
  for (const std::string& w : golden::words(text)) all.push_back(std::strtof(w.c_str(), nullptr));
  return all;
}

Shape shape_of(const std::string& text) {
  Shape s;
  for (const std::string& w : golden::words(text)) s.push_back(std::stoll(w));
  return s;
}

Tensor tensor_of(const std::string& values, const Shape& shape) {
  const std::vector<float> all = floats(values);
  return from_span(std::span(all)).reshape(shape).eval();
}
Tensor numbers_of(const std::string& values) { return tensor_of(values, {-1}); }

quant::Scheme scheme_of(int bits, bool is_signed, bool symmetric, quant::Granularity g) {
  return {.bits = bits, .is_signed = is_signed, .symmetric = symmetric, .granularity = g};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quant_affine)

BOOST_AUTO_TEST_CASE(scales_are_torchs) {
  for (const auto& f : lines_of("affine")) BOOST_TEST_CONTEXT(f[1] << " " << f[2]) {
      const auto how = golden::words(f[1]);
      const bool channel = how[3] == "channel";
      const quant::Scheme s = scheme_of(8, how[1] == "1", how[2] == "1",
                                        channel ? quant::Granularity::channel : quant::Granularity::tensor);
      const quant::Affine a = quant::affine_of(tensor_of(f[3], shape_of(f[2])), s);
      const std::vector<float> expected = floats(f[4]), got = a.scale.reshape({-1}).to_vector<float>();
      BOOST_REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i)
        BOOST_TEST(std::abs(got[i] - expected[i]) <= 2e-7f * expected[i]);  // a rounding apart
      const std::vector<float> zeros = floats(f[5]);
      const std::vector<int64_t> own = s.symmetric
                                           ? std::vector<int64_t>(zeros.size(), s.middle())
                                           : a.zero_point.astype(int64).reshape({-1}).to_vector<int64_t>();
      for (size_t i = 0; i < zeros.size(); ++i) BOOST_TEST(own[i] == static_cast<int64_t>(zeros[i]));
    }
}

BOOST_AUTO_TEST_CASE(fake_quantisation_is_torchs) {
  for (const auto& f : lines_of("fake")) BOOST_TEST_CONTEXT(f[1] << " " << f[2]) {
      const auto how = golden::words(f[1]);
      const quant::Scheme s = scheme_of(std::stoi(how[0]), how[1] == "1", false, quant::Granularity::channel);
      const Shape shape = shape_of(f[2]);
      Tensor x = tensor_of(f[3], shape);
      x.requires_grad_();
      const quant::Affine a{numbers_of(f[4]), numbers_of(f[5]).astype(s.dtype())};
      const Tensor y = quant::fake_quantize(x, a, s);
      sum(y).backward();
      const auto got = y.to_vector<float>(), g = x.grad().to_vector<float>(), expected = floats(f[6]);
      for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i] == expected[i]);
      BOOST_TEST(g == floats(f[7]), boost::test_tools::per_element());
      // The same integers as quantize() and back.
      const Tensor q = quant::quantize(x.detach(), a, s);
      BOOST_TEST((q.dtype() == s.dtype() && q.shape() == shape));
      BOOST_TEST(quant::dequantize(q, a, s).to_vector<float>() == got, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(learned_steps_have_torchs_gradients) {
  for (const auto& f : lines_of("learned")) BOOST_TEST_CONTEXT(f[1] << " " << f[2]) {
      const auto how = golden::words(f[1]);
      const bool channel = how[2] == "channel";
      const quant::Scheme s = scheme_of(std::stoi(how[0]), how[1] == "1", true,
                                        channel ? quant::Granularity::channel : quant::Granularity::tensor);
      const Shape shape = shape_of(f[2]);
      Tensor x = tensor_of(f[3], shape), scale = channel ? numbers_of(f[5]) : numbers_of(f[5]).reshape({});
      x.requires_grad_();
      scale.requires_grad_();
      const Tensor y = quant::fake_quantize_learned(x, scale, s, std::strtod(f[6].c_str(), nullptr));
      sum(y * tensor_of(f[4], shape)).backward();
      const auto near = [](const Tensor& got, const std::string& expected) {
        const auto a = got.to_vector<float>(), b = floats(expected);
        BOOST_REQUIRE(a.size() == b.size());
        for (size_t i = 0; i < a.size(); ++i)
          BOOST_TEST(std::abs(a[i] - b[i]) <= 2e-5f * (1 + std::abs(b[i])));
      };
      near(y, f[7]);
      near(x.grad(), f[8]);
      near(scale.grad(), f[9]);
    }
  // A group's scale has the gradient that it has where it is a channel's.
  const quant::Scheme by_group{.bits = 4, .granularity = quant::Granularity::group, .group = 32};
  const quant::Scheme by_channel{.bits = 4};
  Generator g(4);
  Tensor x = randn(g, {3, 64}), scale = rand(g, {3, 2}) * 0.2 + 0.05, rows = x.reshape({6, 32}).eval(),
         flat = scale.reshape({6}).eval();
  const Tensor dy = randn(g, {3, 64});
  for (Tensor* t : {&x, &scale, &rows, &flat}) t->requires_grad_();
  sum(quant::fake_quantize_learned(x, scale, by_group, 1) * dy).backward();
  sum(quant::fake_quantize_learned(rows, flat, by_channel, 1) * dy.reshape({6, 32})).backward();
  BOOST_TEST(scale.grad().to_vector<float>() == flat.grad().to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(x.grad().to_vector<float>() == rows.grad().to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(groups) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  for (const int64_t k : {1, 31, 32, 33, 100, 256})
    for (const int64_t group : {32, 64, 128}) {
      const quant::Scheme how{.bits = 4,
                              .is_signed = false,
                              .symmetric = false,
                              .granularity = quant::Granularity::group,
                              .group = group};
      const Tensor x = randn(g, {3, k});
      const quant::Affine a = quant::affine_of(x, how);
      const int64_t groups = (k + group - 1) / group;
      BOOST_TEST((a.scale.shape() == Shape{3, groups}));
      const Tensor q = quant::quantize(x, a, how);
      BOOST_TEST((q.shape() == Shape{3, groups * group}));
      BOOST_TEST(max(q).item<uint8_t>() <= 15);
      // No number is further off than half a step.
      const Tensor back = quant::dequantize(q, a, how)(_, slice(0, k));
      const Tensor steps = broadcast_to(a.scale.reshape({3, groups, 1}), {3, groups, group}).reshape({3, -1});
      BOOST_TEST(all(abs(back - x) <= steps(_, slice(0, k)) * 0.5001f).item<bool>());
      const Tensor packed = quant::pack_4(q);
      BOOST_TEST((packed.shape() == Shape{3, groups * group / 2}));
      BOOST_TEST(all(quant::unpack_4(packed) == q).item<bool>());
      BOOST_TEST((quant::fake_quantize(x, a, how).shape() == x.shape()));
      BOOST_TEST(all(quant::fake_quantize(x, a, how) == back).item<bool>());
    }
  // The order is that of GGML's Q4_0: the lower half of byte i of a block is element i, the upper one element
  // 16 + i.
  const Tensor q = (arange(0, 32, 1, int64) % 16).astype(uint8).reshape({1, 32}), p = quant::pack_4(q);
  BOOST_TEST(p.to_vector<uint8_t>()[3] == (3 | 3 << 4));
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const Tensor x = ones({3, 4}), cube = ones({2, 3, 4}), none = ones({0, 4});
  const quant::Scheme channel, groups{.granularity = quant::Granularity::group};
  const quant::Affine of_four{ones({4}), {}};
  test::fails_at<Error>("affine.cpp", __LINE__, "9 bits", [&] { quant::affine_of(x, {.bits = 9}); });
  test::fails_at<ShapeError>("affine.cpp", __LINE__, "no numbers", [&] { quant::affine_of(none, channel); });
  test::fails_at<ShapeError>("affine.cpp", __LINE__, "matrix", [&] { quant::affine_of(cube, groups); });
  const auto three = [&] { quant::quantize(x, of_four, channel); };
  const int line_of_three = __LINE__ - 1;
  test::fails_at<ShapeError>("affine.cpp", line_of_three, "[3] are", three);
  test::fails_at<ShapeError>("affine.cpp", __LINE__, "multiple of 32", [&] { quant::pack_4(x); });
}

BOOST_AUTO_TEST_SUITE_END()
