// Compares functions of arrays with answers in tests/golden (their format: tests/golden/make_arrays.py), on
// operands in memory, with steps and negative strides, and not computed yet.
#pragma once
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

namespace golden {

using namespace lazy;
using Tensors = std::vector<Tensor>;
/// Holds functions by the names that the files have for them, with their other arguments.
using Functions = std::map<std::string, std::function<Tensors(const Tensors&)>>;

/// Holds a value of a file.
struct Value {
  bool is_input;
  DType dtype;
  Shape shape;
  std::vector<char> bytes;

  explicit Value(const std::string& field) {
    const std::vector<std::string> w = words(field);
    is_input = w[0] == "in";
    dtype = dtype_named(w[1]);
    if (w[2] != "-")
      for (const std::string& n : words(w[2], ',')) shape.push_back(std::stoll(n));
    for (size_t i = 3; i < w.size(); ++i) {
      const uint64_t bits = std::stoull(w[i], nullptr, 16);
      bytes.insert(bytes.end(), reinterpret_cast<const char*>(&bits),
                   reinterpret_cast<const char*>(&bits) + size_of(dtype));
    }
    bytes.resize(bytes.size() + 1);  // never a null pointer
  }
  Tensor tensor() const {
    char* const copied = new char[bytes.size()];
    std::memcpy(copied, bytes.data(), bytes.size());
    return from_blob(copied, shape, dtype, {}, [](void* p) { delete[] static_cast<char*>(p); });
  }
};

/// Returns the same elements in memory, with negative strides, with steps, or not computed yet.
inline Tensor in_form(const Tensor& x, size_t form) {
  switch (form) {
    case 1: {
      const Tensor turned = flip(x).copy();
      turned.eval();
      return flip(turned);
    }
    case 2: {
      if (x.ndim() == kMaxRank) return x;
      Shape twice = x.shape();
      twice.push_back(2);
      const Tensor wide = broadcast_to(expand_dims(x, -1), twice).copy();
      wide.eval();
      return std::as_const(wide)(ellipsis, 0);
    }
    case 3: return where(x == x, x, x);
    default: return x;
  }
}

/// Holds how far floats may be from the expected ones: units of the last place of the value, or of 1 if it is
/// smaller.
struct Tolerance {
  double units = 0;
  bool absolute = false;
};

inline void matches(const Tensor& x, const Value& want, const Tolerance& tolerance) {
  BOOST_TEST(std::string(name_of(x.dtype())) == name_of(want.dtype));
  BOOST_TEST(to_string(x.shape()) == to_string(want.shape));
  if (x.dtype() != want.dtype || !(x.shape() == want.shape)) return;
  const std::vector<double> got = x.to_vector<double>(), expected = want.tensor().to_vector<double>();
  const double eps = is_float(want.dtype) ? finfo(want.dtype).eps : 0;
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double e = expected[i], g = got[i];
    bool good =
        std::isnan(e) ? std::isnan(g) : g == e && (tolerance.units > 0 || std::signbit(g) == std::signbit(e));
    if (!good && tolerance.units > 0 && std::isfinite(e)) {
      const double size = tolerance.absolute ? std::max(1.0, std::abs(e)) : std::abs(e);
      good = std::abs(g - e) <= tolerance.units * eps * size;
    }
    if (good) continue;
    if (++wrong < 4)
      BOOST_ERROR("element " << i << " is " << g << ", not " << e << " (" << (g - e) / eps / std::abs(e)
                             << " units)");
  }
  if (wrong >= 4) BOOST_ERROR(wrong << " elements are wrong");
}

/// Compares the functions that a file names with its answers.
inline void run(const std::string& file, const Functions& functions) {
  const check::DefaultDType numpys(float64);
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/" + file);
  size_t number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    const std::vector<std::string> fields = golden::fields(line);
    const std::string name = fields[0].substr(0, fields[0].find('~'));
    Tolerance tolerance;
    if (name != fields[0]) {
      tolerance.absolute = fields[0][name.size() + 1] == '~';
      tolerance.units = std::stod(fields[0].substr(name.size() + (tolerance.absolute ? 2 : 1)));
    }
    std::vector<Value> inputs, outputs;
    std::string shapes;
    for (size_t i = 1; i < fields.size(); ++i) {
      Value v(fields[i]);
      if (v.is_input) shapes += std::string(" ") + name_of(v.dtype) + to_string(v.shape);
      (v.is_input ? inputs : outputs).push_back(std::move(v));
    }
    const auto f = functions.find(name);
    BOOST_REQUIRE_MESSAGE(f != functions.end(), "no function " + name);
    for (const size_t form : {size_t{0}, 1 + number % 3})
      BOOST_TEST_CONTEXT(name << shapes << " in form " << form << " (line " << number + 1 << ")") {
        Tensors x;
        for (const Value& v : inputs) x.push_back(in_form(v.tensor(), form));
        const Tensors results = f->second(x);
        BOOST_TEST(results.size() == outputs.size());
        for (size_t i = 0; i < std::min(results.size(), outputs.size()); ++i)
          matches(results[i], outputs[i], tolerance);
      }
  }
  BOOST_TEST(number > 10u);
}

}  // namespace golden
