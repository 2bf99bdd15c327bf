// Tests images in channels-last memory: who carries the format on, that values and gradients are those of
// row-major memory, and what is said of it.
#include <functional>
#include <random>

#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"
#include "tests/common/fails_at.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(memory_format)

namespace {

Tensor image(const Shape& shape, float factor = 1) {
  return (cos(arange(1, numel(shape) + 1, 1, float32) * 0.37f) * factor).reshape(shape).copy().eval();
}
Tensor last(const Tensor& t) { return t.to_memory_format(channels_last); }
bool lies_last(const Tensor& t) {
  return t.ndim() >= 3 && t.is_contiguous(channels_last) && !t.is_contiguous();
}
std::vector<double> values(const Tensor& t) { return t.astype(float64).to_vector<double>(); }

/// Checks that two tensors are equal but for the order of sums.
void close(const Tensor& a, const Tensor& b, const std::string& what) {
  BOOST_TEST_CONTEXT(what) {
    BOOST_REQUIRE(a.shape() == b.shape());
    const auto x = values(a), y = values(b);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))))
        worst = std::max(worst, std::abs(x[i] - y[i]) / (1 + std::abs(y[i])));
    BOOST_TEST(worst < 2e-5);
  }
}

struct Function {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  bool carries;
};

/// Lists functions of an image (2, 6, 5, 7), and whether they carry the format on.
std::vector<Function> functions() {
  const Tensor w = image({8, 6, 3, 3}, 0.2f), depthwise = image({6, 1, 3, 3}, 0.3f),
               up = image({6, 4, 2, 2}, 0.3f), grouped = image({4, 3, 3, 3}), bias = image({8}),
               c = image({6}), scale = image({6, 1, 1}), v = abs(image({6})) + 0.5f,
               other = image({2, 6, 5, 7});
  return {
      {"relu", [](const Tensor& x) { return relu(x); }, true},
      {"x * x + 1", [](const Tensor& x) { return x * x + 1; }, true},
      {"scaled by channel", [=](const Tensor& x) { return x * scale; }, true},
      {"with a row-major image", [=](const Tensor& x) { return other - x; }, true},
      {"where", [=](const Tensor& x) { return where(x > 0, x, other); }, true},
      {"fma", [=](const Tensor& x) { return fma(x, other, scale); }, true},
      {"astype", [](const Tensor& x) { return x.astype(float64); }, true},
      {"gelu", [](const Tensor& x) { return gelu(x); }, true},
      {"conv2d", [=](const Tensor& x) { return conv2d(x, w, {.padding = 1, .bias = bias}); }, true},
      {"conv2d, stride and dilation",
       [=](const Tensor& x) {
         return conv2d(x, w, {.stride = {2, 1}, .padding = {2, 1}, .dilation = {1, 2}});
       },
       true},
      {"conv2d, same_padding", [=](const Tensor& x) { return conv2d(x, w, {.padding = same_padding}); },
       true},
      {"conv2d, reflected",
       [=](const Tensor& x) { return conv2d(x, w, {.padding = 1, .padding_mode = PadMode::reflect}); }, true},
      {"conv2d, depthwise",
       [=](const Tensor& x) { return conv2d(x, depthwise, {.padding = 1, .groups = 6}); }, true},
      {"conv2d, groups", [=](const Tensor& x) { return conv2d(x, grouped, {.groups = 2}); }, true},
      {"conv_transpose", [=](const Tensor& x) { return conv_transpose(x, up, {.stride = 2}); }, true},
      {"max_pool",
       [](const Tensor& x) {
         return max_pool(x, {3, 2}, {.stride = 2, .padding = 1});
       },
       true},
      {"max_pool_with_indices",
       [](const Tensor& x) {
         const auto r = max_pool_with_indices(x, 2);
         return r.values + r.indices.astype(float32);
       },
       true},
      {"avg_pool", [](const Tensor& x) { return avg_pool(x, 2, {.padding = 1, .count_padding = false}); },
       true},
      {"lp_pool", [](const Tensor& x) { return lp_pool(abs(x), 2, 2); }, true},
      {"adaptive_avg_pool",
       [](const Tensor& x) {
         return adaptive_avg_pool(x, {3, 2});
       },
       true},
      {"adaptive_max_pool",
       [](const Tensor& x) {
         return adaptive_max_pool(x, {2, 3});
       },
       true},
      {"adaptive_max_pool_with_indices",
       [](const Tensor& x) {
         return adaptive_max_pool_with_indices(x, {2, 3}).values;
       },
       true},
      {"batch_norm", [=](const Tensor& x) { return batch_norm(x, c, v, v, c); }, true},
      {"batch_norm_training",
       [=](const Tensor& x) { return batch_norm_training(x, {}, {}, {.weight = v, .bias = c}).output; },
       true},
      {"group_norm", [=](const Tensor& x) { return group_norm(x, 3, v, c); }, true},
      {"instance_norm", [=](const Tensor& x) { return instance_norm(x, v, c); }, true},
      {"interpolate, nearest",
       [](const Tensor& x) {
         return interpolate(x, {.size = {7, 9}});
       },
       true},
      {"interpolate, linear",
       [](const Tensor& x) {
         return interpolate(x, {.scale_factor = {2.0}, .mode = Interpolation::bilinear});
       },
       true},
      {"interpolate, area",
       [](const Tensor& x) {
         return interpolate(x, {.size = {3, 3}, .mode = Interpolation::area});
       },
       true},
      {"pad",
       [](const Tensor& x) {
         return pad(x, {1, 2, 0, 1, 2, 0}, PadMode::constant, 2);
       },
       true},
      {"pad, mirrored",
       [](const Tensor& x) {
         return pad(x, {1, 2, 2, 1}, PadMode::reflect);
       },
       true},
      {"concat",
       [](const Tensor& x) {
         return concat({x, relu(x)}, 1);
       },
       true},
      {"concat of rows",
       [](const Tensor& x) {
         return concat({x, x * 2}, 2);
       },
       true},
      {"a slice and more", [](const Tensor& x) { return x(_, slice(1, 5), slice(0, 4, 2)) + 1; }, true},
      // What is left between paddings is a part of an image.
      {"conv_transpose, padding",
       [=](const Tensor& x) {
         return conv_transpose(x, up, {.stride = 2, .padding = 1, .output_padding = {1, 0}}) + 1;
       },
       true},
      {"softmax", [](const Tensor& x) { return softmax(x, 1); }, true},
      {"mean",
       [](const Tensor& x) {
         return mean(x, {2, 3});
       },
       false},
      {"mean of columns", [](const Tensor& x) { return mean(x, {2}, keepdims) * 2; }, true},
      {"max of rows", [](const Tensor& x) { return max(x, {3}, keepdims); }, true},
      {"argmin of columns", [](const Tensor& x) { return argmin(x, {2}, keepdims); }, true},
      {"sum of columns, dropped", [](const Tensor& x) { return sum(x, {2}); }, false},
      {"variance of pixels",
       [](const Tensor& x) {
         return var(x, {2, 3});
       },
       false},
      {"sum of channels", [](const Tensor& x) { return sum(x, {1}); }, false},
      {"reshape",
       [](const Tensor& x) {
         return x.reshape({2, 210}) * 2;
       },
       false},
      {"permute",
       [](const Tensor& x) {
         return x.permute({1, 0, 3, 2}) * 2;
       },
       false},
      {"matmul", [](const Tensor& x) { return matmul(x, x.mT()); }, false},
      {"concat with a row-major image",
       [=](const Tensor& x) {
         return concat({x, other}, 1);
       },
       false},
      {"contiguous", [](const Tensor& x) { return x.contiguous(); }, false},
      {"flip", [](const Tensor& x) { return flip(x, {3}); }, false},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 1); }, false},
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_a_tensor) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{2, 3, 4}, Shape{1, 4, 2, 3, 5}, Shape{3, 2, 1, 6}}) {
    const Tensor x = image(shape), y = last(x);
    for (const bool computed : {false, true}) {
      if (computed) y.eval();
      BOOST_TEST(y.is_contiguous(channels_last));
      BOOST_TEST(!y.is_contiguous());
      BOOST_TEST(x.is_contiguous());
      BOOST_TEST(!x.is_contiguous(channels_last));
    }
    BOOST_TEST(values(y) == values(x), boost::test_tools::per_element());
    const Tensor back = y.contiguous();
    BOOST_TEST(back.is_contiguous());
    BOOST_TEST(values(back.eval()) == values(x), boost::test_tools::per_element());
    BOOST_TEST(back.is_contiguous());
    // It is a view of the other order, which shares its memory.
    const Tensor moved = y.permute(shape.size() == 4   ? Axes{0, 2, 3, 1}
                                   : shape.size() == 3 ? Axes{0, 2, 1}
                                                       : Axes{0, 2, 3, 4, 1});
    BOOST_TEST(moved.is_contiguous());
    BOOST_TEST(y.copy().is_contiguous(channels_last));
    BOOST_TEST(y.detach().is_contiguous(channels_last));
    BOOST_TEST(last(y).handle().get() == y.handle().get());
  }
}

