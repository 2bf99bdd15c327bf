// Tests Fourier transforms on a GPU: by cuFFT, or on the host where that is missing or makes no plan.
#include "support/log_sink.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

Tensor noise(const Shape& shape, DType t) {
  return is_complex(t) ? complex(varied(shape, float64, 1), varied(shape, float64, 2)).astype(t).eval()
                       : varied(shape, t);
}

/// Returns the largest difference, by the largest element; both are read.
double distance(const Tensor& got, const Tensor& wanted) {
  const OnCpu host;
  const Tensor a = got.to(cpu), b = wanted.to(cpu);
  return abs(a - b).max().item<double>() / abs(b).max().item<double>();
}
double allowed(DType t) { return t == complex64 || t == float32 ? 2e-6 : 1e-13; }

/// Returns f of x as the CPU computes it.
template <class F>
Tensor on_cpu(F&& f, const Tensor& x) {
  const OnCpu host;
  return f(x).eval();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(transforms, OnGpu)

BOOST_AUTO_TEST_CASE(run_on_the_device) {
  const auto forward = [](const Tensor& x) { return fft::fft(x); };
  const auto backward = [](const Tensor& x) { return fft::ifft(x); };
  const auto half = [](const Tensor& x) { return fft::rfft(x); };
  for (const Shape& shape :
       {Shape{1}, Shape{2}, Shape{7, 9}, Shape{3, 64}, Shape{2, 3, 30}, Shape{1, 1009}}) {
    for (const DType t : {complex64, complex128}) {
      const Tensor x = noise(shape, t), there = x.to(cuda).eval();
      BOOST_TEST(distance(forward(there), on_cpu(forward, x)) < allowed(t), shape << " " << t);
      BOOST_TEST(distance(backward(there), on_cpu(backward, x)) < allowed(t), shape << " " << t);
    }
    for (const DType t : {float32, float64}) {
      const Tensor x = noise(shape, t), there = x.to(cuda).eval();
      BOOST_TEST(distance(half(there), on_cpu(half, x)) < allowed(t), shape << " " << t);
      BOOST_TEST(distance(fft::irfft(half(there), shape.back()), x) < allowed(t), shape << " " << t);
    }
  }
  BOOST_TEST(metrics().call_host_transfers == 0u);
  BOOST_TEST((fft::fft(zeros({0, 4})).shape() == Shape{0, 4}));
}

BOOST_AUTO_TEST_CASE(a_plane_that_nobody_reads) {
  const Tensor x = noise({5, 12}, complex64), r = noise({5, 12}, float32);
  for (const auto plane : {real, imag}) {
    const auto of = [&](const Tensor& v) { return plane(fft::fft(v)); };
    const auto of_real = [&](const Tensor& v) { return plane(fft::rfft(v)); };
    BOOST_TEST(distance(of(x.to(cuda)), on_cpu(of, x)) < 2e-6);
    BOOST_TEST(distance(of_real(r.to(cuda)), on_cpu(of_real, r)) < 2e-6);
  }
}

// Imaginary parts of the ends of half a spectrum are taken as 0, and are 0.
BOOST_AUTO_TEST_CASE(ends_of_half_a_spectrum_are_real) {
  for (const int64_t n : {1, 2, 8, 9}) {
    const Tensor x = noise({3, n / 2 + 1}, complex128);
    const auto back = [&](const Tensor& v) { return fft::irfft(v, n); };
    BOOST_TEST(distance(back(x.to(cuda)), on_cpu(back, x)) < 1e-13, n);
    const Tensor y = imag(fft::rfft(noise({3, n}, float32).to(cuda)));
    BOOST_TEST(abs(y(_, 0)).max().item<float>() == 0, n);
    if (n % 2 == 0) BOOST_TEST(abs(y(_, -1)).max().item<float>() == 0, n);
  }
}

// cuFFT reads rows of real numbers where they lie, if that is as aligned as pairs are.
BOOST_AUTO_TEST_CASE(rows_that_begin_anywhere) {
  const Tensor x = noise({40}, float32), there = x.to(cuda).eval();
  const auto half = [](const Tensor& v) { return fft::rfft(v); };
  for (const int64_t from : {0, 1, 2, 3, 5}) {
    const Tensor part = x(slice(from, from + 20));
    BOOST_TEST(distance(half(there(slice(from, from + 20))), on_cpu(half, part)) < 2e-6, from);
  }
  BOOST_TEST(distance(there, x) == 0);
  const Tensor spectrum = half(there).eval();
  const Tensor once = fft::irfft(spectrum, 40).eval(), again = fft::irfft(spectrum, 40).eval();
  BOOST_TEST(distance(once, again) == 0);  // the spectrum was not overwritten
}

BOOST_AUTO_TEST_CASE(among_other_kernels_again_and_again) {
  const Tensor x = noise({6, 50}, float32);
  const auto filtered = [](const Tensor& v, float by) {
    const Tensor y = v * by - v.sum(0, keepdims);
    return (fft::irfft(fft::rfft(y) * (fft::rfftfreq(50) < 0.2).astype(float32), 50) + y).eval();
  };
  const Tensor there = x.to(cuda).eval();
  for (int run = 0; run < 5; ++run) {
    const float by = 1 + static_cast<float>(run);
    const Tensor got = filtered(there, by);
    const OnCpu host;
    BOOST_TEST(distance(got, filtered(x, by)) < 2e-6, run);
  }
  BOOST_TEST(metrics().call_host_transfers == 0u);
}

BOOST_AUTO_TEST_CASE(gradients) {
  const auto gradient = [](Tensor x) {
    x.requires_grad_();
    const Tensor y = fft::rfft(x);
    (real(y) * real(y) + imag(y) * 3).sum().backward();
    return x.grad().eval();
  };
  const Tensor x = noise({4, 10}, float64);
  BOOST_TEST(distance(gradient(x.to(cuda).eval()), on_cpu(gradient, x.copy())) < 1e-13);
  BOOST_TEST(metrics().call_host_transfers == 0u);
}

BOOST_AUTO_TEST_CASE(the_bits_of_the_cpu_come_from_there) {
  const Override ordered("LAZY_CUDA_SUMS", "ordered");
  const Tensor x = noise({3, 100}, complex64);
  const auto all = [](const Tensor& v) {
    const Tensor y = fft::fft(v).eval();
    return std::pair(bits(real(y)), bits(imag(y)));
  };
  const auto got = all(x.to(cuda).eval());
  BOOST_TEST(metrics().call_host_transfers == 1u);
  const OnCpu host;
  BOOST_TEST((got == all(x)));
}

BOOST_AUTO_TEST_CASE(plans_are_kept, *boost::unit_test::precondition(is_emulated)) {
  const Calls plans("cufftMakePlanMany64"), ended("cufftDestroy"), runs("cufftExecC2C");
  const auto run = [](int64_t n) {
    const Tensor x = noise({2, n}, complex64);
    const auto forward = [](const Tensor& v) { return fft::fft(v); };
    BOOST_TEST(distance(forward(x.to(cuda)), on_cpu(forward, x)) < 2e-6, n);
  };
  for (int i = 0; i < 3; ++i) run(77);
  BOOST_TEST(plans() == 1);
  BOOST_TEST(runs() == 3);
  for (int64_t n = 100; n < 180; ++n) run(n);
  BOOST_TEST(plans() == 81);
  BOOST_TEST(ended() >= 17);
  run(179), run(77);  // kept, and made again
  BOOST_TEST(plans() == 82);
}

BOOST_AUTO_TEST_CASE(memory_comes_back, *boost::unit_test::precondition(is_emulated)) {
  const Tensor x = noise({30, 1000}, complex64).to(cuda).eval();
  fft::fft(x).eval();
  const size_t used = gpu().allocator.stats().used;
  fft::fft(x).eval();
  fft::irfft(fft::rfft(real(x)), 1000).eval();
  BOOST_TEST(gpu().allocator.stats().used == used);
}

BOOST_AUTO_TEST_CASE(what_cufft_does_not_plan_runs_on_the_host,
                     *boost::unit_test::precondition(is_emulated)) {
  const Tensor x = noise({2, 211}, complex64);
  const auto forward = [](const Tensor& v) { return fft::fft(v); };
  BOOST_TEST(Emulated::inject("cufftMakePlanMany64", 1, cuda_backend::api::kFftInvalidSize));
  const Calls plans("cufftMakePlanMany64"), made("cufftCreate"), ended("cufftDestroy");
  for (int i = 0; i < 2; ++i) BOOST_TEST(distance(forward(x.to(cuda)), on_cpu(forward, x)) < 2e-6);
  BOOST_TEST(plans() == 1);
  BOOST_TEST(ended() >= made());  // and of others, which are too many
  BOOST_TEST(metrics().call_host_transfers == 2u);
}

BOOST_AUTO_TEST_CASE(failures, *boost::unit_test::precondition(is_emulated)) {
  using cuda_backend::api::kFftNoMemory;
  constexpr int kExecFailed = 6;
  const Tensor x = noise({2, 223}, complex64);
  const auto forward = [](const Tensor& v) { return fft::fft(v); };
  const Tensor there = x.to(cuda).eval();
  (there * 2).eval();  // leaves blocks that can be released
  BOOST_TEST(Emulated::inject("cufftMakePlanMany64", 1, kFftNoMemory));
  BOOST_TEST(distance(forward(there), on_cpu(forward, x)) < 2e-6);  // the second attempt
  gpu().allocator.release_kept();
  const Tensor longer = noise({2, 227}, complex64), y = forward(longer.to(cuda).eval());
  gpu().allocator.release_kept();
  BOOST_TEST(Emulated::inject("cufftMakePlanMany64", 1, kFftNoMemory));
  BOOST_TEST(Emulated::inject("cufftMakePlanMany64", 2, kFftNoMemory));
  const std::string none = thrown<DeviceError>([&] { y.eval(); });
  BOOST_TEST(contains(none, "no memory for a plan of cuFFT"), none);
  BOOST_TEST(Emulated::inject("cufftMakePlanMany64", 1, 0));  // whatever is left of these
  BOOST_TEST(Emulated::inject("cufftExecC2C", 1, kExecFailed));
  const Tensor z = forward(there);
  const std::string failed = thrown<DeviceError>([&] { z.eval(); });
  BOOST_TEST(contains(failed, "cuFFT failed with status 6"), failed);
  BOOST_TEST(distance(z, on_cpu(forward, x)) < 2e-6);
}

BOOST_AUTO_TEST_SUITE_END()

// Without the library (a run of ctest of its own).
BOOST_FIXTURE_TEST_SUITE(transforms_on_the_host, OnGpu)

BOOST_AUTO_TEST_CASE(it_is_said_once) {
  const Tensor x = noise({3, 20}, float64), there = x.to(cuda).eval();
  const auto half = [](const Tensor& v) { return fft::rfft(v); };
  static std::string said;
  const Override log("LAZY_LOG", "device");
  logging::set_sink([](logging::Channel, std::string_view text) { said.append(text).append("\n"); });
  for (const int64_t n : {20, 10}) {
    cache::clear();
    BOOST_TEST(distance(half(there(_, slice(0, n))), on_cpu(half, x(_, slice(0, n)))) < 1e-13);
  }
  logging::set_sink({});
  BOOST_TEST(metrics().call_host_transfers == 2u);
  const size_t first = said.find("Fourier transforms on the host: no cuFFT: looked for libcufft.so.12");
  BOOST_TEST((first != said.npos && said.find("Fourier transforms", first + 1) == said.npos), said);
  BOOST_TEST(contains(said, "ran on the host, for cuda-sm_90 has no kernel for it"), said);
}

BOOST_AUTO_TEST_SUITE_END()
