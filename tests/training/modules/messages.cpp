// Tests that layers refuse what they should, at the user's line.
#include <set>

#include "layers.hpp"
#include "tests/common/check.hpp"

namespace {

using namespace lazy;

/// Checks that the call throws exactly E, with the file and line of the call.
template <class E, class F>
void fails_at(F&& call, const std::string& file, int line, const std::string& what) {
  try {
    call();
    BOOST_ERROR(what << ": nothing was thrown");
  } catch (const Error& e) {
    BOOST_TEST(typeid(e).name() == typeid(E).name(), what << ": " << e.what());
    BOOST_TEST(std::string(file_name(e.where())) == file, what << ": " << e.what());
    if (line) BOOST_TEST(e.where().line() == static_cast<unsigned>(line), what << ": " << e.what());
  }
}
#define FAILS(E, expression) fails_at<E>([&] { (void)(expression); }, "messages.cpp", __LINE__, #expression)

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_messages)

// The line of every layer's call is that of layers.hpp, which calls them: none of the library's own.
BOOST_AUTO_TEST_CASE(empty_tensors) {
  const std::set<std::string> two = {"adaptive_softmax",
                                     "bilinear",
                                     "cosine_similarity",
                                     "pairwise_distance",
                                     "bce",
                                     "bce_with_logits",
                                     "kl_div",
                                     "poisson_nll",
                                     "hinge_embedding",
                                     "soft_margin",
                                     "multi_margin",
                                     "multilabel_margin",
                                     "multilabel_soft_margin",
                                     "nll",
                                     "cross_entropy",
                                     "cross_entropy_images",
                                     "l1",
                                     "huber",
                                     "smooth_l1",
                                     "mse",
                                     "mse_sum",
                                     "mse_none",
                                     "max_unpool1d",
                                     "max_unpool2d",
                                     "max_unpool3d"};
  const std::set<std::string> three = {"gaussian_nll", "margin_ranking", "cosine_embedding", "triplet_margin",
                                       "triplet_distance"};
  for (const auto& [name, build] : layers::builders()) {
    if (name == "identity" || name == "ctc") continue;  // returns x; is called here after another function
    const layers::Layer l = build();
    l.module->eval();
    const std::vector<Tensor> nothing(two.contains(name) ? 2 : three.contains(name) ? 3 : 1);
    fails_at<Error>([&] { (void)l.call(nothing, false); }, "layers.hpp", 0, name);
  }
  FAILS(Error, nn::CTCLoss()(Tensor(), Tensor(), Tensor(), Tensor()));
  FAILS(Error, nn::Sequential{nn::Linear(1, 1)}(Tensor()));
}

BOOST_AUTO_TEST_CASE(layers_that_cannot_be) {
  FAILS(ShapeError, nn::Linear(-1, 2));
  FAILS(ShapeError, nn::Bilinear(1, -2, 2));
  FAILS(DtypeError, nn::Linear(1, 2, {.dtype = int32}));
  FAILS(ShapeError, nn::Conv2d(3, 4, {3, 3, 3}));
  FAILS(ShapeError, nn::Conv2d(3, 4, 0));
  FAILS(ShapeError, nn::Conv2d(3, 4, 3, {.groups = 2}));
  FAILS(ShapeError, nn::Conv2d(4, 3, 3, {.groups = 2}));
  FAILS(ShapeError, nn::Conv1d(1, 1, 3, {.stride = {1, 1}}));
  FAILS(ShapeError, nn::ConvTranspose3d(0, 1, 3));
  FAILS(ShapeError, nn::MaxPool2d({1, 2, 3}));
  FAILS(ShapeError, nn::AvgPool1d(2, {.padding = {1, 1}}));
  FAILS(ShapeError, nn::AdaptiveAvgPool2d({1, 1, 1}));
  FAILS(ShapeError, nn::ReflectionPad2d({1, 2, 3}));
  FAILS(Error, nn::FractionalMaxPool2d(2, {}));
  FAILS(Error, nn::FractionalMaxPool2d(2, {.output_ratio = {1}}));
  FAILS(Error, nn::FractionalMaxPool3d(2, {.output_ratio = {0.5, 0.5}}));
  FAILS(Error, nn::AdaptiveLogSoftmaxWithLoss(4, 5, {}));
  FAILS(Error, nn::AdaptiveLogSoftmaxWithLoss(4, 5, {2, 2}));
  FAILS(Error, nn::AdaptiveLogSoftmaxWithLoss(4, 5, {5}));
  FAILS(ShapeError, nn::ConstantPad1d({1, 2, 3, 4}, 0));
  FAILS(ShapeError, nn::GroupNorm(3, 4));
  FAILS(ShapeError, nn::LayerNorm(-1));
  FAILS(ShapeError, nn::BatchNorm2d(-1));
  FAILS(IndexError, nn::Embedding(3, 2, {.padding_idx = 3}));
  FAILS(IndexError, nn::EmbeddingBag(3, 2, {.padding_idx = -4}));
  FAILS(ShapeError, nn::Embedding::from_pretrained(ones({2})));
  FAILS(Error, nn::Dropout(1.5));
  FAILS(Error, nn::AlphaDropout(-0.5));
  FAILS(Error, nn::Dropout2d(std::nan("")));
}

