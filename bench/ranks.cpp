// Measures training on several ranks beside training on one: milliseconds a step, each rank a process of one
// thread on a core of its own, and how much faster n ranks go through the examples.
//
//   bench_ranks [--model resnet|gpt|mlp] [--ranks N] [--steps N] [--zero STAGE] [--bucket MIB]
//               [--engine memory|tcp|gloo]
//   lazy-launch --nproc N bench_ranks [--model ...]     measures the ranks that lazy-launch starts, alone
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lazy/distributed/data_parallel.hpp>
#include <lazy/distributed/zero.hpp>
#include <lazy/insight/insight.hpp>
#include <lazy/lazy.hpp>
#include <lazy/models/models.hpp>
#include <lazy/nn/nn.hpp>
#include <lazy/optim/optim.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {
using namespace lazy;
using Clock = std::chrono::steady_clock;

struct Asked {
  std::string model = "resnet";
  int ranks = 2, steps = 20, zero = 0;
  double bucket = 0;  // MiB; 0: the default
};

struct Mlp : nn::Module {
  nn::Linear a{1024, 4096}, b{4096, 4096}, c{4096, 10};
  LAZY_MODULE(a, b, c)
  Tensor operator()(const Tensor& x) const { return c(relu(b(relu(a(x))))); }
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

struct Measured {
  double ms = 0, wait_ms = 0, sent_mb = 0, peak_mb = 0;  // of a step; the median, means
};

/// Trains, and returns what a step took.
template <class Model, class Loss>
Measured train(Model& model, const Asked& asked, Loss&& loss_of) {
  std::unique_ptr<distributed::DataParallel> parallel;
  std::unique_ptr<distributed::ZeroOptimizer> zero;
  std::unique_ptr<optim::Optimizer> plain;
  if (asked.zero) {
    zero = std::make_unique<distributed::ZeroOptimizer>(
        model, [](const optim::ParameterList& p) { return std::make_unique<optim::AdamW>(p); },
        distributed::ZeroOptions{.stage = asked.zero});
  } else {
    distributed::DataParallelOptions options;
    if (asked.bucket > 0) options.bucket_bytes = static_cast<size_t>(asked.bucket * (1 << 20));
    parallel = std::make_unique<distributed::DataParallel>(model, options);
    plain = std::make_unique<optim::AdamW>(model.named_parameters());
  }
  std::vector<double> times;
  for (int i = 0; i < asked.steps + 5; ++i) {
    if (i == 5) reset_metrics();
    const auto begin = Clock::now();
    if (zero) zero->zero_grad();
    else plain->zero_grad();
    const Tensor loss = loss_of(model);
    if (zero) zero->backward(loss), zero->step();
    else parallel->backward(loss), plain->step();
    (void)loss.item<float>();
    if (i >= 5) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  const Metrics m = metrics();
  return {median(times), static_cast<double>(m.collective_wait_ns) / 1e6 / asked.steps,
          static_cast<double>(m.collective_bytes) / 1e6 / asked.steps,
          static_cast<double>(m.bytes_peak) / 1e6};
}

Measured run_rank(const Asked& asked) {
  distributed::init();
  manual_seed(1);
  Measured measured;
  if (asked.model == "resnet") {
    models::ResNet model = models::resnet18(100);
    const Tensor x = randn({8, 3, 96, 96}).eval(), y = arange(0, 8).eval();
    measured = train(model, asked, [&](auto& m) { return cross_entropy(m(x), y); });
  } else if (asked.model == "gpt") {
    models::GPT2 model(
        {.vocab_size = 4096, .n_positions = 256, .n_embd = 384, .n_layer = 6, .n_head = 6, .dropout = 0});
    const Tensor x = (arange(0, 4 * 128) % 4096).reshape({4, 128}).eval();
    measured = train(model, asked, [&](auto& m) {
      return cross_entropy(m(x).reshape({-1, 4096}), x.reshape({-1}));
    });
  } else {
    Mlp model;
    const Tensor x = randn({128, 1024}).eval(), y = (arange(0, 128) % 10).eval();
    measured = train(model, asked, [&](auto& m) { return cross_entropy(m(x), y); });
  }
  distributed::finalize();
  return measured;
}

/// Runs as many ranks, each on a core, and returns what rank 0 measured.
Measured run(int ranks, char** argv) {
  int ends[2];
  if (::pipe(ends)) std::abort();
  const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int port = 20000 + static_cast<int>(::getpid() % 20000);
  for (int r = 0; r < ranks; ++r) {
    if (::fork()) continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(r % cores), &set);
    ::sched_setaffinity(0, sizeof set, &set);
    ::setenv("RANK", std::to_string(r).c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
    ::setenv("MASTER_PORT", std::to_string(port + ranks).c_str(), 1);
    ::setenv("LAZY_NUM_THREADS", "1", 1);
    ::setenv("BENCH_OUT", std::to_string(r == 0 ? ends[1] : ::open("/dev/null", 1)).c_str(), 1);
    ::execv("/proc/self/exe", argv);
    std::abort();
  }
  Measured m;
  ::close(ends[1]);
  if (::read(ends[0], &m, sizeof m) != sizeof m) std::fprintf(stderr, "rank 0 measured nothing\n");
  ::close(ends[0]);
  while (::wait(nullptr) > 0) {}
  return m;
}

/// Runs as a rank that somebody else has started; rank 0 prints what it measured.
void run_launched(const Asked& asked) {
  const Measured m = run_rank(asked);
  if (std::getenv("RANK")[0] == '0')
    std::printf("%s: %s ranks %.1f ms a step; waits %.1f ms, sends %.1f MB a step; peak %.0f MB\n",
                asked.model.c_str(), std::getenv("WORLD_SIZE"), m.ms, m.wait_ms, m.sent_mb, m.peak_mb);
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--model") asked.model = value;
    else if (option == "--ranks") asked.ranks = std::atoi(value.c_str());
    else if (option == "--steps") asked.steps = std::atoi(value.c_str());
    else if (option == "--bucket") asked.bucket = std::atof(value.c_str());
    else if (option == "--zero") asked.zero = std::atoi(value.c_str());
    else if (option == "--engine") ::setenv("LAZY_COMM", value.c_str(), 1);
    else return std::fprintf(stderr, "bench_ranks: no option %s\n", option.c_str()), 2;
  }
  if (const char* const out = std::getenv("BENCH_OUT")) {
    const Measured m = run_rank(asked);
    return ::write(std::atoi(out), &m, sizeof m) == sizeof m ? 0 : 1;
  }
  if (std::getenv("RANK")) return run_launched(asked), 0;
  for (int round = 0; round < 3; ++round) {
    const Measured one = run(1, argv), many = run(asked.ranks, argv);
    std::printf(
        "%s: 1 rank %.1f ms, %d ranks %.1f ms, %.2f times the examples; waits %.1f ms, sends %.1f MB a step; "
        "peak %.0f MB, alone %.0f MB\n",
        asked.model.c_str(), one.ms, asked.ranks, many.ms, asked.ranks * one.ms / many.ms, many.wait_ms,
        many.sent_mb, many.peak_mb, one.peak_mb);
    std::fflush(stdout);
  }
}
