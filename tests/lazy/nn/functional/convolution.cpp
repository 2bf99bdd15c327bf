// Compares convolution and pooling with the formulas, element by element.
#include <functional>
#include <random>

#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(convolution)

namespace {

struct Image {  // (N, C, S...), as doubles
  std::vector<int64_t> shape;
  std::vector<double> v;
  double& operator()(const std::vector<int64_t>& at) {
    size_t i = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      i = i * static_cast<size_t>(shape[d]) + static_cast<size_t>(at[d]);
    return v[i];
  }
};

Image image(std::vector<int64_t> shape) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  return {std::move(shape), std::vector<double>(n, 0)};
}

/// Calls f with every index of a box.
void each(const std::vector<int64_t>& extents, const std::function<void(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t d : extents)
    if (d == 0) return;
  for (;;) {
    f(at);
    size_t d = extents.size();
    while (d-- > 0) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
      if (d == 0) return;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

struct Case {
  int spatial;
  std::vector<int64_t> stride, padding, dilation, extra;
  int64_t groups;
};
using Index = std::vector<int64_t>;

Index join(Index a, const Index& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Index spatial_of(const Index& at) { return Index(at.begin() + 2, at.end()); }

/// Convolves with w (O, C / groups, K...).
Image convolved(Image x, Image w, const Case& c) {
  Index result{x.shape[0], w.shape[0]};
  for (int i = 0; i < c.spatial; ++i) {
    const auto d = static_cast<size_t>(i);
    result.push_back(
        (x.shape[d + 2] + 2 * c.padding[d] - c.dilation[d] * (w.shape[d + 2] - 1) - 1) / c.stride[d] + 1);
  }
  Image y = image(result);
  const int64_t per_group = w.shape[1], out_group = w.shape[0] / c.groups;
  each(result, [&](const Index& at) {
    double sum = 0;
    each(join({per_group}, spatial_of(w.shape)), [&](const Index& k) {
      Index from{at[0], at[1] / out_group * per_group + k[0]};
      for (size_t d = 0; d + 1 < k.size(); ++d) {
        const int64_t p = at[d + 2] * c.stride[d] + k[d + 1] * c.dilation[d] - c.padding[d];
        if (p < 0 || p >= x.shape[d + 2]) return;
        from.push_back(p);
      }
      sum += x(from) * w(join({at[1]}, k));
    });
    y(at) = sum;
  });
  return y;
}

/// Adds a window of w (C, O / groups, K...) for every input element.
Image scattered(Image x, Image w, const Case& c) {
  Index result{x.shape[0], w.shape[1] * c.groups};
  for (int i = 0; i < c.spatial; ++i) {
    const auto d = static_cast<size_t>(i);
    result.push_back((x.shape[d + 2] - 1) * c.stride[d] - 2 * c.padding[d] +
                     c.dilation[d] * (w.shape[d + 2] - 1) + c.extra[d] + 1);
  }
  Image y = image(result);
  each(x.shape, [&](const Index& at) {
    each(join({w.shape[1]}, spatial_of(w.shape)), [&](const Index& k) {
      Index to{at[0], at[1] / (x.shape[1] / c.groups) * w.shape[1] + k[0]};
      for (size_t d = 0; d + 1 < k.size(); ++d) {
        const int64_t p = at[d + 2] * c.stride[d] + k[d + 1] * c.dilation[d] - c.padding[d];
        if (p < 0 || p >= result[d + 2]) return;
        to.push_back(p);
      }
      y(to) += x(at) * w(join({at[1]}, k));
    });
  });
  return y;
}

Tensor of(const Image& x, DType t) { return astype(from_span(x.v, x.shape), t); }
Axes axes(const Index& v) { return Axes(Dims(std::span<const int64_t>(v))); }

/// Moves axes (N, C, S...) -> (N, S..., C); the next does the weights'.
Tensor last(const Tensor& x) { return moveaxis(x, 1, -1); }

std::mt19937_64 generator(const char* name) {
  const uint64_t seed = lazy::test::asked_seed();
  BOOST_TEST_MESSAGE(name << ": LAZY_TEST_SEED=" << seed);
  return std::mt19937_64(seed);
}

struct Maker {
  std::mt19937_64 r;
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(r() % static_cast<uint64_t>(high - low + 1));
  }
  Image filled(Index shape) {  // small integers: sums are exact in every dtype used
    Image x = image(std::move(shape));
    for (double& v : x.v) v = static_cast<double>(pick(-4, 4));
    return x;
  }
  Case options(int spatial) {
    Case c{spatial, {}, {}, {}, {}, 1};
    for (int i = 0; i < spatial; ++i) {
      c.stride.push_back(pick(1, 3));
      c.padding.push_back(pick(0, 2));
      c.dilation.push_back(pick(1, 2));
      c.extra.push_back(0);
    }
    return c;
  }
};

void agree(const Tensor& got, const Image& expected, DType t) {
  BOOST_TEST_REQUIRE(to_string(got.shape()) == to_string(Shape(std::span<const int64_t>(expected.shape))));
  BOOST_TEST(name_of(got.dtype()) == name_of(t));
  BOOST_TEST(got.to_vector<double>() == expected.v, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_convolutions) {
  Maker m{generator("random_convolutions")};
  constexpr DType types[] = {float32, float64, float32, int64, float16, bfloat16};
  for (int trial = 0; trial < 60; ++trial) {
    Case c = m.options(1 + static_cast<int>(m.pick(0, 2)));
    const DType t = types[m.pick(0, 5)];
    c.groups = m.pick(0, 2) ? 1 : m.pick(1, 4);
    const int64_t per_group = m.pick(0, 3) ? m.pick(1, t == bfloat16 ? 2 : 6) : 1,
                  out = m.pick(1, 4) * c.groups;
    Index xs{m.pick(1, 2), per_group * c.groups}, ws{out, per_group};
    for (int i = 0; i < c.spatial; ++i) {
      ws.push_back(m.pick(1, c.spatial == 3 ? 2 : 3));
      xs.push_back(m.pick(c.dilation[static_cast<size_t>(i)] * 2 + 1, c.spatial == 3 ? 6 : 12));
    }
    if (m.pick(0, 1)) xs.back() = m.pick(44, 70);  // rows that lanes run along
    const Image x = m.filled(xs), w = m.filled(ws), y = convolved(x, w, c);
    BOOST_TEST_CONTEXT("trial " << trial << " of " << name_of(t) << " " << to_string(of(x, t).shape())
                                << " with " << to_string(of(w, t).shape()) << " groups " << c.groups) {
      const ConvOptions o{axes(c.stride), axes(c.padding), axes(c.dilation), c.groups};
      ConvOptions l = o;
      l.layout = channels_last;
      agree(conv(of(x, t), of(w, t), o), y, t);
      const Tensor kernel = moveaxis(of(w, t), Axes{0, 1}, Axes{-1, -2});
      agree(moveaxis(conv(last(of(x, t)), kernel, l), -1, 1), y, t);
    }
  }
}

BOOST_AUTO_TEST_CASE(random_transposed_convolutions) {
  Maker m{generator("random_transposed_convolutions")};
  for (int trial = 0; trial < 40; ++trial) {
    Case c = m.options(1 + static_cast<int>(m.pick(0, 1)));
    c.groups = m.pick(0, 2) ? 1 : m.pick(1, 3);
    const int64_t in = m.pick(1, 3) * c.groups, out = m.pick(1, 3);
    Index xs{m.pick(1, 2), in}, ws{in, out};
    for (int i = 0; i < c.spatial; ++i) {
      const auto d = static_cast<size_t>(i);
      c.extra[d] = m.pick(0, std::max(c.stride[d], c.dilation[d]) - 1);
      ws.push_back(m.pick(1, 3));
      xs.push_back(m.pick(6, 9));
    }
    const Image x = m.filled(xs), w = m.filled(ws), y = scattered(x, w, c);
    BOOST_TEST_CONTEXT("trial " << trial) {
      ConvOptions o{axes(c.stride), axes(c.padding), axes(c.dilation), c.groups};
      o.output_padding = axes(c.extra);
      agree(conv_transpose(of(x, float32), of(w, float32), o), y, float32);
      o.layout = channels_last;
      const Tensor kernel = moveaxis(of(w, float32), Axes{0, 1}, Axes{-2, -1});
      agree(moveaxis(conv_transpose(last(of(x, float32)), kernel, o), -1, 1), y, float32);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_program_for_all_sizes) {
  const Tensor w = ones({4, 3, 3, 3});
  conv2d(ones({2, 3, 9, 9}), w, {.padding = 1}).eval();
  // Few windows, of several rows or all together, and many are multiplied in three ways of some kernels each.
  const uint64_t before = metrics().kernels_compiled;
  for (int64_t n = 10; n < 20; ++n) conv2d(ones({2, 3, n, n + 1}), w, {.padding = 1}).eval();
  BOOST_TEST(metrics().kernels_compiled <= before + 4);
  const uint64_t later = metrics().kernels_compiled;
  for (int64_t n = 20; n < 60; ++n) conv2d(ones({2, 3, n, n + 1}), w, {.padding = 1}).eval();
  BOOST_TEST(metrics().kernels_compiled <= later + 4);
}

BOOST_AUTO_TEST_CASE(every_way_to_multiply) {
  Maker m{generator("every_way_to_multiply")};
  struct Extents {
    int64_t batch, height, width, stride;
  };
  // Rows by themselves, several together, whole images, images together, and too few windows for either.
  for (const Extents e : {Extents{2, 5, 61, 1},
                          {1, 7, 97, 2},
                          {2, 30, 30, 1},
                          {1, 58, 34, 2},
                          {3, 17, 19, 1},
                          {2, 9, 9, 1},
                          {7, 6, 8, 2},
                          {1, 5, 6, 1}}) {
    for (const int64_t length : {1, 3}) {
      const Case c{2, {e.stride, e.stride}, {1, 1}, {1, 1}, {0, 0}, 1};
      const Image x = m.filled({e.batch, 5, e.height, e.width}), w = m.filled({9, 5, length, length}),
                  y = convolved(x, w, c);
      const ConvOptions o{axes(c.stride), axes(c.padding), axes(c.dilation), 1};
      BOOST_TEST_CONTEXT(to_string(of(x, float32).shape()) << " windows of " << length) {
        for (const DType t : {float32, float64, float16, int32}) agree(conv(of(x, t), of(w, t), o), y, t);
        // what follows is at the same index, and is read in another order
        const Tensor z = relu(conv(of(x, float32), of(w, float32), o));
        Image positive = y;
        for (double& v : positive.v) v = std::max(v, 0.0);
        agree(z, positive, float32);
        BOOST_TEST(
            sum(z, {0, 2, 3}).to_vector<float>() == sum(of(positive, float32), {0, 2, 3}).to_vector<float>(),
            boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_epilogue) {
  Maker m{generator("an_epilogue")};
  const Image x = m.filled({1, 5, 8, 7}), w = m.filled({6, 5, 3, 3});
  Image y = convolved(x, w, {2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1});
  const Tensor bias = arange(0, 6, 1, float32).reshape({6, 1, 1});
  each(y.shape, [&](const Index& at) { y(at) = std::max(0.0, y(at) + static_cast<double>(at[1])); });
  agree(relu(conv2d(of(x, float32), of(w, float32), {.padding = 1}) + bias), y, float32);
}

BOOST_AUTO_TEST_CASE(random_pools) {
  Maker m{generator("random_pools")};
  for (int trial = 0; trial < 60; ++trial) {
    Case c = m.options(1 + static_cast<int>(m.pick(0, 2)));
    Index shape{m.pick(1, 2), m.pick(1, 5)}, window, limit;
    const bool large = c.spatial == 2 && m.pick(0, 5) == 0;  // more elements than one expression holds
    for (int i = 0; i < c.spatial; ++i) {
      const auto d = static_cast<size_t>(i);
      window.push_back(large ? 9 : m.pick(1, 3));
      c.padding[d] = m.pick(0, ((window[d] - 1) * c.dilation[d] + 1) / 2);
      shape.push_back(m.pick((window[d] - 1) * c.dilation[d] + 1, large ? 22 : 12));
    }
    const Image x = m.filled(shape);
    Index result{shape[0], shape[1]};
    for (int i = 0; i < c.spatial; ++i) {
      const auto d = static_cast<size_t>(i);
      result.push_back((shape[d + 2] + 2 * c.padding[d] - c.dilation[d] * (window[d] - 1) - 1) / c.stride[d] +
                       1);
    }
    Image highest = image(result), mean = image(result), mean_inside = image(result);
    each(result, [&](const Index& at) {
      double top = -check::inf, sum = 0, n = 0, all = 0;
      each(window, [&](const Index& k) {
        ++all;
        Index from{at[0], at[1]};
        for (size_t d = 0; d < k.size(); ++d) {
          const int64_t p = at[d + 2] * c.stride[d] + k[d] * c.dilation[d] - c.padding[d];
          if (p < 0 || p >= shape[d + 2]) return;
          from.push_back(p);
        }
        Image copy{x.shape, {}};
        const double v = Image(x)(from);
        top = std::max(top, v), sum += v, ++n;
      });
      highest(at) = top, mean(at) = sum / all, mean_inside(at) = sum / n;
    });
    BOOST_TEST_CONTEXT("trial " << trial) {
      PoolOptions o{axes(c.stride), axes(c.padding), axes(c.dilation)};
      const auto both = [&](auto f, const Image& expected, const PoolOptions& options, DType t) {
        PoolOptions l = options;
        l.layout = channels_last;
        agree(f(of(x, t), axes(window), options), expected, t);
        agree(moveaxis(f(last(of(x, t)), axes(window), l), -1, 1), expected, t);
      };
      const auto highest_of = [](Arg a, Axes w, const PoolOptions& p) {
        return max_pool(std::move(a), w, p);
      };
      const auto mean_of = [](Arg a, Axes w, const PoolOptions& p) { return avg_pool(std::move(a), w, p); };
      both(highest_of, highest, o, float32);
      both(highest_of, highest, o, int8);
      both(mean_of, mean, o, float64);
      o.count_padding = false;
      both(mean_of, mean_inside, o, float64);
    }
  }
}

BOOST_AUTO_TEST_CASE(adaptive_pools) {
  Maker m{generator("adaptive_pools")};
  for (int trial = 0; trial < 20; ++trial) {
    const Index shape{2, 3, m.pick(1, 13), m.pick(1, 13)};
    const Index count{m.pick(1, 8), m.pick(1, 8)};
    Image x = m.filled(shape), top = image({2, 3, count[0], count[1]}),
          mean = image({2, 3, count[0], count[1]});
    each(top.shape, [&](const Index& at) {
      double best = -check::inf, sum = 0, n = 0;
      for (int64_t i = at[2] * shape[2] / count[0]; i < ((at[2] + 1) * shape[2] + count[0] - 1) / count[0];
           ++i)
        for (int64_t j = at[3] * shape[3] / count[1]; j < ((at[3] + 1) * shape[3] + count[1] - 1) / count[1];
             ++j) {
          const double v = x({at[0], at[1], i, j});
          best = std::max(best, v), sum += v, ++n;
        }
      top(at) = best, mean(at) = sum / n;
    });
    BOOST_TEST_CONTEXT("trial " << trial) {
      agree(adaptive_max_pool(of(x, float32), axes(count)), top, float32);
      agree(adaptive_max_pool(of(x, int32), axes(count)), top, int32);
      check::close(adaptive_avg_pool(of(x, float64), axes(count)), mean.v, 1e-14);
      check::close(moveaxis(adaptive_avg_pool(last(of(x, float64)), axes(count), channels_last), -1, 1),
                   mean.v, 1e-14);
    }
  }
}

// One kernel adds all elements of a window, in one order whatever the layout; a product for each channel took
// a hundred times as long.
BOOST_AUTO_TEST_CASE(large_windows_of_single_channels) {
  for (const DType t : {float32, float64, float16}) {
    const Tensor x = sin(arange(2 * 5 * 14 * 17).astype(float32)).reshape({2, 5, 14, 17}).astype(t).eval(),
                 w = cos(arange(5 * 9 * 11).astype(float32)).reshape({5, 1, 9, 11}).astype(t).eval();
    const Tensor last_x = x.permute({0, 2, 3, 1}).contiguous().eval(),
                 last_w = w.permute({2, 3, 1, 0}).contiguous().eval();
    const ConvOptions o{.padding = {4, 5}, .groups = 5};
    ConvOptions last = o;
    last.layout = channels_last;
    const Tensor y = conv2d(x, w, o).eval();
    reset_metrics();
    const Tensor beside = conv2d(last_x, last_w, last).eval();
    BOOST_TEST(metrics().launches <= 8u);  // with padding, and a body in parts
    BOOST_TEST(beside.permute({0, 3, 1, 2}).to_vector<double>() == y.to_vector<double>(),
               boost::test_tools::per_element());
    const Tensor exact = conv2d(x.astype(float64), w.astype(float64), o);
    const double most = t == float64 ? 1e-13 : t == float32 ? 1e-4 : 2e-2;
    BOOST_TEST(max(abs(y.astype(float64) - exact)).item<double>() <= most);
  }
}

// A window's elements are summed side by side or in one body, by number and layout: as a convolution of all
// channels has them, whose weights are 0 where channels differ.
BOOST_AUTO_TEST_CASE(weights_of_single_channels_have_the_gradients_of_dense_ones) {
  struct Case {
    Shape image, window;
    ConvOptions options;
    int64_t multiplier = 1;
  };
  const Case cases[] = {
      {{2, 5, 9, 11}, {3, 3}, {.padding = {1, 1}}},
      {{2, 5, 9, 11}, {3, 3}, {.stride = {2, 1}, .padding = {0, 2}, .dilation = {1, 2}}, 2},
      {{2, 3, 19, 17}, {9, 9}, {.padding = {4, 4}}},
      {{2, 3, 19, 17}, {9, 7}, {.stride = {2, 3}, .padding = {1, 4}}, 3},
      {{1, 17, 12, 12}, {11, 1}, {}},
      {{3, 4, 40}, {25}, {.padding = {12}}},
      {{3, 4, 40}, {5}, {.stride = {3}, .dilation = {2}}, 2},
      {{2, 3, 7, 6, 9}, {5, 3, 5}, {.padding = {2, 1, 2}}},
      {{2, 3, 7, 6, 9}, {2, 2, 2}, {.stride = {2, 1, 2}}, 2},
      {{1, 2, 3, 3}, {1, 1}, {}},
      {{0, 2, 3, 3}, {2, 2}, {}},
  };
  Generator generator(5);
  for (const DType t : {float64, float32})
    for (const ChannelLayout layout : {channels_first, channels_last})
      for (const Case& c : cases) {
        const int64_t channels = c.image[1], out = channels * c.multiplier;
        const int n = c.window.size();
        Shape one{out, 1};
        for (int i = 0; i < n; ++i) one.push_back(c.window[i]);
        Dims to_last{0}, back{n + 1, n};
        for (int i = 0; i < n; ++i) to_last.push_back(2 + i), back.push_back(i);
        to_last.push_back(1);
        Dims weights_last;
        for (int i = 0; i < n; ++i) weights_last.push_back(2 + i);
        weights_last.push_back(1), weights_last.push_back(0);
        const Tensor x = randn(generator, c.image, t), w = randn(generator, one, t);
        const Tensor same = floor_divide(arange(out), c.multiplier).reshape({out, 1}) == arange(channels);
        Shape mask{out, channels};
        for (int i = 0; i < n; ++i) mask.push_back(1);
        Tensor dense = (w * same.reshape(mask).astype(t)).eval();
        dense.requires_grad_();
        const Tensor expected_y = conv(x, dense, c.options);
        const Tensor g = randn(generator, expected_y.shape(), t);
        expected_y.backward(g);
        const Tensor expected = (dense.grad() * same.reshape(mask).astype(t)).sum({1}, keepdims).eval();

        ConvOptions o = c.options;
        o.groups = channels, o.layout = layout;
        const bool last = layout == channels_last;
        Tensor mine = last ? w.permute(Axes(weights_last)).contiguous().eval() : w.copy().eval();
        mine.requires_grad_();
        conv(last ? x.permute(Axes(to_last)).contiguous() : x, mine, o)
            .backward(last ? g.permute(Axes(to_last)).contiguous() : g);
        const Tensor got = last ? mine.grad().permute(Axes(back)) : mine.grad();
        BOOST_REQUIRE((got.shape() == expected.shape()));
        if (got.size() == 0) continue;
        const double most = max(abs(expected)).item<double>() + 1,
                     apart = max(abs(got - expected)).item<double>();
        BOOST_TEST(apart <= most * (t == float64 ? 1e-13 : 2e-5),
                   to_string(one) + (last ? " last " : " first ") + std::to_string(apart));
      }
}

BOOST_AUTO_TEST_CASE(windows_exist_in_blocks_only) {
  const config::Override threads("LAZY_NUM_THREADS", "1"), size("LAZY_BLOCK_BYTES", "100000");
  for (const ChannelLayout layout : {channels_first, channels_last}) {
    const Tensor x = layout == channels_first ? ones({1, 16, 66, 66}) : ones({1, 66, 66, 16});
    const Tensor w = layout == channels_first ? ones({8, 16, 3, 3}) : ones({3, 3, 16, 8});
    eval(x, w);
    reset_metrics();
    const uint64_t before = metrics().bytes_live;
    conv2d(x, w, {.layout = layout}).eval();
    constexpr uint64_t windows = 64 * 64 * 16 * 9 * 4;
    BOOST_TEST(metrics().bytes_peak - before < windows / 4);
  }
}

BOOST_AUTO_TEST_CASE(nan_wins_a_pool) {
  const Tensor x = tensor({{{1.0f, static_cast<float>(check::NaN), 3.0f, 4.0f}}});
  check::equal(max_pool(x, 2), float32, {1, 1, 2}, {check::NaN, 4});
}

BOOST_AUTO_TEST_CASE(wrong_calls) {
  const Tensor x = ones({1, 3, 8, 8}), w = ones({4, 3, 3, 3});
  THROWS(
      ShapeError, conv2d(x, ones({4, 2, 3, 3})),
      "conv2d: an image [1, 3, 8, 8] and weights [4, 2, 3, 3]: the image has 3 channels, the weights take 2");
  THROWS(ShapeError, conv1d(x, w), "conv1d: takes an image of 3 axes, not [1, 3, 8, 8]");
  THROWS(ShapeError, conv(x, ones({4, 3, 3})),
         "conv: an image [1, 3, 8, 8] and weights [4, 3, 3]: they differ in the number of axes");
  THROWS(
      ShapeError, conv2d(ones({1, 3, 2, 8}), w),
      "conv2d: a window that spans 3 does not fit spatial axis 0, which has 2 elements: padding adds some");
  THROWS(ShapeError, conv2d(x, w, {.stride = 0}), "conv2d: stride [0] is less than 1");
  THROWS(ShapeError, conv2d(x, w, {.stride = {1, 2, 3}}), "conv2d: stride [1, 2, 3] for 2 spatial axes");
  THROWS(DtypeError, conv2d(x > 0, w > 0), "conv2d: takes numbers, not bool: convert with astype");
  THROWS(ShapeError, max_pool(x, 2, {.padding = 2}),
         "max_pool: padding [2, 2] is more than half of window [2, 2]");
  THROWS(ShapeError, avg_pool(ones({3}), 2), "avg_pool: takes an image of 3 to 5 axes, not [3]");
  conv2d(x, w).eval();
}

BOOST_AUTO_TEST_SUITE_END()
