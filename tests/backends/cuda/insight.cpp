// Tests what can be seen of work on a GPU: verification, traces, logs, dumps, counters.
#include <fstream>
#include <iterator>

#include "tests/backends/cuda/on_gpu.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Replaces the GPU by one whose kernels compute cos for sin.
class WrongBackend final : public jit::Backend {
 public:
  explicit WrongBackend(jit::Backend& right) : right_(right) {}
  const char* name() const override { return "wrong"; }
  Device device() const override { return right_.device(); }
  uint32_t code_class() const override { return right_.code_class(); }
  uint64_t context() const override { return right_.context(); }
  std::unique_ptr<jit::Kernel> compile(const jit::loop::LoopKernel& k) override {
    jit::loop::LoopKernel changed = k;
    for (auto& i : changed.body)
      if (i.code == jit::loop::Code::op && i.op == jit::Op::sin) i.op = jit::Op::cos;
    return right_.compile(changed);
  }
  void* allocate(size_t bytes) override { return right_.allocate(bytes); }
  void deallocate(void* p, size_t bytes) noexcept override { right_.deallocate(p, bytes); }
  void write(void* to, const void* from, size_t bytes) override { right_.write(to, from, bytes); }
  void read(void* to, const void* from, size_t bytes) override { right_.read(to, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { right_.copy(to, from, bytes); }
  void synchronize() override { right_.synchronize(); }
  jit::Workers workers() const override { return right_.workers(); }

 private:
  jit::Backend& right_;
};

/// Installs it as the first GPU for a scope. Values may refer to it afterwards, so it stays.
class Wrong {
 public:
  Wrong() : right_(std::move(jit::backends().cuda)) {
    jit::backends().cuda = std::make_unique<Devices>(*right_);
  }
  ~Wrong() { jit::backends().cuda = std::move(right_); }
  Wrong(const Wrong&) = delete;

 private:
  struct Devices final : jit::Devices {
    explicit Devices(jit::Devices& r) : right(r) {}
    int count() override { return 1; }
    jit::Backend& at(int i) override {
      static auto* const wrong = new WrongBackend(right.at(i));
      return *wrong;
    }
    std::vector<jit::Backend*> in_use() override { return right.in_use(); }
    const std::vector<jit::Backend*>& cross_compilers() override { return right.cross_compilers(); }
    jit::Devices& right;
  };
  std::unique_ptr<jit::Devices> right_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(insight, OnGpu)

BOOST_AUTO_TEST_CASE(verification_is_silent_when_all_is_well) {
  const Override verify("LAZY_VERIFY", "1");
  Tensor x = varied({13, 7}).to(cuda);
  const Tensor y = tanh(x) - mean(x, {1}, keepdims);
  x(slice(2, 5), _) = 1;
  const Tensor z = matmul(y.T(), x);
  eval(y, z, argmax(x, {0}), cumsum(flip(x), 1));
  astype(astype(y, float16) * 3, float32).eval();
  BOOST_TEST(metrics().verify_runs > 0u);
  BOOST_TEST(metrics().verify_failures == 0u);
}

BOOST_AUTO_TEST_CASE(verification_finds_what_is_wrong) {
  const Override verify("LAZY_VERIFY", "1");
  const Tensor x = varied({500}).to(cuda);
  const Wrong wrong;
  const Tensor y = sin(x);
  const std::string at = "sin at insight.cpp:" + std::to_string(__LINE__ - 1);
  const Tensor z = y * 2 + x;
  const std::string said = fresh::standard_error_of([&] { z.eval(); });
  BOOST_TEST(metrics().verify_failures == 1u);
  BOOST_TEST(contains(said, "first op that differs when run alone: " + at), said);
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

BOOST_AUTO_TEST_CASE(the_log_tells_of_devices, *boost::unit_test::precondition(is_emulated)) {
  const Override log("LAZY_LOG", "device");
  const std::string said = fresh::standard_error_of([] { BOOST_TEST(!is_available(cuda(250))); });
  BOOST_TEST(contains(said, "there is no cuda:250"), said);
}

BOOST_AUTO_TEST_SUITE_END()
