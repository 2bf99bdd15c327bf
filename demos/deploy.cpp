// Takes a model from training to serving, and shows what each step gives: time, bytes and accuracy.
#include <chrono>
#include <cstdio>

#include "demo.hpp"
#include "garments.hpp"
#include "lazy/data/data.hpp"
#include "lazy/inference/freeze.hpp"
#include "lazy/inference/session.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/plot/figure.hpp"
#include "lazy/quant/quantize.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(deploy [FOLDER [EPOCHS]]
Trains on Fashion-MNIST (without a FOLDER: on pictures that it draws; default: 2 epochs), freezes the model, writes it, maps it
again and serves it. Prints a table; writes out/deploy.safetensors and out/deploy.png, bars of the rows: time, bytes and accuracy.
)";

struct Block : nn::Module {
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  LAZY_MODULE(conv, norm)
  Block(int64_t in, int64_t out) : conv(in, out, 3, {.padding = 1, .bias = false}), norm(out) {}
  Tensor operator()(const Tensor& x) { return max_pool2d(relu(norm(conv(x))), 2); }
};
struct Net : nn::Module {
  Block first{1, 16}, second{16, 32};
  nn::Linear out{32 * 7 * 7, 10};
  LAZY_MODULE(first, second, out)
  Tensor operator()(const Tensor& x) { return out(flatten(second(first(x)), 1)); }
};

Tensor prepared(const Tensor& pictures) {
  return (pictures(_, newaxis).astype(float32) / 255.0f - 0.286f) / 0.353f;
}

struct Figures {
  double us = 0, kilobytes = 0, right = 0;  // of a picture alone; of the weights; percent
};

/// Prints a row of the table and returns its figures.
template <class F>
Figures row(const char* step, const nn::Module& model, const Tensor& x, const Tensor& labels, F&& answer) {
  using clock = std::chrono::steady_clock;
  const Tensor one = x(slice(0, 1)).copy().eval();
  for (int i = 0; i < 20; ++i) answer(one).eval();
  const auto start = clock::now();
  for (int i = 0; i < 500; ++i) answer(one).eval();
  const double us = std::chrono::duration<double, std::micro>(clock::now() - start).count() / 500;
  int64_t bytes = 0;
  for (const auto& [name, t] : model.state_dict()) bytes += t.size() * size_of(t.dtype());
  const double right = mean((argmax(answer(x), 1) == labels).astype(float32)).template item<double>();
  const Figures f{us, static_cast<double>(bytes) / 1e3, 100 * right};
  std::printf("%-43s %7.1f us a picture %7.1f KB %6.1f%% right\n", step, f.us, f.kilobytes, f.right);
  return f;
}

/// Draws bars for each row: time, bytes and accuracy.
void draw(const std::vector<Figures>& rows, const std::string& path) {
  const std::vector<std::string> names = {"as it is", "inference", "frozen", "session", "bf16",   "int8",
                                          "fp8",      "dynamic",   "fixed",  "int4",    "trained"};
  const auto bars = [&](const char* title, double Figures::*what) {
    std::vector<double> values;
    for (const Figures& f : rows) values.push_back(f.*what);
    plot::Figure figure(title, {.width = 860, .height = 260});
    return figure.bars(names, asarray(values));
  };
  plot::Panels({bars("microseconds a picture, alone", &Figures::us),
                bars("kilobytes of weights", &Figures::kilobytes), bars("% right", &Figures::right)},
               1)
      .save(path);
}

void deploy(const demo::Arguments& arguments) {
  std::string folder = demo::argument(arguments, 0, "");
  const long epochs = demo::number(arguments, 1, 2, 1, 1000);
  if (folder.empty()) demo::write_garments(folder = "out/garments", 6000, 1000);
  const data::TensorDataset train = data::mnist(folder), test = data::mnist(folder, false);
  manual_seed(1);
  Net model, served, rounded;
  data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .drop_last = true, .workers = 1});
  const auto fit = [&](Net& net, long epochs, double lr) {
    optim::AdamW optimizer(net.named_parameters(), {.lr = lr});
    for (long epoch = 0; epoch < epochs; ++epoch)
      for (const auto& [pictures, labels] : loader) {
        optimizer.zero_grad();
        Tensor loss = cross_entropy(net(prepared(pictures)), labels);
        loss.backward();
        optimizer.step();
        loss.eval();
      }
    net.eval();
  };
  fit(model, epochs, 3e-3);
  rounded.load_state_dict(model.state_dict());
  quant::prepare_(rounded, quant::int4_weights(32), quant::Prepare::train);
  fit(rounded, 1, 3e-4);
  quant::convert_(rounded);
  data::DataLoader all(test, {.batch_size = test.size()});
  const auto [pictures, labels] = *all.begin();
  const Tensor x = prepared(pictures).eval();
  std::vector<Figures> rows;
  rows.push_back(row("trained, as it is", model, x, labels, model));
  const inference_mode scope;
  rows.push_back(row("in inference_mode", model, x, labels, model));
  inference::freeze(model, "out/deploy.safetensors");
  rows.push_back(row("frozen: batch norms are in the convolutions", model, x, labels, model));
  inference::load_frozen(served, "out/deploy.safetensors");  // maps it, as another process would
  const auto session = inference::session(served, {.example = zeros({1, 1, 28, 28})});
  rows.push_back(row("a session of the mapped file", served, x, labels, session));
  const auto serve = [&](const char* step, DType t, auto&& change) {
    Net smaller;
    smaller.load_state_dict(model.state_dict());
    change(smaller.eval());
    const auto session = inference::session(smaller, {.example = zeros({1, 1, 28, 28}, t)});
    rows.push_back(row(step, smaller, x, labels, [&](const Tensor& x) { return session(x.astype(t)); }));
  };
  serve("a session of 16-bit weights", bfloat16, [](nn::Module& m) { m.to(bfloat16); });
  serve("of int8 weights", float32, [](nn::Module& m) { quant::quantize_(m, quant::int8_weights()); });
  serve("of 8-bit floats", float32, [](nn::Module& m) { quant::quantize_(m, quant::float8_weights()); });
  serve("of int8, activations rounded in each call", float32,
        [](nn::Module& m) { quant::quantize_(m, quant::int8_dynamic()); });
  serve("of int8, activations by fixed scales", float32, [&](nn::Module& m) {
    quant::prepare_(m, quant::int8_fixed());
    static_cast<Net&>(m)(x(slice(0, 256))).eval();
    quant::convert_(m);
  });
  serve("of 4-bit weights", float32, [](nn::Module& m) { quant::quantize_(m, quant::int4_weights(32)); });
  const auto trained = inference::session(rounded, {.example = zeros({1, 1, 28, 28})});
  rows.push_back(row("of 4-bit weights that were trained to be", rounded, x, labels, trained));
  draw(rows, "out/deploy.png");
  std::printf("wrote out/deploy.safetensors and out/deploy.png\n");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, deploy); }
