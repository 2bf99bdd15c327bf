// Learns to tell garments apart, on Fashion-MNIST or on pictures that it draws itself.
#include <cstdio>
#include <iterator>

#include "demo.hpp"
#include "garments.hpp"
#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/plot/figure.hpp"
#include "lazy/training/training.hpp"
#include "picture.hpp"
#include "steps.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(fashion [FOLDER [EPOCHS]]
Learns garments of 28 x 28 pixels from a folder with the four files of Fashion-MNIST, packed by gzip or not. Without
one it draws a set in the same format (default: 3 epochs). Writes out/confusion.png: a row a garment, a column an
answer, with how often that was; and out/fashion.png, the loss.
)";

constexpr int64_t kLossEvery = 10;  // steps from one look at the loss to the next

struct Block : nn::Module {
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  LAZY_MODULE(conv, norm)
  Block(int64_t in, int64_t out) : conv(in, out, 3, {.padding = 1, .bias = false}), norm(out) {}
  Tensor operator()(const Tensor& x) { return max_pool2d(relu(norm(conv(x))), 2); }
};

struct Net : nn::Module {
  Block first{1, 16}, second{16, 32};
  nn::Dropout drop{0.2};
  nn::Linear hidden{32 * 7 * 7, 64}, out{64, 10};
  LAZY_MODULE(first, second, drop, hidden, out)
  Tensor operator()(const Tensor& x) { return out(drop(relu(hidden(flatten(second(first(x)), 1))))); }
};

Tensor prepared(const Tensor& pictures) {
  return data::normalize(data::to_float(pictures), {0.286}, {0.353});
}

/// Returns how often each garment (row) was taken for each (column).
Tensor confusion_of(Net& model, const data::TensorDataset& examples) {
  const no_grad scope;
  model.eval();
  Tensor counts = zeros({10, 10});
  data::DataLoader loader(examples, {.batch_size = 500, .workers = 1});
  for (const auto& [pictures, labels] : loader) {
    const auto rows = [](const Tensor& classes) {
      return (classes(_, newaxis) == arange(10)).astype(float32);
    };
    const Tensor answers = argmax(model(prepared(pictures(_, newaxis))), 1);
    counts += matmul(rows(labels).T(), rows(answers));
    counts.eval();
  }
  model.train();
  return counts;
}

void learn(const demo::Arguments& arguments) {
  std::string folder = demo::argument(arguments, 0, "");
  const long epochs = demo::number(arguments, 1, 3, 1, 1000);
  if (folder.empty()) demo::write_garments(folder = "out/garments", 6000, 1000);
  const data::TensorDataset train = data::mnist(folder), test = data::mnist(folder, false);
  manual_seed(1);

  Net model;
  optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-3});
  data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .drop_last = true, .workers = 1});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, epochs * loader.size());
  training::Progress progress(epochs * loader.size(), "fashion", demo::on_standard_output());
  training::Curves curves("fashion");
  demo::Steps counted;
  Generator& g = default_generator();
  for (long epoch = 0; epoch < epochs; ++epoch)
    for (const auto& [pictures, labels] : loader)
      counted.run([&, &pictures = pictures, &labels = labels] {
        optimizer.zero_grad();
        const Tensor changed = data::random_crop(g, data::random_horizontal_flip(g, pictures(_, newaxis)), 2);
        const Tensor loss = cross_entropy(model(prepared(changed)), labels);
        loss.backward();
        optim::clip_grad_norm_(model.parameters(), 1);
        optimizer.step();
        schedule.step();
        progress.update(loss);
        const int64_t step = progress.step();
        if (step % kLossEvery == 0) curves.add("loss", static_cast<double>(step), progress.loss());
      });
  progress.finish();

  const Tensor counts = confusion_of(model, test), share = counts / sum(counts, {1}, keepdims);
  demo::make_folder_of("out/confusion.png");
  plot::confusion(counts, {std::begin(demo::kGarments), std::end(demo::kGarments)},
                  "What garments were taken for")
      .save("out/confusion.png");
  curves.write_png("out/fashion.png");
  const auto right = diagonal(share).to_vector<double>();
  for (size_t i = 0; i < right.size(); ++i) std::printf("%9s %5.1f%%\n", demo::kGarments[i], 100 * right[i]);
  std::printf("accuracy on %lld garments it has not seen: %.1f%%; wrote out/confusion.png, out/fashion.png\n",
              static_cast<long long>(test.size()), 100 * (trace(counts) / sum(counts)).item<double>());
  counted.report();
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, learn); }
