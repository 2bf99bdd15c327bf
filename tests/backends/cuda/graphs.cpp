// Tests programs of several kernels as CUDA graphs: when, with which calls, and what happens when one fails.
#include <thread>

#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

constexpr int kNotSupported = 801;

struct Fixture : OnGpu {
  const Tensor x = varied({40, 30}).to(cuda);
  const Tensor expected_x = varied({40, 30});
  /// Runs two kernels, which nothing fuses: a column's sum is needed before its elements.
  static std::vector<uint64_t> two(const Tensor& t, float c) { return bits(t * c - sum(t, {0}, keepdims)); }
  /// Returns the same from the CPU.
  std::vector<uint64_t> expected(float c) const {
    const OnCpu host;
    return two(expected_x, c);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(graphs, Fixture, *boost::unit_test::precondition(is_emulated))

BOOST_AUTO_TEST_CASE(from_the_third_run_on_it_is_one_launch) {
  const auto wanted = expected(2);
  for (int run = 1; run <= 6; ++run) {
    const Calls kernels("cuLaunchKernel"), graphs("cuGraphLaunch"), built("cuGraphInstantiateWithFlags"),
        set("cuGraphExecKernelNodeSetParams");
    const uint64_t counted = metrics().graph_launches;
    BOOST_TEST((two(x, 2) == wanted), "run " << run);
    BOOST_TEST(kernels() == (run < 3 ? 2 : 0));
    BOOST_TEST(graphs() == (run < 3 ? 0 : 1));
    BOOST_TEST(built() == (run == 3 ? 1 : 0));
    BOOST_TEST(metrics().graph_launches - counted == (run < 3 ? 0u : 1u));
    if (run > 4) BOOST_TEST(set() == 0);  // nothing moved
  }
}

BOOST_AUTO_TEST_CASE(arguments_change_in_the_nodes_that_have_them) {
  for (int run = 0; run < 5; ++run) two(x, 2);
  const Calls set("cuGraphExecKernelNodeSetParams"), graphs("cuGraphLaunch");
  BOOST_TEST((two(x, 3) == expected(3)));
  BOOST_TEST(set() == 1);  // the sum's has no scalar
  const Tensor other = varied({17, 90}, float32, 5);
  for (int run = 0; run < 2; ++run) {
    const auto there = two(other.to(cuda), 0.5f);
    const OnCpu host;
    BOOST_TEST((there == two(other, 0.5f)));
  }
  BOOST_TEST((two(x, 2) == expected(2)));
  BOOST_TEST(graphs() == 4);
}

BOOST_AUTO_TEST_CASE(addresses_change_in_the_nodes_that_have_them) {
  // Columns are in several blocks, whose sums pass through borrowed memory.
  const Tensor host[] = {varied({2100, 9}), varied({2100, 9}, float32, 7)};
  const Tensor there[] = {host[0].to(cuda), host[1].to(cuda)}, shift = varied({9}).to(cuda);
  const auto sums = [](const Tensor& t, const Tensor& s) { return bits(cumsum(sum(t * t, {0}) + s, 0) * s); };
  std::vector<std::vector<uint64_t>> wanted;
  {
    const OnCpu cpu;
    for (const Tensor& t : host) wanted.push_back(sums(t, varied({9})));
  }
  std::vector<Tensor> moved;  // so that borrowed memory has another address
  for (int run = 0; run < 24; ++run) {
    const Calls set("cuGraphExecKernelNodeSetParams"), kernels("cuLaunchKernel");
    const int which = run / 3 % 2;
    BOOST_TEST((sums(there[which], shift) == wanted[static_cast<size_t>(which)]), "run " << run);
    if (run > 6 && run % 3 == 2) BOOST_TEST(set() == 0);
    if (run > 6) BOOST_TEST(kernels() == 0);
    if (run % 6 == 5) moved.emplace_back(varied({run + 2, 31}).to(cuda)).eval();
  }
}

BOOST_AUTO_TEST_CASE(launches_of_a_run_that_failed_are_not_taken_for_the_next) {
  const Tensor y = varied({40, 30}, float32, 9), there = y.to(cuda);
  std::vector<uint64_t> wanted;
  {
    const OnCpu host;
    wanted = two(y, 2);
  }
  for (int run = 0; run < 5; ++run) two(x, 2);
  for (const char* call : {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams"}) {
    Emulated::inject(call, 1, call[7] == 'L' ? 1 : kNotSupported);
    const std::string said = thrown<DeviceError>([&] { two(there, 2); });
    BOOST_TEST(said.empty() == (call[7] != 'L'));
    BOOST_TEST((two(x, 2) == expected(2)), call);
    BOOST_TEST((two(there, 2) == wanted), call);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_that_cant_be_updated_is_built_again) {
  for (int run = 0; run < 5; ++run) two(x, 2);
  const Tensor y = varied({40, 30}, float32, 9);
  std::vector<Tensor> places;
  for (int nth : {1, 2}) {  // the first or the second node; both change
    const Tensor& moved = places.emplace_back((nth == 1 ? y : expected_x).to(cuda));
    const Calls built("cuGraphInstantiateWithFlags");
    BOOST_TEST(Emulated::inject("cuGraphExecKernelNodeSetParams", nth, kNotSupported));
    const auto got = two(moved, 4);
    BOOST_TEST(built() == 1);
    const OnCpu host;
    BOOST_TEST((got == two(nth == 1 ? y : expected_x, 4)), "node " << nth);
  }
  BOOST_TEST((two(x, 2) == expected(2)));
}

BOOST_AUTO_TEST_CASE(off) {
  const Override no("LAZY_CUDA_GRAPHS", "off");
  const Calls graphs("cuGraphLaunch"), kernels("cuLaunchKernel");
  for (int run = 0; run < 5; ++run) BOOST_TEST((two(x, 2) == expected(2)));
  BOOST_TEST(graphs() == 0);
  BOOST_TEST(kernels() == 10);
}

BOOST_AUTO_TEST_CASE(a_copy_in_the_middle_is_no_graph) {
  const auto step = [](const Tensor& t) {
    Tensor s = sum(t, {0});
    const Tensor before = s;  // so it is not updated in place
    s(slice(1, 9)) = t(2, slice(0, 8)) * 2;
    return std::pair(bits(t * s), bits(before));
  };
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> wanted;
  {
    const OnCpu host;
    wanted = step(expected_x);
  }
  const Calls copies("cuMemcpyDtoDAsync");
  for (int run = 0; run < 6; ++run) BOOST_TEST((step(x) == wanted), "run " << run);
  BOOST_TEST(copies() >= 6);
}

BOOST_AUTO_TEST_CASE(a_failing_launch_gives_everything_back) {
  for (int run = 0; run < 5; ++run) {
    const Tensor y = x * 2.0f - sum(x, {0}, keepdims);
    const size_t used = gpu().allocator.stats().used;
    const bool graph = run >= 2;
    constexpr int kInvalidValue = 1;
    BOOST_TEST(Emulated::inject(graph ? "cuGraphLaunch" : "cuLaunchKernel", graph ? 1 : 2, kInvalidValue));
    const std::string said = thrown<DeviceError>([&] { y.eval(); });
    const std::string line = std::to_string(__LINE__ - 1);
    BOOST_TEST(contains(said, graph ? "cuGraphLaunch: CUDA_ERROR_INVALID_VALUE"
                                    : "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"),
               said);
    BOOST_TEST(said.ends_with("(graphs.cpp:" + line + ")"), said);
    BOOST_TEST(gpu().allocator.stats().used == used);
    BOOST_TEST((bits(y) == expected(2)), "again, run " << run);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_that_cant_be_built_fails_once) {
  for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags"}) {
    cache::clear();
    for (int run = 0; run < 2; ++run) two(x, 2);
    BOOST_TEST(Emulated::inject(call, call == std::string("cuGraphAddKernelNode") ? 2 : 1, kNotSupported));
    BOOST_TEST(contains(thrown<DeviceError>([&] { two(x, 2); }), "cuGraph"), call);
    const Calls graphs("cuGraphLaunch");
    for (int run = 0; run < 3; ++run) BOOST_TEST((two(x, 3) == expected(3)), call);
    BOOST_TEST(graphs() == 3);
  }
}

BOOST_AUTO_TEST_CASE(threads_share_a_gpu) {
  constexpr int kThreads = 4, kRuns = 12;
  std::vector<std::vector<std::vector<uint64_t>>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < kRuns; ++run) {
        const auto c = static_cast<float>(run + t);
        // Two threads run the same program, the others separate ones.
        if (t < 2) got[t].push_back(two(x, c));
        else if (t == 2) got[t].push_back(bits(exp(x) / c - sum(exp(x), {0}, keepdims)));
        else got[t].push_back(bits(cumsum(x * c, 0) + max(x, {0})));
      }
    });
  for (std::thread& t : threads) t.join();
  const OnCpu host;
  for (int t = 0; t < kThreads; ++t)
    for (int run = 0; run < kRuns; ++run) {
      const auto c = static_cast<float>(run + t);
      const Tensor& h = expected_x;
      const auto wanted = t < 2    ? two(h, c)
                          : t == 2 ? bits(exp(h) / c - sum(exp(h), {0}, keepdims))
                                   : bits(cumsum(h * c, 0) + max(h, {0}));
      BOOST_TEST((got[t][run] == wanted), "thread " << t << ", run " << run);
    }
}

BOOST_AUTO_TEST_SUITE_END()
