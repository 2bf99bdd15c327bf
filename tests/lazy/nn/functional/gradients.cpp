// Compares the derivatives of layers over images with differences, to the second order, with all their
// options.
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::random_values;
using check::two_orders;
using List = const std::vector<Tensor>&;

namespace {

/// Describes a convolution: shapes of the image and the weights, channels first, and options.
struct Case {
  const char* name;
  Shape x, w;
  ConvOptions o;
};

/// Returns a shape (A, B, S...) as it is with its channels last: (A, S..., B).
Shape channels_behind(const Shape& s) {
  Shape r{s[0]};
  for (int i = 2; i < s.size(); ++i) r.push_back(s[i]);
  r.push_back(s[1]);
  return r;
}
/// Returns weights (A, B, K...) as (K..., B, A), or with `transposed` as (K..., A, B).
Shape kernel_in_front(const Shape& s, bool transposed) {
  Shape r;
  for (int i = 2; i < s.size(); ++i) r.push_back(s[i]);
  r.push_back(s[transposed ? 0 : 1]), r.push_back(s[transposed ? 1 : 0]);
  return r;
}

void compare(const Case& c, bool transposed, int64_t results) {
  std::mt19937 g(3);
  for (const ChannelLayout layout : {channels_first, channels_last}) {
    ConvOptions o = c.o;
    o.layout = layout;
    const bool last = layout == channels_last;
    const Tensor x = random_values(g, last ? channels_behind(c.x) : c.x, -1, 1),
                 w = random_values(g, last ? kernel_in_front(c.w, transposed) : c.w, -1, 1),
                 b = random_values(g, {results}, -1, 1);
    const std::string name = std::string(c.name) + (last ? ", channels last" : "");
    two_orders(
        name.c_str(),
        [&](List v) {
          o.bias = v[2];
          return transposed ? conv_transpose(v[0], v[1], o) : conv(v[0], v[1], o);
        },
        {x, w, b}, 1e-7);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layer_gradients)

BOOST_AUTO_TEST_CASE(convolutions) {
  const Case all[] = {
      {"1-d", {2, 2, 6}, {3, 2, 3}, {}},
      {"one element", {1, 2, 3, 2}, {2, 2, 1, 1}, {}},
      {"padded", {1, 2, 4, 3}, {2, 2, 3, 2}, {.padding = {1, 1}}},
      {"padded by more than a window reaches", {1, 1, 3}, {1, 1, 2}, {.padding = 3}},
      {"two apart", {1, 2, 5, 4}, {2, 2, 3, 3}, {.stride = 2, .padding = 1}},
      {"three and two apart, the last elements unread", {1, 1, 7, 6}, {1, 1, 2, 3}, {.stride = {3, 2}}},
      {"windows side by side", {1, 2, 4, 7}, {2, 2, 2, 3}, {.stride = {2, 3}}},
      {"windows with gaps between", {1, 1, 8}, {2, 1, 2}, {.stride = 3, .padding = 1}},
      {"dilated", {1, 1, 6, 5}, {1, 1, 2, 3}, {.padding = 1, .dilation = 2}},
      {"dilated, as far apart", {1, 1, 9}, {2, 1, 3}, {.stride = 2, .padding = 1, .dilation = 2}},
      {"dilated, otherwise apart", {1, 1, 11}, {1, 1, 4}, {.stride = 2, .padding = 2, .dilation = 3}},
      {"dilated by 4, 6 apart", {1, 1, 15}, {1, 1, 4}, {.stride = 6, .padding = 1, .dilation = 4}},
      {"groups", {2, 4, 4}, {6, 2, 3}, {.stride = 2, .padding = 1, .groups = 2}},
      {"groups, windows side by side", {2, 4, 5}, {4, 2, 2}, {.stride = 2, .groups = 2}},
      {"each channel", {1, 3, 4, 4}, {3, 1, 3, 3}, {.padding = 1, .groups = 3}},
      {"each channel twice", {1, 2, 5}, {4, 1, 3}, {.stride = 2, .padding = 1, .groups = 2}},
      {"3-d", {1, 1, 3, 2, 4}, {2, 1, 2, 2, 3}, {.stride = {1, 1, 2}, .padding = {0, 1, 1}}},
      {"far apart", {1, 1, 5}, {1, 1, 2}, {.stride = 1000, .dilation = 3}},
      {"mirrored", {1, 1, 4}, {1, 1, 3}, {.padding = 1, .padding_mode = PadMode::reflect}},
      {"as large", {1, 1, 4, 3}, {1, 1, 2, 3}, {.padding = same_padding}},
  };
  for (const Case& c : all) compare(c, false, c.w[0]);
}

BOOST_AUTO_TEST_CASE(transposed_convolutions) {
  const Case all[] = {
      {"transposed 1-d", {2, 2, 4}, {2, 3, 3}, {}},
      {"transposed, padded", {1, 2, 3, 3}, {2, 1, 3, 2}, {.padding = 1}},
      {"transposed, two apart", {1, 1, 3, 2}, {1, 2, 4, 4}, {.stride = 2, .padding = 1}},
      {"transposed, more at the end", {1, 1, 3}, {1, 1, 3}, {.stride = 2, .padding = 1, .output_padding = 1}},
      {"transposed, much more", {1, 1, 2}, {1, 1, 2}, {.stride = 2, .output_padding = 5}},
      {"transposed, dilated", {1, 1, 3}, {1, 2, 3}, {.stride = 3, .padding = 2, .dilation = 2}},
      {"transposed, side by side", {1, 2, 3, 2}, {2, 1, 2, 2}, {.stride = 2}},
      {"transposed groups", {1, 4, 3}, {4, 2, 3}, {.stride = 2, .groups = 2}},
  };
  for (const Case& c : all) compare(c, true, c.w[1] * c.o.groups.value);
}

BOOST_AUTO_TEST_CASE(pools) {
  struct Pooled {
    const char* name;
    Shape x;
    Axes window;
    PoolOptions o;
  };
  const Pooled all[] = {
      {"pool", {2, 2, 4, 6}, 2, {}},
      {"pool, overlapping", {1, 2, 5, 6}, 3, {.stride = 2, .padding = 1}},
      {"pool, next to each other", {1, 1, 6}, 3, {.stride = 1}},
      {"pool, gaps between", {1, 2, 9}, 2, {.stride = 4, .padding = 1}},
      {"pool, dilated", {1, 1, 7, 6}, {2, 3}, {.stride = {2, 1}, .dilation = {3, 2}}},
      {"pool, not all windows full", {1, 1, 6, 5}, 3, {.stride = 2, .padding = 1, .ceil_mode = true}},
      {"pool of images only", {1, 1, 4, 4}, 3, {.stride = 2, .padding = 1, .count_padding = false}},
      {"pool by a number", {1, 1, 5}, 2, {.divisor_override = 3}},
      {"pool 3-d", {1, 1, 3, 4, 2}, 2, {.stride = 1}},
      {"pool, large windows", {1, 2, 11, 12}, {9, 8}, {.stride = 2, .padding = {1, 3}}},
      {"pool, large and dilated", {1, 1, 140}, 66, {.stride = 9, .padding = 5, .dilation = 2}},
      {"pool of all", {2, 1, 9, 8}, {9, 8}, {}},
  };
  std::mt19937 g(4);
  for (const Pooled& c : all)
    for (const ChannelLayout layout : {channels_first, channels_last}) {
      PoolOptions o = c.o;
      o.layout = layout;
      const Shape shape = layout == channels_last ? channels_behind(c.x) : c.x;
      const Tensor x = random_values(g, shape, -1, 1);
      const std::string name = std::string(c.name) + (layout == channels_last ? ", channels last" : "");
      two_orders(("max " + name).c_str(), [&](List v) { return max_pool(v[0], c.window, o); }, {x}, 1e-7);
      two_orders(("max, indices " + name).c_str(),
                 [&](List v) { return max_pool_with_indices(v[0], c.window, o).values; }, {x}, 1e-7);
      two_orders(("mean " + name).c_str(), [&](List v) { return avg_pool(v[0], c.window, o); }, {x}, 1e-7);
    }
}

BOOST_AUTO_TEST_CASE(other_pools) {
  std::mt19937 g(5);
  const Tensor x = random_values(g, {2, 2, 5, 4}, 0.5, 2);
  for (const ChannelLayout layout : {channels_first, channels_last}) {
    two_orders(
        "adaptive mean",
        [&](List v) {
          return adaptive_avg_pool(v[0], {2, 3}, layout);
        },
        {x}, 1e-7);
    two_orders(
        "adaptive max",
        [&](List v) {
          return adaptive_max_pool(v[0], {2, 3}, layout);
        },
        {x}, 1e-7);
    two_orders(
        "adaptive max, indices",
        [&](List v) {
          return adaptive_max_pool_with_indices(v[0], {2, 1}, layout).values;
        },
        {x}, 1e-7);
    two_orders(
        "norms of windows", [&](List v) { return lp_pool(v[0], 3, 2, {.stride = 1, .layout = layout}); }, {x},
        1e-6);
  }
  const MaxPoolResult found = max_pool_with_indices(x, 2);
  two_orders(
      "puts back", [&](List v) { return max_unpool(v[0], found.indices, 2); },
      {random_values(g, found.values.shape(), -1, 1)}, 1e-7);
}

BOOST_AUTO_TEST_CASE(resizing) {
  std::mt19937 g(6);
  struct Resized {
    const char* name;
    Shape x;
    InterpolateOptions o;
  };
  using enum Interpolation;
  const Resized all[] = {
      {"nearest, twice", {2, 1, 2, 3}, {.scale_factor = {2}}},
      {"nearest", {1, 2, 3, 4}, {.size = {5, 3}}},
      {"nearest, by a factor", {1, 1, 3}, {.scale_factor = {2.3}}},
      {"nearest exact", {1, 1, 3, 2}, {.size = {5, 4}, .mode = nearest_exact}},
      {"linear 1-d", {2, 2, 4}, {.size = 7, .mode = linear}},
      {"bilinear", {1, 2, 3, 4}, {.size = {6, 3}, .mode = linear}},
      {"bilinear, corners", {1, 1, 3, 2}, {.size = {5, 4}, .mode = linear, .align_corners = true}},
      {"bilinear, as large", {1, 1, 3, 2}, {.size = {3, 2}, .mode = linear}},
      {"trilinear", {1, 1, 2, 3, 2}, {.scale_factor = {1.5}, .mode = linear}},
      {"cubic", {1, 1, 4, 3}, {.size = {6, 5}, .mode = cubic}},
      {"cubic, corners", {1, 1, 4, 3}, {.size = {2, 5}, .mode = cubic, .align_corners = true}},
      {"area", {1, 1, 4, 5}, {.size = {3, 2}, .mode = area}},
      {"smoothed", {1, 1, 5, 4}, {.size = {2, 3}, .mode = linear, .antialias = true}},
  };
  for (const Resized& c : all)
    for (const ChannelLayout layout : {channels_first, channels_last}) {
      InterpolateOptions o = c.o;
      o.layout = layout;
      const Tensor x = random_values(g, layout == channels_last ? channels_behind(c.x) : c.x, -1, 1);
      two_orders(
          c.name, [&](List v) { return interpolate(v[0], o); }, {x}, 1e-7);
    }
}

BOOST_AUTO_TEST_CASE(normalisations) {
  std::mt19937 g(7);
  const Tensor x = random_values(g, {3, 4, 2, 3}, -2, 2), last = random_values(g, {3, 2, 5}, -2, 2),
               plain = random_values(g, {5, 3}, -2, 2), w = random_values(g, {4}, 0.5, 2),
               b = random_values(g, {4}, -1, 1), w5 = random_values(g, {5}, 0.5, 2),
               b5 = random_values(g, {5}, -1, 1), w23 = random_values(g, {2, 3}, 0.5, 2),
               b23 = random_values(g, {2, 3}, -1, 1);
  struct Row {
    const char* name;
    TensorFunction f;
    std::vector<Tensor> x;
  };
  const Row all[] = {
      {"layer_norm", [](List v) { return layer_norm(v[0], {5}, v[1], v[2], 0.1); }, {last, w5, b5}},
      {"layer_norm of two axes",
       [](List v) {
         return layer_norm(v[0], {2, 3}, v[1], v[2]);
       },
       {x, w23, b23}},
      {"layer_norm alone", [](List v) { return layer_norm(v[0], {3}); }, {plain}},
      {"layer_norm of all",
       [](List v) {
         return layer_norm(v[0], {5, 3});
       },
       {plain}},
      {"rms_norm", [](List v) { return rms_norm(v[0], {5}, v[1]); }, {last, w5}},
      {"group_norm", [](List v) { return group_norm(v[0], 2, v[1], v[2]); }, {x, w, b}},
      {"group_norm alone", [](List v) { return group_norm(v[0], 4); }, {x}},
      {"group_norm of vectors",
       [](List v) { return group_norm(v[0], 1, v[1]); },
       {random_values(g, {2, 4}, -1, 1), w}},
      {"instance_norm", [](List v) { return instance_norm(v[0], v[1], v[2]); }, {x, w, b}},
      {"batch_norm, trained",
       [](List v) { return batch_norm_training(v[0], {}, {}, {.weight = v[1], .bias = v[2]}).output; },
       {x, w, b}},
      {"batch_norm of vectors", [](List v) { return batch_norm_training(v[0], {}, {}).output; }, {plain}},
      {"batch_norm, channels last",
       [](List v) {
         return batch_norm_training(v[0], {}, {}, {.weight = v[1], .bias = v[2], .layout = channels_last})
             .output;
       },
       {last, w5, b5}},
      {"instance_norm, trained",
       [](List v) { return instance_norm_training(v[0], {}, {}, {.weight = v[1]}).output; },
       {x, w}},
      {"batch_norm",
       [](List v) { return batch_norm(v[0], v[1], v[2], v[3], v[4]); },
       {x, b, random_values(g, {4}, 0.5, 2), w, b}},
      {"local_response_norm", [](List v) { return local_response_norm(v[0], 3, 0.1); }, {x}},
      {"normalize", [](List v) { return normalize(v[0], 2, 1); }, {x}},
  };
  for (const Row& r : all) two_orders(r.name, r.f, r.x, 1e-6);
}

BOOST_AUTO_TEST_CASE(attention) {
  std::mt19937 g(8);
  const Tensor q = random_values(g, {2, 3, 4}, -1, 1), k = random_values(g, {2, 5, 4}, -1, 1),
               v = random_values(g, {2, 5, 2}, -1, 1), mask = random_values(g, {3, 5}, -1, 1);
  const Tensor keep = mask > -0.25;
  const auto run = [](List x, const Tensor& m, bool causal, std::optional<double> scale = {}) {
    return scaled_dot_product_attention(x[0], x[1], x[2], m, causal, scale);
  };
  two_orders(
      "attention", [&](List x) { return run(x, {}, false); }, {q, k, v}, 1e-7);
  two_orders(
      "causal attention", [&](List x) { return run(x, {}, true, 0.75); }, {q, k, v}, 1e-7);
  two_orders(
      "attention, added mask", [&](List x) { return run(x, x[3], false); }, {q, k, v, mask}, 1e-7);
  two_orders(
      "attention, mask", [&](List x) { return run(x, keep, true); }, {q, k, v}, 1e-7);
  two_orders(
      "attention, nothing seen", [&](List x) { return run(x, keep & false, false); }, {q, k, v}, 1e-7);
  // Keys and values of all batches are one: their gradients are sums.
  two_orders(
      "attention, shared keys", [&](List x) { return run(x, {}, false); },
      {q, random_values(g, {5, 4}, -1, 1), random_values(g, {1, 5, 2}, -1, 1)}, 1e-7);
}

// The first of the largest elements has the gradient, as in torch.
BOOST_AUTO_TEST_CASE(ties) {
  const Tensor same = ones({1, 1, 4, 4});
  const auto of = [&](const TensorFunction& f) { return vjp(f, {same})(ones(f({same}).shape()))[0]; };
  const std::vector<double> firsts{1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0};
  check::equal(of([](List v) { return max_pool(v[0], 2); }), float32, {1, 1, 4, 4}, firsts);
  check::equal(of([](List v) { return max_pool_with_indices(v[0], 2).values; }), float32, {1, 1, 4, 4},
               firsts);
  check::equal(of([](List v) { return adaptive_max_pool(v[0], 2); }), float32, {1, 1, 4, 4}, firsts);
}

// The derivatives of layers are used: those of their ops record an update for each place of a window.
BOOST_AUTO_TEST_CASE(kernels) {
  const auto count = [](const TensorFunction& f, const std::vector<Tensor>& x) {
    const Explanation e = explain([&] {
      const auto [value, g] = value_and_grad_of([&](List v) { return sum(f(v)); }, x);
      eval(value, g[0]);
    });
    BOOST_REQUIRE_EQUAL(e.flushes.size(), 1u);
    return e.flushes[0].kernels;
  };
  std::mt19937 g(9);
  const Tensor x = random_values(g, {2, 4, 9, 8}, -1, 1).eval(),
               dense = random_values(g, {4, 4, 3, 3}, -1, 1).eval(),
               single = random_values(g, {4, 1, 3, 3}, -1, 1).eval();
  BOOST_TEST(count([&](List v) { return max_pool(v[0], 3, {.stride = 1}); }, {x}) <= 8u);
  BOOST_TEST(count([&](List v) { return avg_pool(v[0], 3, {.stride = 1}); }, {x}) <= 5u);
  BOOST_TEST(count([&](List v) { return conv2d(v[0], dense); }, {x}) <= 12u);
  BOOST_TEST(count([&](List v) { return conv2d(v[0], single, {.groups = 4}); }, {x}) <= 5u);
  BOOST_TEST(count(
                 [&](List v) {
                   return interpolate(v[0], {.size = {12, 10}, .mode = Interpolation::linear});
                 },
                 {x}) <= 8u);
}

BOOST_AUTO_TEST_SUITE_END()
