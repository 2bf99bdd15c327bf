// Reads the values of tests/golden/indexing*.txt.
#pragma once
#include <cmath>
#include <utility>

#include "tests/common/golden_arrays.hpp"

namespace golden_values {

using namespace lazy;

using golden::Value;

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
