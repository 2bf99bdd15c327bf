// Trains one model on however many ranks it is started on, without a changed line.
#include <chrono>
#include <cstdio>

#include "demo.hpp"
#include "garments.hpp"
#include "lazy/data/data.hpp"
#include "lazy/distributed/data_parallel.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(ranks [EPOCHS [FOLDER]]
Trains on Fashion-MNIST (without a FOLDER: on pictures that it draws; default: 3 epochs) on as many ranks as it is started on:

    lazy-launch --nproc 2 demos/ranks

Each takes its share of every batch of 128, and all have the same weights at the end. One rank prints.
)";

struct Net : nn::Module {
  nn::Conv2d first{1, 16, 3, {.padding = 1}}, second{16, 32, 3, {.padding = 1}};
  nn::Linear out{32 * 7 * 7, 10};
  LAZY_MODULE(first, second, out)
  Tensor operator()(const Tensor& pictures) const {
    const Tensor x = (pictures(_, newaxis).astype(float32) / 255.0f - 0.286f) / 0.353f;
    return out(flatten(max_pool2d(relu(second(max_pool2d(relu(first(x)), 2))), 2), 1));
  }
};

/// Says which batches this rank takes: its part of each.
data::LoaderOptions share_of(int64_t examples, bool shuffle) {
  const int ranks = distributed::world_size();
  return {.batch_size = 128 / ranks,
          .drop_last = true,
          .sampler = std::make_shared<data::DistributedSampler>(
              examples, distributed::rank(), ranks,
              data::DistributedOptions{.shuffle = shuffle, .drop_last = true})};
}
/// Returns the mean of all ranks' sums over their batches.
double mean_of(const Tensor& sum, int batches) {
  return distributed::all_reduce(sum / static_cast<float>(batches), distributed::ReduceOp::mean)
      .item<double>();
}

void train(const demo::Arguments& arguments) {
  distributed::init();
  std::string folder = demo::argument(arguments, 1, "");
  const long epochs = demo::number(arguments, 0, 3, 1, 1000);
  if (folder.empty()) {
    folder = "out/garments";
    if (distributed::is_main_process()) demo::write_garments(folder, 6000, 1000);
    distributed::barrier();
  }
  const data::TensorDataset training = data::mnist(folder), test = data::mnist(folder, false);
  Net model;
  distributed::DataParallel parallel(model);
  optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-3});
  data::DataLoader loader(training, share_of(training.size(), true)),
      unseen(test, share_of(test.size(), false));
  for (long epoch = 1; epoch <= epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    Tensor losses = zeros({}), right = zeros({});
    int batches = 0, tests = 0;
    for (const auto& [pictures, labels] : loader) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(model(pictures), labels);
      parallel.backward(loss);
      optimizer.step();
      losses += loss.detach(), ++batches;
      lazy::eval(losses, model.out.weight);
    }
    const double mean_loss = mean_of(losses, batches);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const no_grad scope;
    for (const auto& [pictures, labels] : unseen)
      right += mean((argmax(model(pictures), 1) == labels).astype(float32)), ++tests;
    const double share = mean_of(right, tests);
    if (distributed::is_main_process())
      std::printf("%d ranks, epoch %ld: loss %.3f, %.0f pictures a second, %.1f%% of unseen ones right\n",
                  distributed::world_size(), epoch, mean_loss,
                  static_cast<double>(training.size()) / took.count(), 100 * share);
  }
  distributed::finalize();
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, train); }
