// Compiles and runs each row of docs/coming_from.md.
#include "tests/guesses/guesses.hpp"

namespace guesses {

/// Holds what the rows are about.
struct Rows : Variables {
  std::vector<float> values{1, 2, 3};
  float data[6] = {0, 1, 2, 3, 4, 5};
  const Tensor i = lazy::tensor({2, 0}), j = lazy::tensor({{0, 1}, {1, 0}}), t = lazy::tensor({0, 1, 2});
  nn::Sequential net{nn::Linear(4, 2), nn::ReLU()};
  optim::SGD optimizer{net.parameters(), 0.1};
  Tensor w = lazy::tensor({2.0}).requires_grad_();
  Tensor loss = net(x).sum();
  std::string path = file("rows");
  static Tensor f(const Tensor& t) { return t * 2; }
};

}  // namespace guesses

#define LIBRARY(name, suite) BOOST_AUTO_TEST_SUITE(coming_from_##suite)
#define END_LIBRARY BOOST_AUTO_TEST_SUITE_END()
#define TOPIC(name)
#define ROW(other, ...)                                                        \
  BOOST_FIXTURE_TEST_CASE(BOOST_JOIN(row_in_line_, __LINE__), guesses::Rows) { \
    using namespace guesses;                                                   \
    __VA_ARGS__;                                                               \
  }
#define NOTE(other, words, ...) ROW(other, __VA_ARGS__)
#include "tests/guesses/coming_from.def"
