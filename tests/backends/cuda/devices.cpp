// Tests tensors on one GPU, on another, and on the CPU.
#include "lazy/core/build.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

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

/// Values that are asked for together take one flush on each device.
BOOST_AUTO_TEST_CASE(evaluation_on_two_devices) {
  const Tensor h = varied({3}), d = h.to(cuda);
  const Tensor a = h + 1, b = d * 2, c = h * 3, e = d - 4;
  const uint64_t before = metrics().flushes;
  eval(a, b, c, e);
  BOOST_TEST(metrics().flushes == before + 2);
  BOOST_TEST((bits(b) == bits(h * 2)));
  BOOST_TEST((bits(c) == bits(h * 3)));
  BOOST_TEST((bits(e) == bits(h - 4)));
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
  BOOST_TEST((bits((h * 3 + 1).to(cuda)) == bits(h * 3 + 1)));  // pending, on its device
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
  for (int i = 0; i < 5; ++i) {  // also as graphs, each GPU its own
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

// The copy must see what the source's stream still has to do, and the source's memory must not be reused
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
    const Tensor over = (h.to(cuda) * 0 + 7).eval();  // in the memory of x
    Tensor back = there.to(cuda);
    there = {};
    const Tensor other = (h.to(cuda(1)) * 0 + 9).eval();
    BOOST_TEST((bits(back) == wanted));
  }
}

namespace {
/// Checks that results of tensors that are not on the default device are on their device.
void check_stays(const Device there) {
  BOOST_TEST_CONTEXT("on " << to_string(there) << ", the default is " << to_string(default_device())) {
    const auto stays = [&](const Tensor& x, const Tensor& of_host) {
      BOOST_TEST(to_string(x.device()) == to_string(there));
      BOOST_TEST((bits(x) == bits(of_host)));
      BOOST_TEST(to_string((x == x).device()) == to_string(there));
    };
    const auto both = [&](const auto& f, const Tensor& host) {
      const Tensor x = host.to(there);
      stays(f(x), f(host));
    };
    const Tensor h = varied({4, 6}).to(cpu), i = tensor({{3, -1, 2}}).to(cpu), u = astype(i, uint8).to(cpu),
                 image = varied({1, 2, 9, 9}).to(cpu), none = h(slice(0, 0)).to(cpu);
    both([](const Tensor& x) { return x(x > 0); }, h);
    both([](const Tensor& x) { return x.copy(); }, h);
    both([](const Tensor& x) { return zeros_like(x) + 1; }, h);
    both([](const Tensor& x) { return ones_like(x, int32); }, h);
    both([](const Tensor& x) { return full_like(x, 7); }, h);
    both([](const Tensor& x) { return empty_like(x); }, h);
    both([](const Tensor& x) { return asarray(x, float64); }, h);
    both([](const Tensor& x) { return tril(x); }, h);
    both([](const Tensor& x) { return argmax(x, 0); }, i);
    both([](const Tensor& x) { return isnan(x); }, i);
    both([](const Tensor& x) { return signbit(x); }, u);
    both([](const Tensor& x) { return concat({x, x}); }, h);
    both([](const Tensor& x) { return concat({x, x}); }, none);
    both([](const Tensor& x) { return stack({x, x}); }, none);
    both([](const Tensor& x) { return adaptive_avg_pool(x, 4); }, image);
    both([](const Tensor& x) { return adaptive_max_pool(x, 4); }, image);
    both([](const Tensor& x) { return avg_pool(x, 2, {.padding = 1, .count_padding = false}); }, image);
    both([](const Tensor& x) { return max_pool(x, 2, {.padding = 1}); }, image);
    both([](const Tensor& x) { return scaled_dot_product_attention(x, x, x, {}, true); }, h);
    // Constants, too, stay where they were put.
    const Tensor z = full({2, 3}, 2).to(there), w = full({2, 3}, 2).to(cpu);
    stays(astype(z, float64), astype(w, float64));
    stays(reshape(z, {6}), reshape(w, {6}));
    stays(z * 2 + 1, w * 2 + 1);
    stays(-z, -w);
    stays(broadcast_to(z, {2, 2, 3}), broadcast_to(w, {2, 2, 3}));
    stays(z(0), w(0));
    stays(z.T(), w.T());
  }
}

void check_made(const Device there) {
  std::vector<float> v{1, 2, 3, 4};
  const auto is = [&](const Tensor& x, std::vector<float> expected) {
    BOOST_TEST(to_string(x.device()) == to_string(there));
    BOOST_TEST(to_string((x == x).device()) == to_string(there));
    BOOST_TEST((x.to_vector<float>() == expected));
  };
  is(zeros({2}, float32, there), {0, 0});
  is(ones({2}, int8, there) + 1, {2, 2});
  is(empty({2}, float32, there), {0, 0});
  is(full({2}, 3, {}, there), {3, 3});
  is(zeros_like(ones({1}), {}, there), {0});
  is(full_like(ones({1}), 5, {}, there), {5});
  is(arange(3, {}, there), {0, 1, 2});
  is(arange(1, 3, {}, there), {1, 2});
  is(arange(1, 3, 0.5, {}, there), {1, 1.5, 2, 2.5});
  is(linspace(0, 1, 3, true, float32, there), {0, 0.5, 1});
  is(eye(2, 2, 0, float32, there), {1, 0, 0, 1});
  is(tensor(3, {}, there), {3});
  is(tensor({1, 2}, {}, there), {1, 2});
  is(tensor({{1}, {2}}, float32, there), {1, 2});
  is(tensor({1, 2.5}, {}, there), {1, 2.5});
  is(from_span(v, {2, 2}, there), {1, 2, 3, 4});
  is(from_span(v, there), {1, 2, 3, 4});
  is(from_blob(v.data(), {4}, there), {1, 2, 3, 4});
  is(from_blob(v.data(), {2}, float32, {2}, {}, there), {1, 3});
  is(asarray(v, {}, there), {1, 2, 3, 4});
  is(asarray(2, float32, there), {2});
  is(asarray(ones({2}).eval(), {}, there), {1, 1});
}
}  // namespace

