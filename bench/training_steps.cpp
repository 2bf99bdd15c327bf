#include "training_steps.hpp"

#include <memory>

#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"

namespace bench {
namespace {

using namespace lazy;
using Step = std::function<Tensor()>;

template <class Model, class Optimizer, class Loss>
Step step_of(std::shared_ptr<Model> model, std::shared_ptr<Optimizer> optimizer, Loss loss) {
  return [=] {
    Tensor l = loss(*model);
    l.backward();
    optimizer->step();
    optimizer->zero_grad();
    return l;
  };
}

template <class Optimizer, class Options>
Training mlp(const char* name, const Options& options) {
  return {name, "128x784-512-512-10", [options] {
            auto net = std::make_shared<models::MLP>(784, std::vector<int64_t>{512, 512, 10});
            auto optimizer = std::make_shared<Optimizer>(net->named_parameters(), options);
            const Tensor x = rand({128, 784}).eval(), t = randint(0, 10, {128}).eval();
            return step_of(net, optimizer, [=](models::MLP& m) { return cross_entropy(m(x), t); });
          }};
}

Training resnet18() {
  return {"resnet18_sgd", "8x3x224x224", [] {
            auto net = std::make_shared<models::ResNet>(models::resnet18(1000));
            auto optimizer =
                std::make_shared<optim::SGD>(net->named_parameters(), optim::SGDOptions{.lr = 1e-3});
            const Tensor x = rand({8, 3, 224, 224}).eval(), t = randint(0, 1000, {8}).eval();
            return step_of(net, optimizer, [=](models::ResNet& m) { return cross_entropy(m(x), t); });
          }};
}

Training gpt_mini() {
  return {
      "gpt_mini_adamw", "8x256", [] {
        auto net = std::make_shared<models::GPT2>(models::GPT2Config{
            .vocab_size = 256, .n_positions = 256, .n_embd = 384, .n_layer = 6, .n_head = 6, .dropout = 0});
        auto optimizer =
            std::make_shared<optim::AdamW>(net->named_parameters(), optim::AdamWOptions{.lr = 3e-4});
        const Tensor x = randint(0, 256, {8, 256}).eval(), t = randint(0, 256, {8 * 256}).eval();
        return step_of(net, optimizer, [=](models::GPT2& m) {
          return cross_entropy(reshape(m(x), {8 * 256, 256}), t);
        });
      }};
}

struct Recurrent : nn::Module {
  nn::LSTM lstm{64, 256, {.batch_first = true}};
  nn::Linear head{256, 10};
  LAZY_MODULE(lstm, head)
  Tensor operator()(const Tensor& x) { return head(lstm(x).output(_, -1)); }
};

Training lstm() {
  return {"lstm_adam", "32x128x64", [] {
            auto net = std::make_shared<Recurrent>();
            auto optimizer =
                std::make_shared<optim::Adam>(net->named_parameters(), optim::AdamOptions{.lr = 1e-3});
            const Tensor x = rand({32, 128, 64}).eval(), t = randint(0, 10, {32}).eval();
            return step_of(net, optimizer, [=](Recurrent& m) { return cross_entropy(m(x), t); });
          }};
}

}  // namespace

std::vector<Training> trainings() {
  return {mlp<optim::SGD>("mlp_sgd", optim::SGDOptions{.lr = 1e-3}),
          mlp<optim::Adam>("mlp_adam", optim::AdamOptions{}), lstm(), gpt_mini(), resnet18()};
}

}  // namespace bench
