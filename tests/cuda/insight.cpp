// What can be seen of work on a GPU: verification, traces, logs, dumps, counters.
#include <fstream>
#include <iterator>

#include "support/log_sink.hpp"
#include "tests/cuda/on_gpu.hpp"
#include "tests/folder.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Log lines of a scope.
struct Lines {
  Lines() {
    text().clear();
    logging::set_sink([](logging::Channel c, std::string_view t) {
      text() += std::string(logging::name_of(c)) + "|" + std::string(t) + "\n";
    });
  }
  ~Lines() { logging::set_sink({}); }
  static std::string& text() {
    static std::string lines;
    return lines;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(insight, OnGpu)

BOOST_AUTO_TEST_CASE(verification_is_silent_when_all_is_well) {
  const Override verify("LAZY_VERIFY", "1");
  const Lines log;
  Tensor x = varied({13, 7}).to(cuda);
  const Tensor y = tanh(x) - mean(x, {1}, keepdims);
  x(slice(2, 5), _) = 1;
  const Tensor z = matmul(y.T(), x);
  eval(y, z, argmax(x, {0}), cumsum(flip(x), 1));
  astype(astype(y, float16) * 3, float32).eval();
  BOOST_TEST(metrics().verify_runs > 0u);
  BOOST_TEST(metrics().verify_failures == 0u, Lines::text());
}

// A launch that the driver takes, and that never happens.
BOOST_AUTO_TEST_CASE(verification_finds_what_is_wrong, *boost::unit_test::precondition(is_emulated)) {
  const Override verify("LAZY_VERIFY", "1");
  const Tensor x = varied({500}).to(cuda);
  x.eval();
  const Tensor y = x * 2 + 1;
  const std::string at = "insight.cpp:" + std::to_string(__LINE__ - 1);
  const Lines log;
  BOOST_TEST(Emulated::inject("cuLaunchKernel", 1, 0));
  y.eval();
  BOOST_TEST(metrics().verify_failures == 1u);
  BOOST_TEST(contains(Lines::text(), at), Lines::text());
}

BOOST_AUTO_TEST_CASE(traces_have_launches_with_lines) {
  const Folder folder;
  profile::start(folder / "trace.json");
  const Tensor x = varied({100, 20}).to(cuda);
  for (int i = 0; i < 3; ++i) (exp(x) - sum(x, {0}, keepdims)).eval();
  const std::string at = "insight.cpp:" + std::to_string(__LINE__ - 1);
  profile::stop();
  const std::string trace = text_of(folder / "trace.json");
  BOOST_TEST(contains(trace, at));
  BOOST_TEST(contains(trace, "reduce_sum_insight.cpp_"));
}

BOOST_AUTO_TEST_CASE(dumps_have_the_text_and_its_registers) {
  const Folder folder;
  {
    const Override dump("LAZY_DUMP_DIR", folder / "d");
    const Tensor x = varied({100, 20}).to(cuda);
    (exp(x) - sum(x, {0}, keepdims)).eval();
    const Tensor e = exp(x - max(x, {-1}, keepdims));
    (e / sum(e, {-1}, keepdims)).eval();
  }
  const auto files = folder.files(".cu", "d");
  BOOST_TEST(files.size() >= 2u);
  for (const std::string& f : files) {
    const std::string text = text_of(folder / ("d/" + f));
    BOOST_TEST(contains(text, "extern \"C\" __global__"), f);
    BOOST_TEST(contains(text, "registers"), f);
    BOOST_TEST(contains(text, "spill"), f);
  }
}

BOOST_AUTO_TEST_CASE(counters) {
  const Tensor x = varied({100, 20}).to(cuda);
  BOOST_TEST(metrics().bytes_to_device == 8000u);
  (void)x(0).to_vector<float>();
  BOOST_TEST(metrics().bytes_from_device == 80u);
  for (int i = 0; i < 4; ++i) (exp(x) - sum(x, {0}, keepdims)).eval();
  BOOST_TEST(metrics().graph_launches == 2u);
  BOOST_TEST(metrics().fallbacks == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_live_counts_values_there) {
  const uint64_t before = metrics().bytes_live;
  const Tensor x = varied({1000}).to(cuda);
  BOOST_TEST(metrics().bytes_live >= before + 4000);
}

BOOST_AUTO_TEST_SUITE_END()