BOOST_AUTO_TEST_CASE(what_is_made_of_a_tensor_is_where_it_is) {
  check_stays(cpu);
  const OnCpu host;
  check_stays(cuda);
}

BOOST_AUTO_TEST_CASE(creation_takes_a_device) {
  check_made(cpu);
  check_made(cuda);
  const OnCpu host;
  check_made(cuda);
  const std::string none = thrown<DeviceError>([] { (void)zeros({2}, float32, cuda(200)); });
  BOOST_TEST(contains(none, "there is no cuda:200"), none);
  BOOST_TEST(contains(none, " (devices.cpp:"), none);
  BOOST_TEST(
      contains(thrown<DeviceError>([] { (void)zeros({2}, float32, cuda(256)); }), "there is no cuda:255"));
}

BOOST_AUTO_TEST_CASE(the_second_gpu, *boost::unit_test::precondition(two)) {
  check_stays(cuda(1));
  check_made(cuda(1));
  set_default_device(cuda(1));
  check_stays(cuda);
  check_made(cuda);
}

// A caller whose call fails still owns the memory.
BOOST_AUTO_TEST_CASE(a_deleter_runs_once_or_the_memory_is_the_callers) {
  float data[4] = {1, 2, 3, 4};
  int deleted = 0;
  const auto deleter = [&](void*) { ++deleted; };
  BOOST_CHECK_THROW(from_blob(data, {4}, float32, {}, deleter, cuda(200)), DeviceError);
  BOOST_CHECK_THROW(from_blob(data, {-1}, float32, {}, deleter), ShapeError);
  BOOST_CHECK_THROW(from_blob(data, {int64_t{1} << 60}, float32, {}, deleter), ShapeError);
  BOOST_TEST(deleted == 0);
  {
    const Tensor x = from_blob(data, {4}, float32, {}, deleter, cuda);
    BOOST_TEST(deleted == 1);  // after the copy
    BOOST_TEST((x.to_vector<float>() == std::vector<float>{1, 2, 3, 4}));
  }
  { const Tensor x = from_blob(data, {4}, float32, {}, deleter, cpu); }
  BOOST_TEST(deleted == 2);
}

BOOST_AUTO_TEST_CASE(composites_name_themselves) {
  const Tensor h = varied({4, 6}).to(cpu), d = varied({4, 6}).to(cuda), image = varied({1, 2, 9, 9}).to(cpu),
               w = varied({3, 2, 3, 3}).to(cuda);
  const auto says = [&](const char* name, const auto& f) {
    const std::string said = thrown<DeviceError>(f);
    BOOST_TEST(said.starts_with(std::string(name) + ": operands are on "), said);
  };
  says("logaddexp", [&] { (void)logaddexp(h, d); });
  says("pow", [&] { (void)pow(h, d); });
  says("where", [&] { (void)where(h > 0, h, d); });
  says("fma", [&] { (void)fma(h, h, d); });
  says("matmul", [&] { (void)matmul(h, d.T()); });
  says("outer", [&] { (void)outer(h, d); });
  says("vecdot", [&] { (void)vecdot(h, d); });
  says("einsum", [&] { (void)einsum("ij,ik->jk", h, d); });
  says("tensordot", [&] { (void)tensordot(h, d); });
  says("stack", [&] { (void)stack({h, d}); });
  says("concat", [&] { (void)concat({h, d}); });
  says("conv2d", [&] { (void)conv2d(image, w); });
  says("scaled_dot_product_attention", [&] { (void)scaled_dot_product_attention(h, d, h); });
  says("assign", [&] {
    Tensor x = h;
    x(0) = d(0);
  });
}

BOOST_AUTO_TEST_CASE(observers_are_told_of_moves) {
  struct Log : detail::Observer {
    std::string text;
    void recorded(const detail::Recorded& r) override { text += std::string(jit::name_of(r.op)) + " "; }
    void transferred(const jit::Handle& from, const jit::Handle& to, const Site&) override {
      text += to_string(from->device) + ">" + to_string(to->device) + " ";
    }
  } log;
  const Tensor h = varied({3});
  {
    const detail::Observing all(log);
    const Tensor d = h.to(cuda), two = full({3}, 2.0f, {}, cpu);
    (void)(d + two).to(cpu).to(cpu);
    (void)arange(3, float32, cpu);
  }
  BOOST_TEST(log.text == "cpu>cuda:0 constant cuda:0>cpu add cuda:0>cpu iota cast ");
}

BOOST_AUTO_TEST_CASE(synchronize_waits_for_all) {
  const Tensor x = (varied({1000}).to(cuda) + 1).eval();
  BOOST_CHECK_NO_THROW(synchronize());
  BOOST_CHECK_NO_THROW(synchronize(cuda));
  BOOST_CHECK_NO_THROW(synchronize(cpu));
}

BOOST_AUTO_TEST_SUITE_END()