BOOST_AUTO_TEST_CASE(images_that_do_not_fit) {
  FAILS(ShapeError, nn::Linear(3, 2)(ones({2, 4})));
  FAILS(ShapeError, nn::Conv2d(3, 2, 1)(ones({1, 2, 4, 4})));
  FAILS(ShapeError, nn::Conv2d(3, 2, 1)(ones({3, 4})));
  FAILS(ShapeError, nn::ConvTranspose2d(3, 2, 1)(ones({3, 4})));
  FAILS(ShapeError, nn::MaxPool2d(2)(ones({2, 2})));
  FAILS(ShapeError, nn::MaxPool2d(2).with_indices(ones({2, 2})));
  FAILS(ShapeError, nn::LPPool2d(2, 2)(ones({2, 2})));
  FAILS(ShapeError, nn::ReflectionPad2d(1)(ones({2, 2})));
  FAILS(ShapeError, nn::FractionalMaxPool2d(2, {.output_size = 3})(ones({1, 1, 3, 5})));
  FAILS(ShapeError, nn::FractionalMaxPool2d(
                        2, {.output_size = 2, .random_samples = ones({1, 1, 1})})(ones({1, 1, 3, 5})));
  FAILS(ShapeError, nn::AdaptiveLogSoftmaxWithLoss(4, 5, {2})(ones({2, 4}), zeros({3}, int64)));
  FAILS(ShapeError, nn::BatchNorm1d(3)(ones({2, 4})));
  FAILS(ShapeError, nn::BatchNorm1d(3)(ones({1, 3})));  // one number has no variance
  FAILS(ShapeError, nn::BatchNorm2d(3)(ones({2, 3, 4})));
  FAILS(ShapeError, nn::InstanceNorm1d(3)(ones({3})));
  FAILS(ShapeError, nn::LayerNorm(3)(ones({2, 4})));
  FAILS(ShapeError, nn::GroupNorm(2, 4)(ones({2, 6, 3})));
  FAILS(ShapeError, nn::Softmax2d()(ones({2, 3})));
  FAILS(IndexError, nn::Softmax(2)(ones({2, 3})));
  FAILS(DtypeError, nn::Embedding(3, 2)(ones({2})));
  FAILS(ShapeError, nn::CrossEntropyLoss()(ones({2, 3}), zeros({3}, int64)));
}

BOOST_AUTO_TEST_CASE(variables_that_do_not_fit) {
  namespace init = nn::init;
  Parameter v(zeros({3})), m(zeros({3, 4})), four(zeros({4, 2, 3, 3}));
  Tensor i = zeros({3, 4}, int64), nothing;
  FAILS(Error, init::zeros_(nothing));
  FAILS(ShapeError, init::eye_(v));
  FAILS(ShapeError, init::dirac_(m));
  FAILS(ShapeError, init::dirac_(four, 3));
  FAILS(ShapeError, init::xavier_uniform_(v));
  FAILS(ShapeError, init::kaiming_normal_(v));
  FAILS(ShapeError, init::orthogonal_(v));
  FAILS(ShapeError, init::sparse_(v, 0.5));
  FAILS(Error, init::sparse_(m, 1.5));
  FAILS(DtypeError, init::normal_(i));
  FAILS(DtypeError, init::uniform_(i));
  FAILS(Error, init::trunc_normal_(m, 0, 1, 2, -2));
}

BOOST_AUTO_TEST_SUITE_END()
