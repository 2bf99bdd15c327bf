// Times steps of training: forward, backward and update in one flush. Prints one line each: the median of a
// step in milliseconds once it is warm, the first step with all that it compiles, the peak of tensor bytes
// and of the process and by how much it grew, and how many flushes and programs the steps took.
// bench/peers/training.py does the same with torch, training_jax.py with JAX. Compare memory a workload at a
// time: a process never shrinks.
//
//   bench_training [--only NAME] [--seconds S]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lazy/lazy.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"

namespace {
using namespace lazy;
using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point t) {
  return std::chrono::duration<double, std::milli>(clock::now() - t).count();
}

/// Returns the most memory that the process has had, in MB.
double process_mb() {
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_maxrss) / 1e3;
}

/// Makes a step: a function that trains once and returns the loss.
using Step = std::function<Tensor()>;
struct Workload {
  const char* name;
  std::function<Step()> begin;
};

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
Workload mlp(const char* name, const Options& options) {
  return {name, [options] {
            auto net = std::make_shared<models::MLP>(784, std::vector<int64_t>{512, 512, 10});
            auto optimizer = std::make_shared<Optimizer>(net->named_parameters(), options);
            const Tensor x = rand({128, 784}).eval(), t = randint(0, 10, {128}).eval();
            return step_of(net, optimizer, [=](models::MLP& m) { return cross_entropy(m(x), t); });
          }};
}

Workload resnet18() {
  return {"resnet18_sgd", [] {
            auto net = std::make_shared<models::ResNet>(models::resnet18(1000));
            auto optimizer =
                std::make_shared<optim::SGD>(net->named_parameters(), optim::SGDOptions{.lr = 1e-3});
            const Tensor x = rand({8, 3, 224, 224}).eval(), t = randint(0, 1000, {8}).eval();
            return step_of(net, optimizer, [=](models::ResNet& m) { return cross_entropy(m(x), t); });
          }};
}

Workload gpt_mini() {
  return {
      "gpt_mini_adamw", [] {
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

Workload lstm() {
  return {"lstm_adam", [] {
            auto net = std::make_shared<Recurrent>();
            auto optimizer =
                std::make_shared<optim::Adam>(net->named_parameters(), optim::AdamOptions{.lr = 1e-3});
            const Tensor x = rand({32, 128, 64}).eval(), t = randint(0, 10, {32}).eval();
            return step_of(net, optimizer, [=](Recurrent& m) { return cross_entropy(m(x), t); });
          }};
}

void measure(const Workload& w, double seconds) {
  manual_seed(1);
  const double at_start = process_mb();
  const Step step = w.begin();
  auto first = clock::now();
  step().eval();
  const double first_step = milliseconds_since(first);
  // The model is as it was, but for one step: what came with it is not counted.
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  const auto begin = clock::now();
  first = clock::now();
  step().eval();
  const double second = milliseconds_since(first);
  step().eval();
  const uint64_t misses = metrics().program_misses;
  std::vector<double> times;
  const uint64_t flushes = metrics().flushes;
  while (times.size() < 5 || (milliseconds_since(begin) < 1000 * seconds && times.size() < 400)) {
    first = clock::now();
    step().eval();
    times.push_back(milliseconds_since(first));
  }
  std::sort(times.begin(), times.end());
  const Metrics m = metrics();
  std::printf(
      "%s,median_ms=%.3f,min_ms=%.3f,first_step_ms=%.1f,second_step_ms=%.1f,peak_mb=%.1f,extra_mb=%.1f,"
      "process_mb=%.0f,grown_mb=%.0f,flushes_a_step=%.2f,late_compiles=%llu\n",
      w.name, times[times.size() / 2], times[0], first_step, second, static_cast<double>(m.bytes_peak) / 1e6,
      static_cast<double>(m.bytes_peak - before) / 1e6, process_mb(), process_mb() - at_start,
      static_cast<double>(m.flushes - flushes) / static_cast<double>(times.size()),
      static_cast<unsigned long long>(m.program_misses - misses));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  double seconds = 3;
  for (int i = 1; i + 1 < argc; i += 2)
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    else if (!std::strcmp(argv[i], "--seconds")) seconds = std::atof(argv[i + 1]);
  const Workload all[] = {mlp<optim::SGD>("mlp_sgd", optim::SGDOptions{.lr = 1e-3}),
                          mlp<optim::Adam>("mlp_adam", optim::AdamOptions{}), lstm(), gpt_mini(), resnet18()};
  for (const Workload& w : all)
    if (std::string(w.name).find(only) != std::string::npos) measure(w, seconds);
}
