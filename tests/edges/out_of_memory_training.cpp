// Makes memory run out anywhere in training: each allocation of a backward pass, a step, a loader, a
// checkpoint and its restoring fails in turn, alone or with all after it. Nothing may end the program, the
// model has its values from before or after the step, and training goes on.
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lazy/data/data.hpp"
#include "lazy/inference/replay.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/training.hpp"
#include "support/config.hpp"
#include "tests/common/folder.hpp"
#include "tests/edges/failing_allocations.hpp"

using namespace lazy;

namespace {

using Values = std::vector<float>;

struct Net : nn::Module {
  nn::Linear a{6, 8};
  nn::BatchNorm1d norm{8};
  nn::Linear b{8, 3};
  LAZY_MODULE(a, norm, b)
  Tensor operator()(const Tensor& x) { return b(relu(norm(a(x)))); }
};

/// Holds a model in training, which begins with the same values each time.
struct Training {
  Net net;
  optim::AdamW optimizer;
  Tensor x, labels;

  Training() : optimizer((manual_seed(1), net = Net(), net.named_parameters()), {.lr = 1e-2}) {
    Generator g(3);
    x = randn(g, {5, 6});
    labels = randint(g, 0, 3, {5});
    eval(x, labels);
  }
  void backward() {
    optimizer.zero_grad();
    loss = cross_entropy(net(x), labels);
    loss.backward();
  }
  void step() {
    backward();
    optimizer.step();
    loss.eval();
  }
  Values values() {
    Values all;
    for (const auto& [name, t] : net.state_dict())
      for (const float v : t.to(float32).to_vector<float>()) all.push_back(v);
    return all;
  }
  Tensor loss;
};

struct Program {
  const char* name;
  std::function<void(Training&)> run;
  bool changes = false;  // the model
  bool threads = false;  // several threads work, and may fail
  bool cold = false;     // nothing is compiled before
  long each = 1;         // every so many allocations one is tried
};

bool wrong(const Program& p, long at, const std::string& what) {
  std::printf("%s, allocation %ld%s: %s\n", p.name, at, failing::and_later ? " and later" : "", what.c_str());
  return false;
}

/// Runs the program with allocation `at` failing. False if something is wrong; `some` is set if one failed.
bool one_failure(const Program& p, long at, bool& some) {
  Training t;
  t.step();
  const Values before = t.values();
  if (p.cold) cache::clear();
  const long failures = failing::failures;
  bool thrown = false;
  try {
    const failing::Armed scope(at, p.threads);
    p.run(t);
  } catch (const std::exception&) { thrown = true; }
  some = failing::failures != failures;
  if (!some) return !thrown || wrong(p, at, "an exception though nothing failed");
  try {
    const Values after = t.values();
    if (!p.changes && after != before) return wrong(p, at, "the model has changed");
    p.run(t);
    if (!p.changes && t.values() != before) return wrong(p, at, "the model has changed afterwards");
    t.step();
    for (const float v : t.values())
      if (!(v == v)) return wrong(p, at, "a parameter is NaN");
  } catch (const std::exception& e) { return wrong(p, at, std::string("afterwards: ") + e.what()); }
  return true;
}

bool each_failure(const Program& p) {
  bool good = true;
  long tried = 0;
  for (const bool later : {false, true}) {
    failing::and_later = later;
    bool some = true;
    for (long at = 0; some; at += p.each, ++tried) good &= one_failure(p, at, some);
  }
  std::printf("%-28s %5ld failures\n", p.name, tried);
  std::fflush(stdout);
  return good;
}

/// True if a replay that was called before asks for no memory, neither of the system nor for values.
bool replays_allocate_nothing() {
  const Tensor x = (arange(0, 60, 1, float32) * 0.01f).reshape({6, 10}).eval();
  const Tensor w = (arange(0, 100, 1, float32) * 0.01f).reshape({10, 10}).eval();
  const auto step = replay([w](const Tensor& v) {
    Tensor y = v;
    for (int i = 0; i < 10; ++i) y = softmax(tanh(linear(y, w)) + cumsum(y, 0) * 0.1f, -1);
    return std::pair(y, sum(y));
  });
  for (int i = 0; i < 3; ++i) step(x);
  const uint64_t replays = metrics().replays;
  {
    const failing::Armed counting(-2, false);
    for (int i = 0; i < 20; ++i) step(x);
  }
  const long asked = failing::asked;
  if (asked != 0) std::printf("20 replays allocated %ld times\n", asked);
  return asked == 0 && metrics().replays == replays + 20;
}

}  // namespace

int main() {
  ::alarm(280);
  config::set("LAZY_CACHE", "off");
  config::set("LAZY_NUM_THREADS", "1");
  const test::Folder folder;
  const training::CheckpointFolder checkpoints(folder.path(), {.keep = 2});
  bool good = replays_allocate_nothing();
  good &= each_failure({"a backward pass",
                        [](Training& t) {
                          t.backward();  // and moves the averages of the batch norm
                          t.loss.eval();
                        },
                        true});
  good &= each_failure({"a step", [](Training& t) { t.step(); }, true});
  good &= each_failure({.name = "a step, cold",
                        .run = [](Training& t) { t.step(); },
                        .changes = true,
                        .cold = true,
                        .each = 31});
  good &=
      each_failure({.name = "a loader",
                    .run =
                        [](Training&) {
                          const data::TensorDataset pairs(reshape(arange(40, float32), {10, 4}), arange(10));
                          data::DataLoader loader(pairs, {.batch_size = 2, .shuffle = true, .workers = 2});
                          float all = 0;
                          for (const auto& [x, y] : loader) all += sum(x).item<float>();
                          if (all != 780) throw std::logic_error("not all batches");
                        },
                    .threads = true});
  good &= each_failure({.name = "a checkpoint",
                        .run =
                            [&](Training& t) {
                              checkpoints.save(training::Checkpoint(7)
                                                   .add("model", t.net)
                                                   .add("optimizer", t.optimizer)
                                                   .add("generator", default_generator())
                                                   .add_text("note", "one"));
                            },
                        .each = 3});
  good &= each_failure({.name = "restoring",
                        .run =
                            [&](Training& t) {
                              checkpoints.save(
                                  training::Checkpoint(8).add("model", t.net).add("optimizer", t.optimizer));
                              const auto newest = checkpoints.newest();
                              if (!newest) throw std::logic_error("no checkpoint");
                              newest->restore("model", t.net).restore("optimizer", t.optimizer);
                            },
                        .each = 5});
  good &= each_failure({.name = "replays",
                        .run =
                            [](Training& t) {
                              t.net.eval();
                              const no_grad scope;
                              const auto step =
                                  replay([&](const Tensor& x) { return tanh(t.net(x)); }, t.net);
                              for (int i = 0; i < 3; ++i)
                                if (step(t.x).to_vector<float>() != tanh(t.net(t.x)).to_vector<float>())
                                  throw std::logic_error("another value than recording gives");
                              t.net.train();
                            },
                        .each = 3});
  std::printf("%s\n", good ? "good" : "BAD");
  return good ? 0 : 1;
}