BOOST_AUTO_TEST_CASE(orders_that_are_one) {
  // One channel, or one element in each channel, lies in both orders.
  for (const Shape& shape : {Shape{2, 1, 5, 7}, Shape{2, 6, 1, 1}, Shape{0, 3, 2, 2}, Shape{1, 1, 1, 1}}) {
    const Tensor x = image(shape);
    BOOST_TEST(x.is_contiguous(channels_last));
    BOOST_TEST(last(x).eval().is_contiguous());
    BOOST_TEST(last(x).is_contiguous(channels_last));
  }
  const Tensor all_ones = ones({2, 3, 4, 5});  // lies nowhere
  BOOST_TEST(values(last(all_ones) + 1) == values(all_ones + 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_table_carries_it_on) {
  const Tensor x = image({2, 6, 5, 7}), y = last(x).eval();
  for (const Function& f : functions()) {
    const Tensor expected = f.f(x), got = f.f(y), at_once = f.f(last(x));
    BOOST_TEST_CONTEXT(f.name) {
      BOOST_TEST(lies_last(got) == f.carries);
      BOOST_TEST(!lies_last(expected));
    }
    close(got, expected, f.name);
    close(at_once, expected, std::string(f.name) + ", at once");
    BOOST_TEST_CONTEXT(f.name) { BOOST_TEST(lies_last(got.eval()) == f.carries); }
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_the_same_and_go_the_same_way) {
  for (const Function& f : functions()) {
    const auto gradient = [&](const Tensor& at) {
      return grad([&](const Tensor& x) { return sum(square(f.f(x)) * 0.5f + f.f(x)); })(at);
    };
    const Tensor x = image({2, 6, 5, 7});
    close(gradient(last(x).eval()), gradient(x), f.name);
  }
  const Tensor x = last(image({2, 6, 5, 7})).eval(), w = image({8, 6, 3, 3});
  const Tensor g = grad([&](const Tensor& v) { return sum(relu(conv2d(v, w, {.padding = 1}))); })(x);
  BOOST_TEST(g.is_contiguous(channels_last));
}

BOOST_AUTO_TEST_CASE(weights_bring_it_in) {
  const Tensor x = image({2, 6, 5, 7}), w = image({8, 6, 3, 3});
  const Tensor y = conv2d(x, last(w), {.padding = 1});
  BOOST_TEST(y.is_contiguous(channels_last));
  close(y, conv2d(x, w, {.padding = 1}), "conv2d");
  const Tensor v = image({2, 4, 3, 4, 5}), u = image({3, 4, 2, 2, 2});
  const Tensor z = conv3d(last(v), u);
  BOOST_TEST(z.is_contiguous(channels_last));
  close(z, conv3d(v, u), "conv3d");
  const Tensor r = image({2, 4, 9}), k = image({3, 4, 2});
  close(conv1d(last(r), k), conv1d(r, k), "conv1d");
}

/// Draws chains of functions that keep an image's extents, which begin in either format.
BOOST_AUTO_TEST_CASE(random_chains) {
  const uint64_t seed = test::asked_seed();
  std::mt19937_64 random(seed);
  const Tensor w = image({6, 6, 3, 3}, 0.1f), c = image({6}), v = abs(image({6})) + 0.5f;
  for (int round = 0; round < 30; ++round) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 3), h = 1 + static_cast<int64_t>(random() % 9),
                  b = 1 + static_cast<int64_t>(random() % 9);
    const Tensor x = image({n, 6, h, b});
    Tensor p = x, q = last(x);
    std::string what = "seed " + std::to_string(seed) + ", round " + std::to_string(round);
    for (int step = 0; step < 6; ++step) {
      const uint64_t kind = random() % 8;
      const auto next = [&](const Tensor& t, const Tensor& given) {
        switch (kind) {
          case 0: return conv2d(t, w, {.padding = 1});
          case 1: return relu(t) + given;
          case 2: return max_pool(t, 3, {.stride = 1, .padding = 1});
          case 3: return batch_norm(t, c, v, v, c);
          case 4: return tanh(t) * mean(t, {2, 3}, keepdims);
          case 5: return group_norm(t + given, 2, v, c);
          case 6: return concat({t(_, slice(0, 2)), t(_, slice(2, 6))}, 1);
          default: return where(t > 0, t, given * 0.1f);
        }
      };
      p = next(p, x), q = next(q, x);
      if (random() % 4 == 0) q.eval();
      what += ' ' + std::to_string(kind);
    }
    close(q, p, what);
  }
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const Tensor x = last(image({2, 6, 5, 7})), w = image({8, 5, 3, 3});
  // The shapes are those that the user sees.
  test::fails_at<ShapeError>("memory_format.cpp", __LINE__, "[2, 6, 5, 7]", [&] { (void)conv2d(x, w); });
  const Tensor other = image({2, 6, 5, 6}), table = image({2, 6}), row = image({6});
  test::fails_at<ShapeError>("memory_format.cpp", __LINE__, "[2, 6, 5, 7]", [&] { (void)(x + other); });
  const auto to_last = [](const Tensor& t) { (void)t.to_memory_format(channels_last); };
  const int line_of_to_last = __LINE__ - 1;
  test::fails_at<ShapeError>("memory_format.cpp", line_of_to_last, "3 to 5 axes", [&] { to_last(table); });
  const auto asks = [](const Tensor& t) { (void)t.is_contiguous(channels_last); };
  const int line_of_asks = __LINE__ - 1;
  test::fails_at<ShapeError>("memory_format.cpp", line_of_asks, "3 to 5 axes", [&] { asks(row); });
}

BOOST_AUTO_TEST_SUITE_END()
