// Compares Fourier transforms with NumPy's results in tests/golden/fft.txt (tests/golden/make_fft.py).
#include <complex>
#include <fstream>
#include <map>

#include "tests/common/check.hpp"
#include "tests/common/golden_complex.hpp"

using namespace lazy;
using golden::words;

namespace {

using C = std::complex<double>;

using Value = golden::ComplexValue;
using golden::complex_value;

std::vector<int64_t> integers(const std::string& text) {
  std::vector<int64_t> v;
  if (text != "-")
    for (const std::string& n : words(text, ',')) v.push_back(std::stoll(n));
  return v;
}

using One = Tensor (*)(Arg, fft::Length, IntegerArg, const std::string&);
using Several = Tensor (*)(Arg, ShapeArg, Axes, const std::string&);
const std::map<std::string, One> kOne = {{"fft", fft::fft},     {"ifft", fft::ifft}, {"rfft", fft::rfft},
                                         {"irfft", fft::irfft}, {"hfft", fft::hfft}, {"ihfft", fft::ihfft}};
const std::map<std::string, Several> kSeveral = {
    {"fft2", fft::fft2}, {"ifft2", fft::ifft2}, {"rfft2", fft::rfft2}, {"irfft2", fft::irfft2},
    {"fftn", fft::fftn}, {"ifftn", fft::ifftn}, {"rfftn", fft::rfftn}, {"irfftn", fft::irfftn}};

Tensor transformed(const std::vector<std::string>& w, const Tensor& x) {
  const std::vector<int64_t> lengths = integers(w[1]), axes = integers(w[2]);
  if (const auto one = kOne.find(w[0]); one != kOne.end())
    return one->second(x, lengths.empty() ? fft::Length() : fft::Length(lengths[0]),
                       axes.empty() ? -1 : axes[0], w[3]);
  const bool two = w[0].back() == '2';
  return kSeveral.at(w[0])(x, ShapeArg(lengths), axes.empty() ? (two ? Axes{-2, -1} : Axes{}) : Axes(axes),
                           w[3]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fft_golden)

BOOST_AUTO_TEST_CASE(numpy) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/fft.txt");
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const std::vector<std::string> fields = golden::fields(line);
    const Value given = complex_value(fields[1]), want = complex_value(fields[2]);
    const Tensor x = from_span(given.elements, given.shape).astype(given.dtype);
    const Tensor y = transformed(words(fields[0]), x);
    BOOST_TEST(y.dtype() == want.dtype, fields[0] << " is of " << name_of(y.dtype()));
    BOOST_TEST((y.shape() == want.shape), fields[0] << " is of " << to_string(y.shape()));
    if (!(y.shape() == want.shape)) continue;
    const std::vector<C> got = y.astype(is_complex(y.dtype()) ? y.dtype() : complex128).to_vector<C>();
    double largest = 0, error = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, std::abs(want.elements[i]));
      error = std::max(error, std::abs(got[i] - want.elements[i]));
    }
    const bool single = given.dtype == complex64 || given.dtype == float32;
    BOOST_TEST(error <= largest * (single ? 0x1p-21 : 0x1p-50),
               fields[0] << " of " << to_string(given.shape) << " is off by " << error / largest);
  }
  BOOST_TEST(count > 100);
}

BOOST_AUTO_TEST_SUITE_END()
