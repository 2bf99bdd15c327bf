// Tensors on one GPU, on another, and on the CPU.
#include "tests/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {
boost::test_tools::assertion_result two(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result r(cuda_device_count() >= 2);
  r.message() << "there is one GPU";
  return r;
}
}  // namespace

BOOST_FIXTURE_TEST_SUITE(devices, OnGpu)

BOOST_AUTO_TEST_CASE(they_say_what_they_are) {
  const std::string said = describe(cuda);
  BOOST_TEST(contains(said, ", sm_"), said);
  BOOST_TEST(contains(said, " multiprocessors, "), said);
  BOOST_TEST(is_available(cuda));
  BOOST_TEST(!is_available(cuda(200)));
  const std::string none = thrown<DeviceError>([] { (void)zeros({2}).to(cuda(200)); });
  BOOST_TEST(contains(none, "there is no cuda:200: this machine has "), none);
  BOOST_TEST(contains(none, " (devices.cpp:"), none);
}

BOOST_AUTO_TEST_CASE(the_default_is_settable) {
  BOOST_TEST(to_string(default_device()) == "cuda:0");
  BOOST_TEST(to_string(zeros({2}).device()) == "cuda:0");
  BOOST_CHECK_THROW(set_default_device(cuda(100)), DeviceError);
  BOOST_TEST(to_string(default_device()) == "cuda:0");
  const OnCpu host;
  BOOST_TEST(to_string(zeros({2}).device()) == "cpu");
}

BOOST_AUTO_TEST_CASE(mixing_the_cpu_and_a_gpu_is_an_error) {
  const Tensor h = varied({3}), d = h.to(cuda);
  const std::string said = thrown<DeviceError>([&] { (void)(h + d); });
  BOOST_TEST(said == "add: operands are on cpu and cuda:0; move one with to() (devices.cpp:" +
                         std::to_string(__LINE__ - 2) + ")");
  BOOST_TEST((bits(d * 2 + 1) == bits(h * 2 + 1)));  // scalars are anywhere
  BOOST_TEST(to_string((d * 2).device()) == "cuda:0");
  BOOST_TEST(to_string((h * 2).device()) == "cpu");
}

BOOST_AUTO_TEST_CASE(what_to_takes) {
  const Tensor constant = full({3, 2}, 1.5f);
  BOOST_TEST((bits(constant.to(cpu)) == bits(constant)));
  BOOST_TEST(to_string(constant.to(cpu).device()) == "cpu");
  const Tensor steps = arange(5);
  BOOST_TEST((bits(steps.to(cpu)) == bits(steps)));
  const Tensor h = varied({4, 6}), d = h.to(cuda);
  BOOST_TEST(
      (bits(d(slice(1, 3), slice(none, none, -2)).to(cpu)) == bits(h(slice(1, 3), slice(none, none, -2)))));
  BOOST_TEST((bits((d + 1).T().to(cpu)) == bits((h + 1).T())));
  BOOST_TEST((bits((h * 3 + 1).to(cuda)) == bits(h * 3 + 1)));  // pending, where it is
  BOOST_TEST((bits(d(slice(2, 2)).to(cpu)) == bits(h(slice(2, 2)))));
  BOOST_TEST(d.to(cuda).handle().get() == d.handle().get());
}

BOOST_AUTO_TEST_CASE(two_gpus, *boost::unit_test::precondition(two)) {
  const Tensor h = varied({300, 7}), a = h.to(cuda), b = h.to(cuda(1));
  BOOST_TEST(to_string((b * 2).device()) == "cuda:1");
  const std::string said = thrown<DeviceError>([&] { (void)(a + b); });
  BOOST_TEST(said == "add: operands are on cuda:0 and cuda:1; move one with to() (devices.cpp:" +
                         std::to_string(__LINE__ - 2) + ")");
  BOOST_TEST((bits(sum(b * 2, {0})) == bits(sum(h * 2, {0}))));
  BOOST_TEST((bits(b.to(cuda) - a) == bits(h - h)));
}

BOOST_AUTO_TEST_CASE(programs_serve_both, *boost::unit_test::precondition(two)) {
  const Tensor h = varied({300, 7});
  const auto step = [](const Tensor& x) { return bits(exp(x) - sum(x, {0}, keepdims)); };
  const auto first = step(h.to(cuda));
  const uint64_t compiled = metrics().kernels_compiled;
  for (int i = 0; i < 5; ++i) {  // as graphs, too, each GPU its own
    BOOST_TEST((step(h.to(cuda(1))) == first));
    BOOST_TEST((step(h.to(cuda)) == first));
  }
  BOOST_TEST(metrics().kernels_compiled == compiled);
}

BOOST_AUTO_TEST_CASE(each_has_memory_of_its_own, *boost::unit_test::precondition(two)) {
  (void)gpu(1);
  const size_t first = gpu(0).allocator.stats().used, second = gpu(1).allocator.stats().used;
  {
    const Tensor x = varied({1 << 20}).to(cuda(1));
    BOOST_TEST(gpu(0).allocator.stats().used == first);
    BOOST_TEST(gpu(1).allocator.stats().used >= second + (size_t{4} << 20));
  }
  BOOST_TEST(gpu(1).allocator.stats().used == second);
}

// The copy must see what the source's stream still has to do, and the source's memory must not be used again
// before it was read.
BOOST_AUTO_TEST_CASE(copies_between_them_are_in_order, *boost::unit_test::precondition(two)) {
  const Tensor h = varied({50'000});
  std::vector<uint64_t> wanted = bits(exp(h) * 3);
  for (int i = 0; i < 10; ++i) {
    Tensor there;
    {
      const Tensor x = exp(h.to(cuda)) * 3;
      there = x.to(cuda(1));
    }
    const Tensor over = (h.to(cuda) * 0 + 7).eval();  // where x was
    Tensor back = there.to(cuda);
    there = {};
    const Tensor other = (h.to(cuda(1)) * 0 + 9).eval();
    BOOST_TEST((bits(back) == wanted));
  }
}

BOOST_AUTO_TEST_CASE(synchronize_waits_for_all) {
  const Tensor x = (varied({1000}).to(cuda) + 1).eval();
  BOOST_CHECK_NO_THROW(synchronize());
  BOOST_CHECK_NO_THROW(synchronize(cuda));
  BOOST_CHECK_NO_THROW(synchronize(cpu));
}

BOOST_AUTO_TEST_SUITE_END()
