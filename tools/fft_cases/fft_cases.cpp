// Transforms what it reads, a case a line, for tools/fft_cases/compare.py: the function, the length (0: as it
// is), two axes, the norm, the dtype, the number of dimensions, the extents, and the elements, of complex
// ones both parts. Writes dtype, number of dimensions, extents and elements, or E and the error.
#include <complex>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lazy/lazy.hpp"

namespace {

using namespace lazy;

struct Case {
  std::string function, norm;
  int64_t length = 0;
  int axis = -1, other_axis = -2;
  Tensor x;
};

Tensor read_tensor(std::istream& in) {
  std::string type;
  int rank = 0;
  in >> type >> rank;
  const bool pairs = type.starts_with("complex");
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  size_t count = pairs ? 2 : 1;
  for (int64_t& n : shape) {
    in >> n;
    count *= static_cast<size_t>(n);
  }
  std::vector<double> values(count);
  for (double& v : values) in >> v;
  if (!pairs)
    return asarray(values).reshape(shape).astype(type == "float64"   ? float64
                                                 : type == "float32" ? float32
                                                                     : int32);
  shape.push_back(2);
  return view_as_complex(asarray(values).reshape(shape)).astype(type == "complex64" ? complex64 : complex128);
}

Case read_case(const std::string& line) {
  std::istringstream in(line);
  Case c;
  in >> c.function >> c.length >> c.axis >> c.other_axis >> c.norm;
  c.x = read_tensor(in);
  return c;
}

Tensor transformed(const Case& c) {
  const fft::Length n = c.length > 0 ? fft::Length(c.length) : fft::Length();
#define ALONG_ONE(f)                                                                          \
  {                                                                                           \
#f, [](const Case& a, fft::Length length) { return fft::f(a.x, length, a.axis, a.norm); } \
  }
#define ALONG_TWO(f)                                                                               \
  {                                                                                                \
#f, [](const Case& a, fft::Length) { return fft::f(a.x, {}, {a.axis, a.other_axis}, a.norm); } \
  }
#define ALONG_ALL(f)                                                           \
  {                                                                            \
#f, [](const Case& a, fft::Length) { return fft::f(a.x, {}, {}, a.norm); } \
  }
#define SHIFT(f)                                               \
  {                                                            \
#f, [](const Case& a, fft::Length) { return fft::f(a.x); } \
  }
  static const std::map<std::string, std::function<Tensor(const Case&, fft::Length)>> functions = {
      ALONG_ONE(fft),   ALONG_ONE(ifft),  ALONG_ONE(rfft),   ALONG_ONE(irfft), ALONG_ONE(hfft),
      ALONG_ONE(ihfft), ALONG_TWO(fft2),  ALONG_TWO(ifft2),  ALONG_TWO(rfft2), ALONG_ALL(fftn),
      ALONG_ALL(ifftn), ALONG_ALL(rfftn), ALONG_ALL(irfftn), SHIFT(fftshift),  SHIFT(ifftshift)};
  return functions.at(c.function)(c, n);
}

template <class T>
void write(std::ostream& out, const std::vector<T>& values) {
  for (const T& v : values)
    if constexpr (std::is_floating_point_v<T>) out << ' ' << v;
    else out << ' ' << v.real() << ' ' << v.imag();
}

}  // namespace

int main() {
  const no_grad scope;
  std::cout << std::setprecision(std::numeric_limits<double>::max_digits10);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Tensor y = transformed(read_case(line));
      std::cout << y.dtype() << ' ' << y.ndim();
      for (const int64_t n : y.shape()) std::cout << ' ' << n;
      if (y.is_complex()) write(std::cout, y.astype(complex128).to_vector<std::complex<double>>());
      else write(std::cout, y.astype(float64).to_vector<double>());
    } catch (const Error& e) { std::cout << "E " << e.what(); }
    std::cout << '\n';
  }
}
