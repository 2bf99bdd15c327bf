// Declares what the rows should give, in higher precision, of the very inputs that a side had.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

using Exact = long double;

struct Values {
  std::string dtype;
  std::vector<size_t> shape;
  std::vector<double> v;  // row-major
};

struct Case {
  std::string workload;  // without a suffix for the dtype or the layout
  std::string size;
  std::vector<Values> in, out;
};

/// Holds one exact result.
struct Expected {
  size_t output, index;
  Exact value;
};

/// Returns exact results of a workload, of large ones some; none for one without a reference.
std::vector<Expected> expected(const Case& c);
/// True if its results are sums that may cancel.
bool cancels(const std::string& workload);

}  // namespace bench
