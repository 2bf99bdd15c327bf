// Tests Fourier transforms: lengths, numbers of rows and threads, gradients, errors.
#include <complex>
#include <functional>
#include <numbers>

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using C = std::complex<double>;

BOOST_AUTO_TEST_SUITE(fourier)

namespace {

Tensor noise(const Shape& shape, DType t = complex128) {
  Generator g(17);
  const auto part = [&] { return randn(g, shape, float64); };
  return is_complex(t) ? complex(part(), part()).astype(t) : part().astype(t);
}

double distance(const Tensor& a, const Tensor& b) {
  return abs(a - b).max().item<double>() / abs(b).max().item<double>();
}

/// Returns the transform by its definition.
Tensor by_definition(const Tensor& x) {
  const int64_t n = x.shape(-1);
  const Tensor k = arange(n, int64);
  const Tensor turns = (outer(k, k) % n).astype(float64) * (-2 * std::numbers::pi / static_cast<double>(n));
  return matmul(x.astype(complex128), polar(ones({}, float64), turns));
}

}  // namespace

// Lengths of every kind of factor, in rows that are alone, fill vectors, and don't.
BOOST_AUTO_TEST_CASE(lengths) {
  for (const int64_t n : {1,  2,  3,  4,  6,  7,  8,  9,  11,  13,  16,  17,  19,  23,  24,  29,
                          31, 32, 37, 41, 64, 72, 82, 96, 121, 128, 169, 210, 256, 289, 400, 1000})
    for (const int64_t rows : {1, 3, 17}) {
      const Tensor x = noise({rows, n});
      BOOST_TEST(distance(fft::fft(x), by_definition(x)) < 1e-13, rows << " x " << n);
      BOOST_TEST(distance(fft::fft(x.astype(complex64)), by_definition(x)) < 2e-6, rows << " x " << n);
      BOOST_TEST(distance(fft::ifft(fft::fft(x)), x) < 1e-13, rows << " x " << n);
      const Tensor r = real(x);
      BOOST_TEST(distance(fft::rfft(r), by_definition(r)(slice(), slice(0, n / 2 + 1))) < 1e-13,
                 rows << " x " << n);
      BOOST_TEST(distance(fft::irfft(fft::rfft(r), n), r) < 1e-13, rows << " x " << n);
    }
}

// Long rows are transformed as matrices: of columns and rows that fill whole lines, and of some that don't;
// one factor short; a convolution of that length.
BOOST_AUTO_TEST_CASE(long_rows) {
  for (const int64_t n : {1 << 15, 40000, 30030, 65610, 59049, 1 << 17, 131 * 256, 31 * 31 * 31 * 2, 40009}) {
    const Tensor x = noise({2, n}).eval();
    const auto bin = [&](int64_t k) {
      const Tensor turns =
          (arange(n, int64) * k % n).astype(float64) * (-2 * std::numbers::pi / static_cast<double>(n));
      return (x * polar(ones({}, float64), turns)).sum(-1);
    };
    const Tensor y = fft::fft(x).eval(), narrow = fft::fft(x.astype(complex64)).eval(),
                 whole = fft::rfft(real(x)).eval();
    const double size = abs(y).max().item<double>();
    const auto off = [&](const Tensor& a, const Tensor& b) { return abs(a - b).max().item<double>() / size; };
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{16}, n / 3, n / 2, n - 17, n - 1}) {
      const Tensor want = bin(k);
      BOOST_TEST(off(y(_, k), want) < 1e-13, n << " at " << k);
      BOOST_TEST(off(narrow(_, k), want) < 2e-6, n << " at " << k);
      if (k <= n / 2) BOOST_TEST(off(whole(_, k), (want + conj(bin(n - k))) / 2) < 1e-13, n << " at " << k);
    }
    BOOST_TEST(distance(fft::ifft(y), x) < 1e-13, n);
    BOOST_TEST(distance(fft::irfft(whole, n), real(x)) < 1e-13, n);
  }
}

// Any axis but the last: as columns, which fill lines or don't, of lengths of passes, of a matrix and of a
// convolution.
BOOST_AUTO_TEST_CASE(axes) {
  const std::vector<Shape> shapes = {{6, 1},     {5, 3},       {64, 16},     {12, 33},   {37, 5},
                                     {2, 7, 20}, {3, 4, 5, 6}, {1 << 15, 2}, {40009, 1}, {0, 4, 3},
                                     {4, 3, 0},  {300, 70},    {1, 8}};
  for (const Shape& shape : shapes)
    for (int axis = 0; axis < static_cast<int>(shape.size()) - 1; ++axis) {
      if (shape[axis] == 0) continue;
      const Tensor x = noise(shape).eval();
      const Tensor last = moveaxis(x, axis, -1).contiguous().eval();
      const auto same = [&](const Tensor& got, const Tensor& of_rows, const char* what) {
        const Tensor want = moveaxis(of_rows, -1, axis);
        BOOST_TEST((got.shape() == want.shape()));
        if (got.numel() > 0)
          BOOST_TEST(distance(got, want) < 1e-13, what << " " << to_string(shape) << " axis " << axis);
      };
      same(fft::fft(x, {}, axis), fft::fft(last), "fft");
      same(fft::ifft(x, {}, axis, "ortho"), fft::ifft(last, {}, -1, "ortho"), "ifft");
      same(real(fft::fft(x, {}, axis)).astype(complex128), real(fft::fft(last)).astype(complex128),
           "real part");
      same(fft::fft(x.astype(complex64), {}, axis).astype(complex128),
           fft::fft(last.astype(complex64)).astype(complex128), "complex64");
    }
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_gives_the_same_bits) {
  const Tensor x = noise({300, 500}, complex64).eval(), r = real(x).eval(),
               one_row = noise({100000}, complex64).eval();
  const auto all = [&] {
    std::vector<std::complex<float>> v = fft::fft(x).to_vector<std::complex<float>>();
    for (const Tensor& y : {fft::rfft(r), fft::fft(x, {}, 0), fft::fft(one_row), fft::rfft(real(one_row))})
      for (const auto& c : y.to_vector<std::complex<float>>()) v.push_back(c);
    return v;
  };
  std::vector<std::complex<float>> one;
  {
    const config::Override threads("LAZY_NUM_THREADS", "1");
    one = all();
  }
  const config::Override threads("LAZY_NUM_THREADS", "5");
  BOOST_TEST((all() == one));
}

