// Tests ranks whose values are on GPUs of their own, which exchange them by themselves: nothing goes by way
// of the host; bits are the CPU's; what others are told where a rank fails in the middle of it. Each process
// has an emulated GPU, or one of the machine's (tests/backends/cuda/CMakeLists.txt); elsewhere there is
// nothing to test.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "lazy/distributed/data_parallel.hpp"
#include "lazy/distributed/zero.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/backends/cuda/on_gpu.hpp"
#include "tests/training/distributed/first_values.hpp"
#include "tests/training/distributed/worlds.hpp"

using namespace lazy;
using distributed::ReduceOp;

namespace {

boost::test_tools::assertion_result on_gpus(boost::unit_test::test_unit_id) {
  const char* const engine = std::getenv("LAZY_TEST_ENGINE");
  boost::test_tools::assertion_result r(engine && std::string(engine) == "nccl");
  r.message() << "no GPU of its own for each process";
  return r;
}

/// Counts calls of an emulated library's function since its construction; of a real one none.
class Calls {
 public:
  explicit Calls(const char* function) : function_(function), before_(now()) {}
  int64_t operator()() const { return now() - before_; }
  static bool are_counted() { return std::getenv("LAZY_CUDA_PATH"); }

 private:
  int64_t now() const { return are_counted() ? test::Emulated::count(function_) : 0; }
  const char* const function_;
  const int64_t before_;
};

/// Returns a rank's value, made on the CPU: numbers that round badly.
Tensor drawn(int rank, const Shape& shape, DType t) {
  Generator g(static_cast<uint64_t>(rank) + 40);
  set_default_device(cpu);
  const Tensor x = (randn(g, shape) * 100).astype(t).eval();
  set_default_device(cuda);
  return x;
}
std::vector<double> all_of(const Tensor& t) { return t.to(cpu).astype(float64).to_vector<double>(); }

void says(const std::string& what, const std::string& part) {
  BOOST_TEST(what.find(part) != std::string::npos, "'" << what << "' lacks '" << part << "'");
}

/// Runs a case as the ranks of a world. Of rank `bad` no good end is expected.
void run_ranks(const std::string& name, int ranks, const test::Variables& v, int bad = -1) {
  if (test::lacks_gpus("nccl", ranks)) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto children = test::start_world("distributed_devices/" + name, "nccl", ranks, v);
  for (size_t r = 0; r < children.size(); ++r)
    if (static_cast<int>(r) != bad) test::wait_for(children[r], name + ", rank " + std::to_string(r));
  if (bad >= 0) {
    ::kill(children[static_cast<size_t>(bad)], SIGKILL);
    ::waitpid(children[static_cast<size_t>(bad)], nullptr, 0);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  BOOST_TEST(seconds < 60.0, name << " took " << seconds << " s");
}

struct Net : nn::Module {
  nn::Linear first{6, 17}, out{17, 3};
  LAZY_MODULE(first, out)
  Tensor operator()(const Tensor& x) const { return out(relu(first(x))); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_devices, *boost::unit_test::precondition(on_gpus))

/// Runs as one process of a world, if it is one.
BOOST_AUTO_TEST_CASE(a_rank_of_values) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  distributed::init({.timeout = 60});
  const int me = distributed::rank(), ranks = distributed::world_size();
  reset_metrics();
  for (const DType t : {float32, bfloat16, float16, int32, uint8})
    for (const int64_t n : {int64_t{5}, int64_t{20'000}}) {
      std::vector<Tensor> of;
      for (int r = 0; r < ranks; ++r) of.push_back(drawn(r, {n * ranks}, t));
      const Tensor x = of[static_cast<size_t>(me)].to(cuda);
      Tensor sum = is_half(t) ? of[0].astype(float32) : of[0], most = of[0], all = of[0];
      for (int r = 1; r < ranks; ++r) {
        const Tensor& y = of[static_cast<size_t>(r)];
        sum = sum + (is_half(t) ? y.astype(float32) : y), most = maximum(most, y), all = concat({all, y});
      }
      sum = sum.astype(t);
      BOOST_TEST(all_of(distributed::all_reduce(x)) == all_of(sum), boost::test_tools::per_element());
      BOOST_TEST(all_of(distributed::all_reduce(x, ReduceOp::max)) == all_of(most),
                 boost::test_tools::per_element());
      BOOST_TEST((all_of(distributed::all_gather(x)) == all_of(all)));
      BOOST_TEST((all_of(distributed::reduce_scatter(x)) == all_of(sum(slice(me * n, (me + 1) * n)))));
      BOOST_TEST((all_of(distributed::broadcast(x, ranks - 1)) == all_of(of.back())));
      BOOST_TEST(
          (all_of(distributed::shift(x, 1)) == all_of(of[static_cast<size_t>((me + ranks - 1) % ranks)])));
      (void)x.eval();
      const Calls reads("cuMemcpyDtoHAsync");
      auto work = distributed::start_all_reduce({x, x * 2});
      const Tensor between = x + x;
      const std::vector<Tensor> sums = work.wait();
      (void)eval({sums[0], sums[1], between});
      BOOST_TEST(reads() == 0);  // the program does not wait for the device to know what it waits for
      BOOST_TEST((all_of(sums[0]) == all_of(sum)));
      BOOST_TEST((all_of(between) == all_of(of[static_cast<size_t>(me)] * 2)));
      Tensor passed = x;
      if (me > 0) passed = distributed::recv({n * ranks}, t, me - 1);
      if (me + 1 < ranks) distributed::send(passed, me + 1);
      distributed::barrier();
      BOOST_TEST((all_of(passed) == all_of(of[0])));
    }
  const distributed::Group some = distributed::new_group({ranks - 1, 0});
  if (some.contains_this())
    BOOST_TEST((all_of(distributed::all_gather(full({1}, static_cast<float>(me)), some)) ==
                std::vector<double>{static_cast<double>(ranks) - 1, 0}));
  BOOST_TEST(metrics().collectives > 80u);
  BOOST_TEST(metrics().call_host_transfers == 0u);
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(values_stay_on_their_gpus) {
  for (const int ranks : {2, 3}) run_ranks("a_rank_of_values", ranks, {});
}

/// Runs as one process of a world, if it is one: trains, and compares with threads that have no GPU.
BOOST_AUTO_TEST_CASE(a_rank_that_trains) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  const auto train = [](const Device& device, bool shards) {
    set_default_device(device);
    Net net;
    net.load_state_dict(test::first_values<Net>());
    net.to(device);
    std::optional<distributed::DataParallel> parallel;
    std::optional<distributed::ZeroOptimizer> zero;
    std::optional<optim::AdamW> plain;
    const optim::AdamWOptions options{.lr = 1e-2};
    if (shards)
      zero.emplace(net,
                   [&](const optim::ParameterList& p) { return std::make_unique<optim::AdamW>(p, options); });
    else
      parallel.emplace(net, distributed::DataParallelOptions{.bucket_bytes = 200, .first_bucket_bytes = 100}),
          plain.emplace(net.named_parameters(), options);
    std::vector<float> losses;
    for (int i = 0; i < 8; ++i) {
      const int me = distributed::rank();
      const Tensor x = drawn(me * 50 + i, {8, 6}, float32).to(device) / 100;
      set_default_device(device);
      shards ? zero->zero_grad() : plain->zero_grad();
      const Tensor loss = mean(square(net(x) - 1));
      shards ? zero->backward(loss) : parallel->backward(loss);
      if (shards) zero->clip_grad_norm_(0.5);
      shards ? zero->step() : plain->step();
      losses.push_back(distributed::all_reduce(loss.detach(), ReduceOp::mean).item<float>());
    }
    return losses;
  };
  set_default_device(cpu);
  (void)test::first_values<Net>();
  distributed::init({.timeout = 60});
  for (const bool shards : {false, true}) {
    reset_metrics();
    const std::vector<float> here = train(cuda, shards);
    BOOST_TEST(metrics().call_host_transfers == 0u);
    const std::vector<float> there = train(cpu, shards);
    for (size_t i = 0; i < here.size(); ++i) BOOST_TEST(std::abs(here[i] - there[i]) < 1e-5f);
    BOOST_TEST(here.back() < here.front());
  }
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(trains_by_gradients_that_stay_there) { run_ranks("a_rank_that_trains", 2, {}); }

/// Runs as one process of a world, if it is one. Rank 1 comes to an exchange when rank 0, which has started
/// it, has computed something else meanwhile.
BOOST_AUTO_TEST_CASE(a_rank_that_goes_on) {
  const char* const file = std::getenv("LAZY_TEST_FILE");
  if (!file) return;
  distributed::init({.timeout = 30});
  const Tensor x = ones({5000}) * 2;
  if (distributed::rank() == 1)
    for (int i = 0; i < 2000 && !std::ifstream(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  distributed::Work work = distributed::start_all_reduce({x});
  (void)eval({x});
  BOOST_TEST((x * 3).to_vector<float>()[4999] == 6);
  if (distributed::rank() == 0) std::ofstream(file) << "done";
  BOOST_TEST(work.wait()[0].to_vector<float>()[4999] == 4);
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(the_device_computes_while_it_exchanges) {
  const test::Folder folder;
  run_ranks("a_rank_that_goes_on", 2, {{"LAZY_TEST_FILE", folder / "done"}, {"EMULATED_CUDA_ASYNC", "100"}});
}

/// Runs as one process of a world, if it is one: sums are NCCL's own, and the same on all ranks; rank 1 has
/// them in order in the end.
BOOST_AUTO_TEST_CASE(a_rank_that_lets_nccl_add) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  distributed::init({.timeout = 60});
  const int me = distributed::rank(), ranks = distributed::world_size();
  const Calls reductions("ncclAllReduce"), parts("ncclReduceScatter");
  for (const DType t : {float32, bfloat16, int32, int16}) {
    Tensor sum = drawn(0, {3001 * ranks}, t).astype(float64);
    for (int r = 1; r < ranks; ++r) sum = sum + drawn(r, {3001 * ranks}, t).astype(float64);
    const Tensor x = drawn(me, {3001 * ranks}, t).to(cuda), y = distributed::all_reduce(x);
    const Tensor off = abs(y.to(cpu).astype(float64) - sum);
    BOOST_TEST(max(off).item<double>() <= (t == bfloat16 ? 16.0 : t == float32 ? 1e-3 : 0.0));
    BOOST_TEST((all_of(distributed::reduce_scatter(x)) == all_of(y(slice(me * 3001, (me + 1) * 3001)))));
    const auto every = all_of(distributed::all_gather(y));
    for (int r = 0; r < ranks; ++r)
      BOOST_TEST((std::equal(every.begin(), every.begin() + 3001 * ranks, every.begin() + r * 3001 * ranks)));
    (void)distributed::all_reduce(x, ReduceOp::max).eval();
  }
  BOOST_TEST(reductions() == (Calls::are_counted() ? 3 : 0));  // of int16 NCCL knows nothing
  BOOST_TEST(parts() == (Calls::are_counted() ? 3 : 0));
  if (me == 1) config::set("LAZY_COMM_SUMS", "ordered");
  try {
    (void)distributed::all_reduce(ones({10})).eval();
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    says(e.what(), "ranks do different things");
    says(e.what(), "on a GPU, which adds up itself (LAZY_COMM_SUMS=any), its number");
  }
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(nccl_adds_where_it_may) {
  for (const int ranks : {2, 3}) run_ranks("a_rank_that_lets_nccl_add", ranks, {{"LAZY_COMM_SUMS", "any"}});
}

/// Runs as one process of a world, if it is one. Rank 1 fails in the middle of the second exchange.
BOOST_AUTO_TEST_CASE(a_rank_that_fails) {
  const char* const text = std::getenv("LAZY_TEST_FAULT");
  if (!text) return;
  const std::string fault = text;
  distributed::init();
  const bool bad = distributed::rank() == 1;
  const Tensor x = ones({1000});
  BOOST_TEST(distributed::all_reduce(x).to_vector<float>()[0] == distributed::world_size());
  if (bad && fault == "errs") test::Emulated::inject("ncclGroupEnd", 1, 2);
  if (bad && fault == "late") test::Emulated::inject("ncclCommGetAsyncError", 30, 6);
  std::thread later;
  if (bad && (fault == "dies" || fault == "stops"))
    later = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      ::raise(fault == "dies" ? SIGKILL : SIGSTOP);
    });
  const auto begin = std::chrono::steady_clock::now();
  try {
    (void)distributed::all_reduce(x * 2).eval();
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    const std::string what = e.what();
    if (fault == "hangs") says(what, "not in time, 2 s:");
    else if (fault == "stops") says(what, "nothing has been heard of rank 1");
    else if (!bad) says(what, "rank 1");
    else says(what, fault == "errs" ? "NCCL: unhandled system error" : "NCCL: remote process exited");
    says(what, "is at all_reduce of 1000 x float32, sum, on a GPU, its number 2, at devices.cpp:");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  BOOST_TEST(seconds < 10.0);
  // The program goes on, alone, and what NCCL had under way holds nothing up.
  BOOST_TEST((x + 1).to_vector<float>()[0] == 2);
  BOOST_CHECK_THROW((void)distributed::all_reduce(x).eval(), CommunicationError);
  if (later.joinable()) later.join();
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(the_others_are_told_of_a_rank_that_fails_in_an_exchange) {
  for (const char* const fault : {"dies", "stops", "hangs", "errs", "late"})
    for (const int ranks : {2, 3})
      run_ranks("a_rank_that_fails", ranks,
                {{"LAZY_TEST_FAULT", fault},
                 {"EMULATED_CUDA_ASYNC", "100"},
                 {"EMULATED_CUDA_STALL", std::string(fault) == "errs" ? "" : "1:2"},
                 {"LAZY_COMM_SILENCE", "2"},
                 {"LAZY_COMM_TIMEOUT", std::string(fault) == "hangs" ? "2" : "60"}},
                std::string(fault) == "dies" || std::string(fault) == "stops" ? 1 : -1);
}

/// Runs as one process of a world, if it is one. Rank 1 has its value on the CPU, or on another GPU than
/// before.
BOOST_AUTO_TEST_CASE(a_rank_that_is_elsewhere) {
  const char* const where = std::getenv("LAZY_TEST_WHERE");
  if (!where) return;
  distributed::init();
  const Tensor x = ones({10});
  (void)distributed::all_reduce(x).eval();
  const Tensor y = distributed::rank() != 1 ? x : std::string(where) == "cpu" ? x.to(cpu) : x.to(cuda(1));
  try {
    (void)distributed::all_reduce(y).eval();
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    says(e.what(), "ranks do different things");
    says(e.what(), "rank 0 is at all_reduce of 10 x float32, sum, on a GPU, its number 2");
    if (std::string(where) != "cpu") says(e.what(), "on its GPU number 2");
  }
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(ranks_whose_values_are_elsewhere_are_told) {
  for (const char* const where : {"cpu", "other"})
    run_ranks("a_rank_that_is_elsewhere", 2,
              {{"LAZY_TEST_WHERE", where}, {"EMULATED_CUDA_DEVICES", "2"}, {"LAZY_COMM_TIMEOUT", "60"}});
}

/// Runs as one process of a world, if it is one.
BOOST_AUTO_TEST_CASE(a_rank_without_nccl) {
  const char* const without = std::getenv("LAZY_TEST_NO_NCCL");
  if (!std::getenv("LAZY_TEST_RANKS") || !without) return;
  if (std::string(std::getenv("RANK")) == "1") config::set("LAZY_CUDA_PATH", without);
  try {
    distributed::init({.timeout = 30});
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    says(e.what(), "LAZY_COMM=nccl: rank 1: no NCCL: looked for libnccl.so.2 in ");
  }
}

BOOST_AUTO_TEST_CASE(a_missing_library_is_named) { run_ranks("a_rank_without_nccl", 2, {}); }

BOOST_AUTO_TEST_SUITE_END()
