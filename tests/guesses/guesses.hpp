// Turns each row of a list, GUESS(name, code), into a test case. The code is what a newcomer types first, and
// ends with what was meant. Lists are frozen: a row may become NOT_OFFERED, with the reason, but none goes. A
// row may use, and change:
//   x  0, 1 ... 11 as (3, 4)        v  1, 2, 3        m  {{4, 1}, {1, 3}}
#pragma once
#include <array>
#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"

namespace guesses {

using namespace lazy;

/// Holds what each case begins with.
struct Variables {
  Tensor x = lazy::arange(12.0).reshape({3, 4});
  Tensor v = lazy::tensor({1.0, 2.0, 3.0});
  Tensor m = lazy::tensor({{4.0, 1.0}, {1.0, 3.0}});
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "lazy_guesses";
  Variables() { std::filesystem::create_directories(folder); }
  std::string file(const char* name) const { return (folder / name).string(); }
};

/// Checks that a value has the shape and, as float64 to 1e-5, the elements of a list.
inline void same(const Tensor& value, const NestedList& expected) {
  const Tensor wanted = lazy::tensor(expected, lazy::float64);
  BOOST_TEST(value.shape() == wanted.shape());
  const auto a = value.to_vector<double>(), b = wanted.to_vector<double>();
  BOOST_REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a[i] - b[i]) <= 1e-5 + 1e-5 * std::abs(b[i]));
}

// Models as users of torch write them: called, or with forward().
struct Net : nn::Module {
  nn::Linear out{4, 2};
  LAZY_MODULE(out)
  Tensor operator()(const Tensor& t) const { return relu(out(t)); }
};
struct ForwardNet : nn::Module {
  nn::Linear out{4, 2};
  LAZY_MODULE(out)
  Tensor forward(const Tensor& t) { return relu(out(t)); }
};

}  // namespace guesses

#define IS(...) same(__VA_ARGS__)
#define CHECK(...) BOOST_TEST((__VA_ARGS__))
#define GUESS(name, ...)                              \
  BOOST_FIXTURE_TEST_CASE(name, guesses::Variables) { \
    using namespace guesses;                          \
    __VA_ARGS__;                                      \
  }
// What does not compile, or means something else, and why.
#define NOT_OFFERED(name, reason, ...)
