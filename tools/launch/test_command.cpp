// lazy-launch test: shows that ranks meet here, exchange, and train to the same weights.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "lazy/distributed/data_parallel.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tools/launch/commands.hpp"
#include "tools/launch/ranks.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

struct Net : nn::Module {
  nn::Linear hidden{4, 8}, out{8, 1};
  LAZY_MODULE(hidden, out)
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))); }
};

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string(what) + " gave something else than expected");
}

void exchange() {
  const int rank = distributed::rank(), ranks = distributed::world_size();
  const float own = static_cast<float>(rank + 1);
  const Tensor x = full({4}, own);
  const auto sum = distributed::all_reduce(x).to_vector<float>();
  expect(sum == std::vector<float>(4, static_cast<float>(ranks * (ranks + 1) / 2)), "all_reduce");
  const auto all = distributed::all_gather(x).to_vector<float>();
  for (size_t i = 0; i < all.size(); ++i) expect(all[i] == static_cast<float>(i / 4 + 1), "all_gather");
  expect(all.size() == 4 * static_cast<size_t>(ranks), "all_gather");
  const auto last = distributed::broadcast(x, ranks - 1).to_vector<float>();
  expect(last == std::vector<float>(4, static_cast<float>(ranks)), "broadcast");
  distributed::barrier();
}

/// Takes steps on data of this rank's own, and compares the weights with all ranks'.
void train() {
  manual_seed(static_cast<uint64_t>(distributed::rank()) + 1);
  Net net;
  distributed::DataParallel parallel(net);
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  const Tensor x = randn({16, 4}).eval(), y = sum(x, 1, true).eval();
  double first = 0, loss = 0;
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    const Tensor difference = net(x) - y, error = mean(difference * difference);
    parallel.backward(error);
    optimizer.step();
    loss = distributed::all_reduce(error, distributed::ReduceOp::mean).item<double>();
    if (i == 0) first = loss;
  }
  expect(loss < first, "twenty steps of training");
  for (const ParameterRef& p : net.parameters()) {
    const Tensor own = *p;
    const auto least = distributed::all_reduce(own, distributed::ReduceOp::min).to_vector<float>();
    const auto most = distributed::all_reduce(own, distributed::ReduceOp::max).to_vector<float>();
    expect(least == most, "a comparison of the ranks' weights");
  }
}

}  // namespace

int test_rank() {
  distributed::init();
  exchange();
  train();
  if (distributed::is_main_process())
    std::printf("%d ranks: collectives and a training step ok\n", distributed::world_size());
  distributed::finalize();
  return 0;
}

int test_command(int argc, char** argv) {
  CLI::App app("Runs a small program of collectives and training as ranks of this machine.",
               "lazy-launch test");
  Launch l;
  l.processes = 2;
  app.add_option("--nproc", l.processes, "ranks")->check(CLI::Range(1, 64))->capture_default_str();
  if (const auto status = parsed(app, argc, argv)) return *status;
  l.prefix = false;
  l.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "test-rank"};
  return run_ranks(l);
}

}  // namespace lazy::tool