BOOST_AUTO_TEST_CASE(gradients) {
  const auto agrees = [](const char* name, const std::function<Tensor(const Tensor&)>& f, Tensor x) {
    const Tensor weights = noise(f(x).shape(), f(x).dtype());
    const auto loss = [&](const Tensor& v) {
      const Tensor y = f(v);
      return (real(y) * real(weights) + imag(y) * imag(weights)).sum() + (real(y) * real(y)).sum() * 0.5;
    };
    const Tensor step = noise(x.shape(), x.dtype());
    x.requires_grad_();
    loss(x).backward();
    const Tensor g = x.grad(), at = x.detach();
    const double h = 1e-5;
    const double want = (loss(at + step * h) - loss(at - step * h)).item<double>() / (2 * h);
    const double got = (real(g) * real(step) + imag(g) * imag(step)).sum().item<double>();
    BOOST_TEST(std::abs(got - want) <= 1e-6 * std::abs(want), name << ": " << got << ", not " << want);
  };
  for (const int64_t n : {6, 9}) {
    agrees(
        "fft", [&](const Tensor& x) { return fft::fft(x); }, noise({2, n}));
    agrees(
        "ifft", [&](const Tensor& x) { return fft::ifft(x, n + 2, 0, "ortho"); }, noise({n, 2}));
    agrees(
        "rfft", [&](const Tensor& x) { return fft::rfft(x); }, noise({2, n}, float64));
    agrees(
        "irfft", [&](const Tensor& x) { return fft::irfft(x, n); }, noise({2, n / 2 + 1}));
    agrees(
        "hfft", [&](const Tensor& x) { return fft::hfft(x, n); }, noise({2, n / 2 + 1}));
    agrees(
        "ihfft", [&](const Tensor& x) { return fft::ihfft(x); }, noise({2, n}, float64));
    agrees(
        "columns", [&](const Tensor& x) { return fft::fft(x, {}, 0); }, noise({n, 3, 2}));
    agrees(
        "fft2", [&](const Tensor& x) { return fft::fft2(x); }, noise({3, n}));
    agrees(
        "irfftn", [&](const Tensor& x) { return fft::irfftn(fft::rfftn(x)); }, noise({3, 6}, float64));
  }
}

BOOST_AUTO_TEST_CASE(dtypes_and_helpers) {
  BOOST_TEST((fft::fft(arange(4)).dtype() == complex64));
  BOOST_TEST((fft::rfft(ones({4}, float16)).dtype() == complex64));
  BOOST_TEST((fft::fft(ones({4}, float64)).dtype() == complex128));
  check::equal(fft::fftfreq(4, 0.5), float32, {4}, {0, 0.5, -1, -0.5});
  check::equal(fft::rfftfreq(4, 0.5), float32, {3}, {0, 0.5, 1});
  check::equal(fft::fftshift(arange(5)), int64, {5}, {3, 4, 0, 1, 2});
  check::equal(fft::ifftshift(arange(5)), int64, {5}, {2, 3, 4, 0, 1});
  BOOST_TEST((fft::fft(zeros({0, 4})).shape() == Shape{0, 4}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto says = [](const char* name, const std::function<void()>& f) {
    try {
      f();
      BOOST_ERROR(std::string(name) + " took it");
    } catch (const Error& e) {
      BOOST_TEST(std::string(e.what()).starts_with(std::string(name) + ":"), e.what());
      BOOST_TEST(std::string(e.what()).find("fft.cpp:") != std::string::npos, e.what());
    }
  };
  const Tensor x = ones({2, 3}), z = noise({2, 3});
  says("fft", [&] { fft::fft(x, 0); });
  says("fft", [&] { fft::fft(ones({2, 0})); });
  says("ifft", [&] { fft::ifft(x, none, 2); });
  says("rfft", [&] { fft::rfft(z); });
  says("irfft", [&] { fft::irfft(ones({2, 1})); });
  says("hfft", [&] { fft::hfft(x, none, -1, "both"); });
  says("ihfft", [&] { fft::ihfft(z); });
  says("fft2", [&] { fft::fft2(ones({3})); });
  says("ifft2", [&] { fft::ifft2(x, {1, 2, 3}); });
  says("rfft2", [&] { fft::rfft2(z); });
  says("irfft2", [&] { fft::irfft2(x, {}, {0, 0}); });
  says("fftn", [&] { fft::fftn(x, {1, 2, 3}); });
  says("ifftn", [&] { fft::ifftn(1.0); });
  says("rfftn", [&] { fft::rfftn(z); });
  says("irfftn", [&] { fft::irfftn(x, {0, 2}); });
  says("fftfreq", [&] { fft::fftfreq(0); });
  says("rfftfreq", [&] { fft::rfftfreq(-1); });
  says("fftshift", [&] { fft::fftshift(x, 5); });
  says("ifftshift", [&] { fft::ifftshift(x, 5); });
}

BOOST_AUTO_TEST_SUITE_END()
