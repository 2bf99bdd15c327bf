// Reads the values of tests/golden/indexing*.txt.
#pragma once
#include <cmath>
#include <cstring>
#include <utility>

#include "lazy/lazy.hpp"
#include "tests/common/golden_lines.hpp"

namespace golden_values {

using namespace lazy;

/// Holds a value of the file.
struct Value {
  bool is_input;
  DType dtype;
  Shape shape;
  std::vector<char> bytes;

  explicit Value(const std::string& field) {
    const std::vector<std::string> w = golden::words(field);
    is_input = w[0] == "in";
    dtype = golden::dtype_named(w[1]);
    if (w[2] != "-")
      for (const std::string& n : golden::words(w[2], ',')) shape.push_back(std::stoll(n));
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

/// Returns the same elements in memory, with negative strides, or not computed yet.
inline Tensor in_form(const Tensor& x, int form) {
  if (form == 1) return flip(flip(x).copy().eval());
  if (form == 2) return where(x == x, x, x);
  return x;
}

/// Checks that dtype, shape and elements are the expected ones; NaN equals NaN.
inline void matches(const Tensor& x, const Value& want) {
  BOOST_TEST(std::string(name_of(x.dtype())) == name_of(want.dtype));
  BOOST_TEST(to_string(x.shape()) == to_string(want.shape));
  if (x.dtype() != want.dtype || !(x.shape() == want.shape)) return;
  const std::vector<double> got = x.to_vector<double>(), expected = want.tensor().to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST((got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))),
               "element " << i << " is " << got[i] << ", not " << expected[i]);
}

/// Returns a line's inputs and results.
inline std::pair<std::vector<Value>, std::vector<Value>> values_of(const std::vector<std::string>& fields) {
  std::vector<Value> inputs, outputs;
  for (size_t i = 1; i < fields.size(); ++i) {
    Value v(fields[i]);
    (v.is_input ? inputs : outputs).push_back(std::move(v));
  }
  return {std::move(inputs), std::move(outputs)};
}

}  // namespace golden_values
