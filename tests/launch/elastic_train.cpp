// elastic_train FOLDER STEPS COMMIT_EVERY [background|hangs]: trains a small net for the tests of elastic
// launches. Rank 0 appends a line for each generation and step to FOLDER/log, each rank writes its process's
// number to FOLDER/pid.RANK. With "hangs" rank 0 does nothing more after step 15 of the first generation.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "lazy/data/data.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/elastic.hpp"

using namespace lazy;

namespace {

struct Net : nn::Module {
  nn::Linear hidden{6, 64}, out{64, 1};
  LAZY_MODULE(hidden, out)
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))); }
};

void train(const std::string& folder, int64_t steps, int64_t every, const std::string& how) {
  training::Accelerator accelerator({.asynchronous_saves = how == "background"});
  {
    const std::string path = folder + "/pid." + std::to_string(accelerator.process_index());
    std::ofstream(path + ".part") << getpid() << "\n";
    std::rename((path + ".part").c_str(), path.c_str());
  }
  std::FILE* const log = accelerator.is_main_process() ? std::fopen((folder + "/log").c_str(), "a") : nullptr;
  manual_seed(3);
  Net net;
  optim::AdamW optimizer(net.named_parameters(), {.lr = 1e-2});
  Generator g(9);
  const Tensor x = randn(g, {48, 6}).eval(), y = sum(x, 1, true).eval();
  auto loader =
      accelerator.prepare(data::DataLoader(data::TensorDataset(x, y), {.batch_size = 8, .shuffle = true}));
  accelerator.prepare(net, optimizer);
  training::ElasticState state(accelerator, folder + "/state");
  int resets = 0;
  state.add("loader", loader).on_reset([&] { ++resets; });
  int64_t step = state.restore();
  if (log)
    std::fprintf(log, "generation %d of %d ranks goes on from step %lld, %d resets\n", state.generation(),
                 accelerator.num_processes(), static_cast<long long>(step), resets),
        std::fflush(log);
  while (step < steps)
    for (const auto& [inputs, targets] : loader) {
      const Tensor loss = mean(square(net(inputs) - targets));
      accelerator.backward(loss);
      accelerator.step(optimizer);
      accelerator.zero_grad(optimizer);
      const float of_all = accelerator.reduce(loss, distributed::ReduceOp::mean).item<float>();
      ++step;
      if (log)
        std::fprintf(log, "step %lld loss %a\n", static_cast<long long>(step), static_cast<double>(of_all)),
            std::fflush(log);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      if (step % every == 0) state.commit(step);
      if (how == "hangs" && step == 15 && log && state.generation() == 0) pause();
      if (step == steps) break;
    }
  accelerator.wait_for_saves();
  if (log) std::fprintf(log, "done\n"), std::fclose(log);
  accelerator.print("done: %d restarts\n", state.restarts());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return training::run_elastic(
      [&] { train(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), argc > 4 ? argv[4] : ""); });
}
