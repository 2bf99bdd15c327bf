// Compares network functions of several results, and gradients, with what torch answers in
// tests/golden/nn_names_*.txt (written by make_nn_names.py).
#include "tests/common/golden_arrays.hpp"

using namespace lazy;
using golden::Tensors;

namespace {

using X = const Tensors&;

Axes spatial(const Tensor& x) {
  Axes r;
  for (int i = 2; i < x.ndim(); ++i) r.push_back(x.size(i));
  return r;
}

void add_pools(golden::Functions& f) {
  const std::vector<std::tuple<std::string, int, PoolOptions>> kinds{
      {"2", 2, {}},
      {"3_s2_p1", 3, {.stride = 2, .padding = 1}},
      {"2_s1_d2", 2, {.stride = 1, .dilation = 2}},
      {"3_s2_ceil", 3, {.stride = 2, .ceil_mode = true}},
      {"3_s1_p1_d2", 3, {.stride = 1, .padding = 1, .dilation = 2}},
      {"3_s2_p1_without", 3, {.stride = 2, .padding = 1, .count_padding = false}}};
  for (const auto& kind : kinds) {
    const std::string& name = std::get<0>(kind);
    const int window = std::get<1>(kind);
    const PoolOptions o = std::get<2>(kind);
    f["max_pool_" + name] = [=](X x) {
      const MaxPoolResult r = max_pool_with_indices(x[0], window, o);
      return Tensors{r.values, r.indices};
    };
    f["max_pool_values_" + name] = [=](X x) {
      return Tensors{max_pool_with_indices(x[0], window, o).values};
    };
    f["avg_pool_backward_" + name] = [=](X x) { return Tensors{avg_pool_backward(x[0], x[1], window, o)}; };
  }
  for (const int n : {1, 3})
    f["adaptive_max_pool_" + std::to_string(n)] = [=](X x) {
      const MaxPoolResult r = adaptive_max_pool_with_indices(x[0], n);
      return Tensors{r.values, r.indices};
    };
  f["max_unpool_2"] = [](X x) { return Tensors{max_unpool(x[0], x[1], 2, {}, spatial(x[2]))}; };
  f["max_pool_backward"] = [](X x) {
    return Tensors{max_pool_backward(x[0], x[1], max_pool_with_indices(x[1], 2).indices)};
  };
  f["adaptive_avg_pool_backward"] = [](X x) { return Tensors{adaptive_avg_pool_backward(x[0], x[1])}; };
  f["lp_pool_2_3"] = [](X x) { return Tensors{lp_pool(x[0], 2, 3)}; };
  f["lp_pool_3_2_s1"] = [](X x) { return Tensors{lp_pool(x[0], 3, 2, {.stride = 1})}; };
}

void add_folding(golden::Functions& f) {
  const std::vector<std::tuple<std::string, Axes, FoldOptions>> kinds{
      {"3", 3, {}}, {"2_3_s2_p1", {2, 3}, {.stride = 2, .padding = 1}}, {"2_d2", 2, {.dilation = 2}}};
  for (const auto& kind : kinds) {
    const std::string& name = std::get<0>(kind);
    const Axes window = std::get<1>(kind);
    const FoldOptions o = std::get<2>(kind);
    f["unfold_" + name] = [=](X x) { return Tensors{unfold(x[0], window, o)}; };
    for (const auto& [h, w] : {std::pair(7, 6), {5, 8}, {4, 4}})
      f["fold_" + name + "_" + std::to_string(h) + "_" + std::to_string(w)] = [=, h = h, w = w](X x) {
        return Tensors{fold(x[0], {h, w}, window, o)};
      };
  }
  const std::vector<std::pair<std::string, Bag>> modes{
      {"sum", Bag::sum}, {"mean", Bag::mean}, {"max", Bag::max}};
  for (const auto& [name, mode] : modes) {
    const auto bag = [mode = mode](X x, BagOptions o) {
      o.mode = mode;
      return Tensors{embedding_bag(x[0], x[1], o)};
    };
    f["embedding_bag_" + name] = [=](X x) { return bag(x, {}); };
    f["embedding_bag_" + name + "_offsets"] = [=](X x) { return bag(x, {.offsets = x[2]}); };
    f["embedding_bag_" + name + "_ends"] = [=](X x) {
      return bag(x, {.offsets = x[2], .include_last_offset = true});
    };
    f["embedding_bag_" + name + "_pad2"] = [=](X x) { return bag(x, {.padding_idx = 2}); };
  }
  f["embedding_bag_weighted"] = [](X x) {
    return Tensors{
        embedding_bag(x[0], x[1], {.mode = Bag::sum, .offsets = x[2], .per_sample_weights = x[3]})};
  };
  for (const int p : {0, 1, 2, 3})
    f["pdist_" + std::to_string(p)] = [=](X x) { return Tensors{pdist(x[0], p)}; };
  f["pdist_inf"] = [](X x) { return Tensors{pdist(x[0], check::inf)}; };
}

void add_gradients(golden::Functions& f) {
  const auto convolution = [](const ConvOptions& o) {
    return [=](X x) {
      const ConvGradients r = convolution_backward(x[0], x[1], x[2], o);
      return Tensors{r.input, r.weight, r.bias};
    };
  };
  f["convolution_backward"] = convolution({});
  f["convolution_backward_s2_p1_g2"] = convolution({.stride = 2, .padding = 1, .groups = 2});
  f["convolution_backward_d2_g4"] = convolution({.dilation = 2, .groups = 4});
  for (const int n : {1, 2})
    f["layer_norm_backward_" + std::to_string(n)] = [=](X x) {
      const NormGradients r = layer_norm_backward(x[0], x[1], x[2].shape(), x[2]);
      return Tensors{r.input, r.weight, r.bias};
    };
  for (const int n : {1, 2, 3})
    f["group_norm_backward_" + std::to_string(n)] = [=](X x) {
      const NormGradients r = group_norm_backward(x[0], x[1], n, x[2]);
      return Tensors{r.input, r.weight, r.bias};
    };
  f["embedding_dense_backward_6"] = [](X x) { return Tensors{embedding_dense_backward(x[0], x[1], 6)}; };
  f["embedding_dense_backward_6_pad2"] = [](X x) {
    return Tensors{embedding_dense_backward(x[0], x[1], 6, 2)};
  };
}

void add_losses(golden::Functions& f) {
  const std::vector<std::pair<std::string, Reduction>> reductions{
      {"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}};
  for (const auto& pair : reductions) {
    const std::string& name = pair.first;
    const Reduction r = pair.second;
    f["multi_margin_" + name] = [=](X x) { return Tensors{multi_margin_loss(x[0], x[1], {.reduction = r})}; };
    f["multi_margin_2_half_weight_" + name] = [=](X x) {
      return Tensors{multi_margin_loss(x[0], x[1], {.p = 2, .margin = 0.5, .weight = x[2], .reduction = r})};
    };
    f["multilabel_margin_" + name] = [=](X x) { return Tensors{multilabel_margin_loss(x[0], x[1], r)}; };
    f["multilabel_soft_margin_" + name] = [=](X x) {
      return Tensors{multilabel_soft_margin_loss(x[0], x[1], {}, r)};
    };
    f["soft_margin_" + name] = [=](X x) { return Tensors{soft_margin_loss(x[0], x[1], r)}; };
    f["triplet_l1_" + name] = [=](X x) {
      const auto distance = [](const Tensor& a, const Tensor& b) { return sum(abs(a - b), -1); };
      return Tensors{triplet_margin_with_distance_loss(x[0], x[1], x[2], distance, 2, true, r)};
    };
    f["ctc_" + name] = [=](X x) { return Tensors{ctc_loss(x[0], x[1], x[2], x[3], {.reduction = r})}; };
  }
  f["multilabel_soft_margin_weight"] = [](X x) {
    return Tensors{multilabel_soft_margin_loss(x[0], x[1], x[2])};
  };
  f["ctc_zero"] = [](X x) {
    return Tensors{ctc_loss(x[0], x[1], x[2], x[3], {.reduction = Reduction::none, .zero_infinity = true})};
  };
  f["ctc_blank"] = [](X x) {
    return Tensors{ctc_loss(x[0], x[1], x[2], x[3], {.blank = 3, .reduction = Reduction::none})};
  };
}

void add_images(golden::Functions& f) {
  const std::vector<Shape> sizes{{2, 3, 4, 5}, {1, 2, 3, 2, 4}, {1, 1, 1, 3}, {2, 1, 5, 1}};
  for (const bool corners : {false, true}) {
    const std::string end = corners ? "_1" : "_0";
    for (const Shape& size : sizes) {
      std::string name = "affine_grid";
      for (const int64_t n : size) name += "_" + std::to_string(n);
      f[name + end] = [=](X x) { return Tensors{affine_grid(x[0], size, corners)}; };
    }
    const std::vector<std::pair<std::string, GridPadding>> paddings{{"zeros", GridPadding::zeros},
                                                                    {"border", GridPadding::border},
                                                                    {"reflection", GridPadding::reflection}};
    for (const auto& [name, padding] : paddings)
      f["grid_bicubic_" + name + end] = [=, p = padding](X x) {
        return Tensors{
            grid_sample(x[0], x[1], {.mode = Interpolation::cubic, .padding = p, .align_corners = corners})};
      };
    for (const auto& [h, w] : {std::pair(4, 3), {3, 11}, {13, 17}, {9, 4}, {1, 1}})
      for (const bool cubic : {false, true})
        f[std::string("antialias_") + (cubic ? "bicubic" : "bilinear") + "_" + std::to_string(h) + "_" +
          std::to_string(w) + end] = [=, h = h, w = w](X x) {
          return Tensors{interpolate(x[0], {.size = {h, w},
                                            .mode = cubic ? Interpolation::cubic : Interpolation::linear,
                                            .align_corners = corners,
                                            .antialias = true})};
        };
  }
  f["instance_norm_training"] = [](X x) {
    const BatchNormResult r =
        instance_norm_training(x[0], x[1], x[2], {.weight = x[3], .bias = x[4], .momentum = 0.3});
    return Tensors{r.output, r.running_mean, r.running_var};
  };
}

const golden::Functions& functions() {
  static const golden::Functions table = [] {
    golden::Functions f;
    add_pools(f), add_folding(f), add_gradients(f), add_losses(f), add_images(f);
    return f;
  }();
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(network_names)

BOOST_AUTO_TEST_CASE(pools) { golden::run("nn_names_pools.txt", functions()); }
BOOST_AUTO_TEST_CASE(folding) { golden::run("nn_names_folding.txt", functions()); }
BOOST_AUTO_TEST_CASE(gradients) { golden::run("nn_names_gradients.txt", functions()); }
BOOST_AUTO_TEST_CASE(losses) { golden::run("nn_names_losses.txt", functions()); }
BOOST_AUTO_TEST_CASE(images) { golden::run("nn_names_images.txt", functions()); }

BOOST_AUTO_TEST_SUITE_END()
