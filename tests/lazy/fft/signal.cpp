// Tests what is made of Fourier transforms: values are SciPy's (dct, hilbert, fftconvolve, periodogram) and
// NumPy's (windows) of x[i] = 7 i modulo 5 - 1.5 + 0.1 i.
#include <complex>

#include "tests/common/check.hpp"

using namespace lazy;
using C = std::complex<double>;

BOOST_AUTO_TEST_SUITE(signals)

namespace {

Tensor given(int n) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(((i * 7) % 5) - 1.5 + 0.1 * i);
  return from_span(v);
}

void near(const Tensor& x, const std::vector<double>& expected, const Site& s = Site::current()) {
  check::close(x, expected, 1e-9, s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(cosine_transforms) {
  const Tensor x = given(7);
  near(fft::dct(x, 1, none, -1, "backward"), {7.6, 0.97128129211, -5.0, -4.2, -5.0, -4.57128129211, 10.0});
  near(fft::dct(x, 1, none, -1, "ortho"), {1.517523108018, -0.03050544753, -1.491204935322, -1.523325770558,
                                           -1.491204935322, -1.63050544753, 2.007421056574});
  near(fft::idct(x, 1), {0.633333333333, 0.080940107676, -0.416666666667, -0.35, -0.416666666667,
                         -0.380940107676, 0.833333333333});
  near(fft::dct(x, 2, none, -1, "backward"), {7.2, -1.87355041686, -6.234898018587, -7.013836333501,
                                              -2.225209339563, -4.125034390444, 9.009688679024});
  near(fft::dct(x, 2, none, -1, "ortho"), {1.360672102833, -0.500727411195, -1.666346587645, -1.874526609062,
                                           -0.594712211607, -1.102461814122, 2.4079405856});
  near(fft::idct(x, 2), {0.443818043703, -0.14515279427, -0.313094591629, -0.378571428571, -0.21980440404,
                         -0.58252523698, 0.445330411789});
  near(fft::dct(x, 3, none, -1, "backward"), {6.213452611836, -2.032139119782, -4.383324282808, -5.3,
                                              -3.077261656564, -8.155353317727, 6.234625765044});
  near(fft::dct(x, 3, none, -1, "ortho"), {1.494560214958, -0.709166871537, -1.337547538173, -1.582539428781,
                                           -0.988487618668, -2.345664702575, 1.50021897818});
  near(fft::idct(x, 3), {0.514285714286, -0.133825029776, -0.445349858471, -0.500988309536, -0.158943524255,
                         -0.294645313603, 0.643549191359});
  near(fft::dct(x, 4, none, -1, "backward"),
       {4.048476944324, -5.324248893029, -7.050550656222, -4.525483399594, -3.235779028411, 0.926839950442,
        9.715073102451});
  near(fft::dct(x, 4, none, -1, "ortho"), {1.082000975994, -1.422965371402, -1.884338924548, -1.20948631363,
                                           -0.864798321687, 0.247708396209, 2.596462502631});
  near(fft::idct(x, 4), {0.289176924595, -0.380303492359, -0.503610761159, -0.323248814257, -0.231127073458,
                         0.066202853603, 0.693933793032});
}

BOOST_AUTO_TEST_CASE(analytic_signals) {
  near(imag(fft::hilbert(given(5))),
       {1.221592385909, -2.890402032989, 0.986478284992, 0.187281504186, 0.495049857903});
  near(real(fft::hilbert(given(5))), {-1.5, 0.6, 2.7, -0.2, 1.9});
  near(imag(fft::hilbert(given(6))),
       {-0.923760430703, -2.424871130596, 0.461880215352, 0.461880215352, 0.461880215352, 1.962990915245});
  near(real(fft::hilbert(given(6))), {-1.5, 0.6, 2.7, -0.2, 1.9, -1.0});
}

BOOST_AUTO_TEST_CASE(convolutions) {
  const Tensor a = given(6), b = given(3);
  near(fft::fftconvolve(a, b, "full"), {2.25, -1.8, -7.74, 3.54, 4.32, 2.1, 4.53, -2.7});
  near(fft::fftconvolve(a, b, "same"), {-1.8, -7.74, 3.54, 4.32, 2.1, 4.53});
  near(fft::fftconvolve(a, b, "valid"), {-7.74, 3.54, 4.32, 2.1});
}

BOOST_AUTO_TEST_CASE(powers) {
  near(fft::periodogram(given(7), 2.5).frequencies, {0.0, 0.357142857143, 0.714285714286, 1.071428571429});
  near(fft::periodogram(given(7), 2.5).power, {0.0, 1.238430900427, 0.654387415473, 3.670610255528});
  near(fft::periodogram(given(8), 2.5).frequencies, {0.0, 0.3125, 0.625, 0.9375, 1.25});
  near(fft::periodogram(given(8), 2.5).power, {0.0, 0.012543438002, 2.312, 5.635456561998, 0.128});
  near(fft::periodogram(given(8), 2, hann_window(8, true, float64)).power,
       {0.000765393319, 0.623229679944, 0.377084416523, 3.15025925737, 3.035639127472});
}

BOOST_AUTO_TEST_CASE(windows) {
  near(hann_window(6, true, float64), {0.0, 0.25, 0.75, 1.0, 0.75, 0.25});
  near(hann_window(6, false, float64),
       {0.0, 0.345491502813, 0.904508497187, 0.904508497187, 0.345491502813, 0.0});
  near(hamming_window(5, false, 0.54, 0.46, float64), {0.08, 0.54, 1.0, 0.54, 0.08});
  near(blackman_window(5, false, float64), {-0.0, 0.34, 1.0, 0.34, -0.0});
  near(bartlett_window(5, false, float64), {0.0, 0.5, 1.0, 0.5, 0.0});
  near(kaiser_window(5, false, 8.6, float64),
       {0.001332513998, 0.34039362244, 1.0, 0.34039362244, 0.001332513998});
  near(kaiser_window(5, true, 8.6, float64),
       {0.001332513998, 0.201054869545, 0.849416189091, 0.849416189091, 0.201054869545});
  near(hann_window(1), {1});
  BOOST_TEST((hann_window(0).shape() == Shape{0}));
  BOOST_CHECK_THROW(hann_window(4, true, int32), DtypeError);
}

// A signal comes back from its frames.
BOOST_AUTO_TEST_CASE(frames) {
  Generator g(3);
  const Tensor x = randn(g, {2, 50}, float64);
  fft::StftOptions o;
  o.window = hann_window(16, true, float64);
  const Tensor y = fft::stft(x, 16, o);
  BOOST_TEST((y.shape() == Shape{2, 9, 13}));
  BOOST_TEST(abs(fft::istft(y, 16, o, 50) - x).max().item<double>() < 1e-12);
  // Frame 3 has sample 12 in its middle.
  const Tensor third = fft::rfft(x(0, slice(4, 20)) * o.window);
  BOOST_TEST(abs(y(0, slice(), 3) - third).max().item<double>() < 1e-12);
  o.normalized = true;
  BOOST_TEST(abs(fft::istft(fft::stft(x, 16, o), 16, o, 50) - x).max().item<double>() < 1e-12);
  fft::StftOptions plain{.hop_length = 8, .center = false};
  BOOST_TEST((fft::stft(x, 16, plain).shape() == Shape{2, 9, 5}));
  const Tensor z = complex(x, x * 2);
  BOOST_TEST((fft::stft(z, 16, plain).shape() == Shape{2, 16, 5}));
  BOOST_CHECK_THROW(fft::stft(x(slice(), slice(0, 5)), 16, plain), ShapeError);
  BOOST_CHECK_THROW(fft::stft(x, 16, {.window = ones({5})}), ShapeError);
  BOOST_CHECK_THROW(fft::istft(y, 20), ShapeError);
}

BOOST_AUTO_TEST_CASE(inverses) {
  const Tensor x = given(24).reshape({2, 3, 4});
  for (const int type : {1, 2, 3, 4})
    for (const char* const norm : {"backward", "ortho", "forward"})
      for (const int axis : {0, 1, 2})
        BOOST_TEST(abs(fft::idct(fft::dct(x, type, none, axis, norm), type, none, axis, norm) - x)
                           .max()
                           .item<double>() < 1e-13,
                   type << " " << norm << " " << axis);
  BOOST_CHECK_THROW(fft::dct(x, 5), Error);
  BOOST_CHECK_THROW(fft::dct(x, 2, none, -1, "both"), Error);
  BOOST_CHECK_THROW(fft::dct(complex(x, x)), DtypeError);
  BOOST_CHECK_THROW(fft::fftconvolve(x, x, "some"), Error);
  BOOST_CHECK_THROW(fft::fftconvolve(x, given(3)), ShapeError);
}

BOOST_AUTO_TEST_CASE(convolutions_along_several_axes) {
  const Tensor a = given(12).reshape({3, 4}), b = given(4).reshape({2, 2});
  const Tensor full = fft::fftconvolve(a, b);
  BOOST_TEST((full.shape() == Shape{4, 5}));
  double sum = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) sum += a(2 - i, 2 - j).item<double>() * b(i, j).item<double>();
  BOOST_TEST(std::abs(full(2, 2).item<double>() - sum) < 1e-12);
  const Tensor z = fft::fftconvolve(complex(a, a), b, "valid");
  BOOST_TEST((z.shape() == Shape{2, 3}));
  BOOST_TEST(std::abs(z(1, 1).item<C>() - C(sum, sum)) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
