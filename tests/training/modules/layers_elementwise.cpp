#include "layers.hpp"

namespace layers {

using namespace lazy;

namespace {

/// Returns what the golden file's weights of losses were: they are loaded, so that only the shape counts.
Tensor some(int64_t n) { return zeros({n}); }

void add_losses(Builders& b) {
  LAYER("mse", nn::MSELoss{});
  LAYER("mse_sum", nn::MSELoss{Reduction::sum});
  LAYER("mse_none", nn::MSELoss{Reduction::none});
  LAYER("l1", nn::L1Loss{});
  LAYER("huber", nn::HuberLoss{Reduction::mean, 0.5});
  LAYER("smooth_l1", nn::SmoothL1Loss{Reduction::mean, 0.5});
  LAYER("bce", nn::BCELoss{some(4)});
  LAYER("bce_with_logits", nn::BCEWithLogitsLoss{{.pos_weight = some(4)}});
  LAYER("kl_div", nn::KLDivLoss{Reduction::batchmean});
  LAYER("poisson_nll", nn::PoissonNLLLoss{});
  LAYER("gaussian_nll", nn::GaussianNLLLoss{true});
  LAYER("margin_ranking", nn::MarginRankingLoss{0.25});
  LAYER("hinge_embedding", nn::HingeEmbeddingLoss{});
  LAYER("cosine_embedding", nn::CosineEmbeddingLoss{0.125});
  LAYER("triplet_margin", nn::TripletMarginLoss{{.swap = true}});
  LAYER("triplet_distance", nn::TripletMarginWithDistanceLoss{
                                [](const Tensor& x, const Tensor& y) { return sum(abs(x - y), -1); }, 0.5});
  LAYER("soft_margin", nn::SoftMarginLoss{});
  LAYER("multi_margin", nn::MultiMarginLoss{{.p = 2, .weight = some(5)}});
  LAYER("multilabel_margin", nn::MultiLabelMarginLoss{});
  LAYER("multilabel_soft_margin", nn::MultiLabelSoftMarginLoss{});
  LAYER("nll", nn::NLLLoss{{.ignore_index = 1}});
  LAYER("cross_entropy", nn::CrossEntropyLoss{{.weight = some(5), .label_smoothing = 0.25}});
  LAYER("cross_entropy_images", nn::CrossEntropyLoss{});
  b["adaptive_softmax"] = [] {
    struct Loss : nn::AdaptiveLogSoftmaxWithLoss {
      using AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss;
      std::string name() const override { return "AdaptiveLogSoftmaxWithLoss"; }
      Tensor operator()(Arg x, Arg target) const {
        return AdaptiveLogSoftmaxWithLoss::operator()(std::move(x), std::move(target)).loss;
      }
    };
    return layer(Loss(6, 9, {3, 5}, {.div_value = 2, .head_bias = true}));
  };
  b["ctc"] = [] {
    Layer l = layer(nn::CTCLoss{});
    l.call = [ctc = l.call](std::vector<Tensor> x, bool train) {
      x[0] = log_softmax(x[0], -1);
      return ctc(x, train);
    };
    return l;
  };
}

}  // namespace

void add_elementwise(Builders& b) {
  LAYER("relu", nn::ReLU{});
  LAYER("relu6", nn::ReLU6{});
  LAYER("selu", nn::SELU{});
  LAYER("silu", nn::SiLU{});
  LAYER("mish", nn::Mish{});
  LAYER("softsign", nn::Softsign{});
  LAYER("sigmoid", nn::Sigmoid{});
  LAYER("logsigmoid", nn::LogSigmoid{});
  LAYER("tanh", nn::Tanh{});
  LAYER("tanhshrink", nn::Tanhshrink{});
  LAYER("hardsigmoid", nn::Hardsigmoid{});
  LAYER("hardswish", nn::Hardswish{});
  LAYER("leaky_relu", nn::LeakyReLU{0.25});
  LAYER("elu", nn::ELU{});
  LAYER("celu", nn::CELU{2});
  LAYER("softshrink", nn::Softshrink{});
  LAYER("hardshrink", nn::Hardshrink{0.25});
  LAYER("gelu", nn::GELU{});
  LAYER("gelu_tanh", nn::GELU{Approximate::tanh});
  LAYER("softplus", nn::Softplus{2});
  LAYER("hardtanh", nn::Hardtanh{-0.7, 0.9});
  LAYER("threshold", nn::Threshold{0.3, -3});
  LAYER("rrelu", nn::RReLU{});
  LAYER("softmax", nn::Softmax{1});
  LAYER("softmin", nn::Softmin{-1});
  LAYER("log_softmax", nn::LogSoftmax{0});
  LAYER("softmax2d", nn::Softmax2d{});
  LAYER("glu", nn::GLU{});
  LAYER("dropout", nn::Dropout{0.1});
  LAYER("dropout1d", nn::Dropout1d{});
  LAYER("dropout2d", nn::Dropout2d{});
  LAYER("dropout3d", nn::Dropout3d{});
  LAYER("alpha_dropout", nn::AlphaDropout{});
  LAYER("feature_alpha_dropout", nn::FeatureAlphaDropout{0.25});
  add_losses(b);
}

}  // namespace layers
