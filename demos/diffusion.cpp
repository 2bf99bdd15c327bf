// Learns to turn noise into points of two moons, by denoising diffusion (Ho, Jain and Abbeel, 2020).
#include <cmath>
#include <cstdio>
#include <numbers>

#include "demo.hpp"
#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/plot/figure.hpp"
#include "lazy/training/training.hpp"
#include "picture.hpp"
#include "steps.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(diffusion [FOLDER [STEPS]]
Learns two moons of points (default: 10000 steps), then turns noise into points. Writes how these become moons
to FOLDER/diffusion.png (default: out).
)";

constexpr int64_t kTimes = 50;  // steps from a point to noise
constexpr int64_t kPoints = 2000;

/// Returns the noise in points (n, 2) at times (n).
struct Denoiser : nn::Module {
  nn::Embedding time{kTimes, 128};
  nn::Linear in{2, 128}, first{128, 128}, second{128, 128}, out{128, 2};
  LAZY_MODULE(time, in, first, second, out)
  Tensor operator()(const Tensor& x, const Tensor& times) const {
    return out(silu(second(silu(first(silu(in(x) + time(times)))))));
  }
};

/// Returns points of two half circles, and a little noise, of mean 0 and deviation 1.
Tensor moons(Generator& g, int64_t n) {
  const Tensor turn = rand(g, {n}) * std::numbers::pi, upper = (arange(n) % 2 == 0).astype(float32);
  const Tensor x = where(upper == 1, cos(turn), 1 - cos(turn)),
               y = where(upper == 1, sin(turn), 0.5 - sin(turn));
  const Tensor points = stack({x, y}, 1) + 0.05 * randn(g, {n, 2});
  return (points - mean(points, {0})) / stdev(points, {0});
}

/// Returns by how far points are from the moons at most, for all but a tenth of them.
double far(const Tensor& points, const Tensor& moons) {
  const Tensor d = points(_, newaxis) - moons(newaxis);
  const Tensor nearest = sqrt(min(sum(d * d, {-1}), {1}));
  return quantile(nearest, 0.9).item<double>();
}

/// Draws points in [-2.5, 2.5]: the more in a pixel, the darker.
plot::Figure seen(const Tensor& points, const std::string& title) {
  constexpr int64_t kSide = 160;
  const Tensor at = ((points + 2.5) * (kSide / 5.0)).astype(int64);
  const Tensor inside = all((at >= 0) & (at < kSide), {1});
  const Tensor pixel = where(inside, (kSide - 1 - at(_, 1)) * kSide + at(_, 0), 0);
  const Tensor counts =
      put_along_axis(zeros({kSide * kSide}), pixel, inside.astype(float32), 0, Combine::add);
  plot::Figure figure(title, {.width = 300, .height = 330});
  figure.images(exp(-0.7 * counts.reshape({1, kSide, kSide})));
  return figure;
}

void learn(const demo::Arguments& arguments) {
  const std::string folder = demo::argument(arguments, 0, "out");
  const long steps = demo::number(arguments, 1, 10000, 1, 1000000);
  manual_seed(6);
  Generator& g = default_generator();
  const Tensor points = moons(g, kPoints).eval();
  // At a time, sqrt(kept) of a point is left, and sqrt(1 - kept) of noise.
  const Tensor beta = linspace(1e-4, 0.25, kTimes), kept = cumprod(1 - beta, 0);
  eval(beta, kept);

  Denoiser model;
  optim::AdamW optimizer(model.named_parameters(), {.lr = 2e-3, .weight_decay = 0});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, steps);
  const auto order = std::make_shared<data::RandomSampler>(kPoints, g, true, steps * 512);
  data::DataLoader loader(data::TensorDataset(points), {.batch_size = 512, .sampler = order});
  training::Progress progress(steps, "diffusion", demo::on_standard_output());
  demo::Steps trained, drawn;
  for (const auto& [x, unused] : loader)
    trained.run([&, &x = x] {
      optimizer.zero_grad();
      const Tensor times = randint(g, 0, kTimes, {x.size(0)}), noise = randn(g, x.shape());
      const Tensor k = take(kept, times, 0)(_, newaxis);
      const Tensor loss = mse_loss(model(sqrt(k) * x + sqrt(1 - k) * noise, times), noise);
      loss.backward();
      optimizer.step();
      schedule.step();
      progress.update(loss);
    });
  progress.finish();

  const no_grad scope;
  const auto b = beta.to_vector<double>(), k = kept.to_vector<double>();
  Tensor x = randn(g, {kPoints, 2});
  const double before = far(x, points);
  std::vector<plot::Figure> steps_seen{seen(x, "noise")};
  for (int64_t t = kTimes - 1; t >= 0; --t) {
    const auto i = static_cast<size_t>(t);
    drawn.run([&] {
      const Tensor noise = model(x, full({kPoints}, t));
      x = (x - b[i] / std::sqrt(1 - k[i]) * noise) / std::sqrt(1 - b[i]) +
          (t > 0 ? std::sqrt(b[i]) : 0.0) * randn(g, {kPoints, 2});
      x.eval();
    });
    if (t % 10 == 0) steps_seen.push_back(seen(x, "after " + std::to_string(kTimes - t) + " steps"));
  }
  const std::string path = folder + "/diffusion.png";
  demo::make_folder_of(path);
  plot::Panels(steps_seen, 3).save(path);
  std::printf("nine tenths of the points are within %.3f of the moons (noise: %.3f): %s\n", far(x, points),
              before, far(x, points) < 0.15 ? "ok" : "not there yet");
  std::printf("wrote %s\nlearning: ", path.c_str());
  trained.report();
  std::printf("drawing: ");
  drawn.report();
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, learn); }
