// Learns to read handwritten digits with a small convolutional network.
#include <cstdio>

#include "demo.hpp"
#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/training.hpp"
#include "picture.hpp"
#include "steps.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(digits [EPOCHS [CURVES.png]]
Learns 1437 handwritten digits of 8 x 8 pixels (default: 40 epochs) and tells the accuracy on 360 others.
Writes how that went to CURVES.png (default: out/digits.png).
)";

/// Maps pictures (n, 1, 8, 8) to a score for each digit.
struct Net : nn::Module {
  nn::Conv2d first{1, 32, 3, {.padding = 1}}, second{32, 64, 3, {.padding = 1}};
  nn::Dropout drop{0.25};
  nn::Linear out{64 * 2 * 2, 10};
  LAZY_MODULE(first, second, drop, out)
  Tensor operator()(const Tensor& x) const {
    const Tensor half = max_pool2d(relu(first(x)), 2);
    return out(drop(flatten(max_pool2d(relu(second(half)), 2), 1)));
  }
};

Tensor prepared(const Tensor& pictures) { return pictures.astype(float32) / 16 - 0.3; }

double accuracy(Net& model, const data::TensorDataset& examples) {
  const no_grad scope;
  model.eval();
  const Tensor scores = model(prepared(examples.x().tensor()));
  model.train();
  return mean((argmax(scores, 1) == examples.y().tensor()).astype(float32)).item<double>();
}

void learn(const demo::Arguments& arguments) {
  const long epochs = demo::number(arguments, 0, 40, 1, 1000);
  const std::string picture = demo::argument(arguments, 1, "out/digits.png");
  manual_seed(3);
  const Tensor x = data::read_idx(demo::data_file("digits-images-idx3-ubyte.gz"))(_, newaxis),
               y = data::read_idx(demo::data_file("digits-labels-idx1-ubyte.gz")).astype(int64);
  constexpr int64_t kHeldOut = 360;
  const int64_t n = x.size(0) - kHeldOut;
  const data::TensorDataset train(x(slice(0, n)), y(slice(0, n))), test(x(slice(n, _)), y(slice(n, _)));

  Net model;
  optim::AdamW optimizer(model.named_parameters(), {.lr = 5e-3, .weight_decay = 0.01});
  data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .drop_last = true, .workers = 1});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, epochs * loader.size());
  training::Progress progress(epochs * loader.size(), "digits", demo::on_standard_output());
  training::Curves curves("digits");
  demo::Steps counted;
  for (long epoch = 1; epoch <= epochs; ++epoch) {
    for (const auto& [pictures, labels] : loader)
      counted.run([&, &pictures = pictures, &labels = labels] {
        optimizer.zero_grad();
        const Tensor loss =
            cross_entropy(model(prepared(data::random_crop(default_generator(), pictures, 1))), labels);
        loss.backward();
        optimizer.step();
        schedule.step();
        progress.update(loss);
      });
    curves.add("loss", static_cast<double>(epoch), progress.loss());
    curves.add("error on others", static_cast<double>(epoch), 1 - accuracy(model, test));
  }
  progress.finish();
  demo::make_folder_of(picture);
  curves.write_png(picture);
  std::printf("%lld parameters; accuracy on digits it has not seen: %.1f%%\n",
              static_cast<long long>(model.num_parameters()), 100 * accuracy(model, test));
  std::printf("wrote %s\n", picture.c_str());
  counted.report();
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, learn); }
