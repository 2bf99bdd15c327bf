// Tests values whose last reader reads them directly and through a view: their memory is not free before all
// of it has been read.
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

namespace {

/// Evaluates f's value fused and op by op, on one thread and on three; true if all bits are the same.
template <class F>
void same(const F& f) {
  const std::vector<float> alone = [&] {
    const Override eager("LAZY_EAGER", "1");
    return f().template to_vector<float>();
  }();
  for (const char* threads : {"1", "3"}) {
    const Override set("LAZY_NUM_THREADS", threads);
    BOOST_TEST(f().template to_vector<float>() == alone);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(read_twice, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_product_and_its_transpose) {
  for (const int64_t n : {2, 17, 64, 150}) {
    const Tensor x = numbers({n, n}) * 0.01;
    x.eval();
    same([&] {
      const Tensor m = matmul(x, x);
      return m + m.T();
    });
    same([&] {
      const Tensor m = matmul(x, x);
      return m.T() * 2 - m;
    });
    same([&] {
      const Tensor m = matmul(x, x);
      return m + flip(m, {0}) * flip(m, {1});
    });
  }
}

BOOST_AUTO_TEST_CASE(running_sums_and_their_reverse) {
  for (const int64_t n : {5, 1000}) {
    const Tensor x = numbers({n}), y = numbers({n, 3});
    same([&] {
      const Tensor s = cumsum(x, {0});
      return s - flip(s);
    });
    same([&] {
      const Tensor s = cumsum(y, {0});
      return flip(s, {1}) * s + flip(s, {0});
    });
  }
}

BOOST_AUTO_TEST_CASE(a_slice_assigned_from_the_rest) {
  for (const int64_t n : {6, 400}) {
    const Tensor x = numbers({n, n});
    same([&] {
      Tensor s = cumsum(x, {0});
      s(slice(1, none)) = s(slice(none, -1)) + s(slice(1, none));
      return s;
    });
    same([&] {
      Tensor s = cumsum(x, {1});
      s(_, 0) = s(0, _);
      return s;
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
