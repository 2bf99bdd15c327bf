#include "lazy/indexing/indexing.hpp"

#include <random>

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(indexing)

BOOST_AUTO_TEST_CASE(reading) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  equal(x(0, 1, 2), int64, {}, {6});
  equal(x(-1, -1, -1), int64, {}, {23});
  equal(x(1, 0), int64, {4}, {12, 13, 14, 15});
  equal(x(_, 0, 0), int64, {2}, {0, 12});
  equal(x(ellipsis, 0), int64, {2, 3}, {0, 4, 8, 12, 16, 20});
  equal(x(0, ellipsis), int64, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  equal(x(0, ellipsis, 1, _), int64, {4}, {4, 5, 6, 7});
  equal(x(0, 0, slice(1, none, 2)), int64, {2}, {1, 3});
  equal(x(0, 0, slice(none, none, -1)), int64, {4}, {3, 2, 1, 0});
  equal(x(0, 0, slice(2)), int64, {2}, {0, 1});
  equal(x(0, newaxis, 0, slice(0, 2)), int64, {1, 2}, {0, 1});
  BOOST_TEST((x(newaxis).shape() == Shape{1, 2, 3, 4}));
  BOOST_TEST((x(ellipsis, newaxis).shape() == Shape{2, 3, 4, 1}));
  BOOST_TEST(x(ellipsis).handle().get() == x.handle().get());
  BOOST_TEST(x(_, slice(0, 99)).handle().get() == x.handle().get());
  equal((x + 1)(0, 0, 0), int64, {}, {1});
  equal(tensor(5)(ellipsis), int64, {}, {5});
  equal(tensor(5)(newaxis), int64, {1}, {5});
}

BOOST_AUTO_TEST_CASE(wrong_indices) {
  const Tensor x = zeros({2, 3});
  THROWS(IndexError, x(2), "index: 2 is out of range for axis 0 with extent 2 of [2, 3]");
  THROWS(IndexError, x(0, -4), "index: -4 is out of range for axis 1 with extent 3 of [2, 3]");
  THROWS(IndexError, x(0, 0, 0), "index: 3 indices for 2 dimensions of shape [2, 3]");
  THROWS(IndexError, x(ellipsis, ellipsis), "index: more than one ellipsis");
  THROWS(IndexError, x(slice(0, 1, 0)), "index: the step of a slice can't be 0");
  THROWS(IndexError, zeros({0})(0), "index: 0 is out of range for axis 0 with extent 0 of [0]");
  THROWS(ShapeError, zeros({1, 1, 1, 1, 1, 1, 1, 1})(newaxis),
         "index: the result has more than 8 dimensions");
  THROWS(DtypeError, x(zeros({2})), "index: an index is of integers, a mask of bool, not float32");
  THROWS(ShapeError, x(zeros({3}, bool_)),
         "index: a mask of shape [3] does not match the leading dimensions of [2, 3]");
  THROWS(Error, Tensor()(0), "index: the tensor is empty (default-constructed): assign to it first");
}

// Compares every slice of small extents with Python's definition: the indices start, start + step, ... before
// stop.
BOOST_AUTO_TEST_CASE(slices_follow_python) {
  for (int n = 0; n <= 4; ++n) {
    const Tensor x = arange(n);
    for (int start = -6; start <= 6; ++start)
      for (int stop = -6; stop <= 6; ++stop)
        for (int step : {-3, -2, -1, 1, 2, 5}) {
          const auto bound = [&](int b) {
            if (b < 0) b += n;
            return step < 0 ? std::clamp(b, -1, n - 1) : std::clamp(b, 0, n);
          };
          std::vector<double> expected;
          for (int i = bound(start); step > 0 ? i < bound(stop) : i > bound(stop); i += step)
            expected.push_back(i);
          BOOST_TEST_CONTEXT("arange(" << n << ")[" << start << ":" << stop << ":" << step << "]")
          equal(x(slice(start, stop, step)), int64, {static_cast<int64_t>(expected.size())}, expected);
        }
  }
  const Tensor x = arange(5);
  equal(x(slice(INT64_MIN, INT64_MAX, INT64_MAX)), int64, {1}, {0});
  equal(x(slice(none, none, INT64_MIN)), int64, {1}, {4});
}

BOOST_AUTO_TEST_CASE(writing) {
  Tensor x = zeros({3, 4}, int64);
  x(0) = 1;
  x(1, slice(none, none, 2)) = tensor({5, 6});
  x(-1, slice(none, none, -1)) = arange(4);
  equal(x, int64, {3, 4}, {1, 1, 1, 1, 5, 0, 6, 0, 3, 2, 1, 0});
  x(_, 1) += 10;
  x(0, 0) -= 1;
  x(2) *= 2;
  equal(x, int64, {3, 4}, {0, 11, 1, 1, 5, 10, 6, 0, 6, 24, 2, 0});
  x(2, slice(1, 3)) %= 5;
  x(1) &= 6;
  x(1) |= 1;
  x(1) ^= 3;
  equal(x, int64, {3, 4}, {0, 11, 1, 1, 6, 0, 4, 2, 6, 4, 2, 0});
  x(ellipsis) = 7;
  equal(x, int64, {3, 4}, std::vector<double>(12, 7));
  x(slice(3, 3)) = 100;  // nothing selected
  equal(x, int64, {3, 4}, std::vector<double>(12, 7));
  x(_, newaxis, 0) = tensor({{1}, {2}, {3}});
  equal(x(_, 0), int64, {3}, {1, 2, 3});
  x(0, slice(0, 2)) = tensor({{8, 9}});  // leading axes of extent 1 go
  equal(x(0), int64, {4}, {8, 9, 7, 7});
  Tensor f = ones({4});
  f(slice(0, 2)) /= 2;
  f(3) = tensor({4.5});  // float64 into float32: same kind
  equal(f, float32, {4}, {0.5, 0.5, 1, 4.5});
  f(slice(1, 4)) = f(slice(0, 3));  // reads before it writes
  equal(f, float32, {4}, {0.5, 0.5, 0.5, 1});
  f(slice(none, none, -1)) = f;
  equal(f, float32, {4}, {1, 0.5, 0.5, 0.5});
  Tensor shared = f;
  f(0) = 9;
  equal(shared, float32, {4}, {1, 0.5, 0.5, 0.5});
  Tensor scalar = tensor(1);
  scalar(ellipsis) = 5;
  equal(scalar, int64, {}, {5});
}

BOOST_AUTO_TEST_CASE(wrong_writes) {
  Tensor x = arange(6).reshape({2, 3});
  THROWS(ShapeError, x(0) = arange(2), "assign: a value of shape [2] does not broadcast to the selected [3]");
  THROWS(ShapeError, x(0) = zeros({2, 3}, int64),
         "assign: a value of shape [2, 3] does not broadcast to the selected [3]");
  THROWS(DtypeError, x(0) = 0.5, "assign: 0.5 does not go into a tensor of int64: convert with astype");
  THROWS(DtypeError, x(0) = zeros({3}),
         "assign: a float32 value does not go into a tensor of int64: convert with astype");
  THROWS(DtypeError, x(0) /= 2,
         "/=: a float32 value does not go into a tensor of int64: convert with astype");
  THROWS(ShapeError, x(0) += arange(2), "+=: shapes [3] and [2] do not broadcast");
  THROWS(IndexError, x(5) = 1, "index: 5 is out of range for axis 0 with extent 2 of [2, 3]");
  Tensor small = zeros({2}, uint8);
  THROWS(DtypeError, small(0) = 256, "assign: 256 does not fit uint8: cast the tensor with astype first");
  THROWS(DtypeError, small(0) = tensor(1),
         "assign: a int64 value does not go into a tensor of uint8: convert with astype");
  equal(x, int64, {2, 3}, {0, 1, 2, 3, 4, 5});  // still what it was
  equal(small, uint8, {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(masks) {
  Tensor x = arange(6).reshape({2, 3});
  equal(x(x > 2), int64, {3}, {3, 4, 5});
  equal(x(x > 9), int64, {0}, {});
  const Tensor rows = tensor({false, true});
  equal(x(rows), int64, {1, 3}, {3, 4, 5});
  equal(sum(x(x % 2 == 1)), int64, {}, {9});
  x(x == 4) = 40;
  x(rows) += tensor({100, 200, 300});
  equal(x, int64, {2, 3}, {0, 1, 2, 103, 240, 305});
  x(x > 200) = tensor({-1});
  equal(x, int64, {2, 3}, {0, 1, 2, 103, -1, -1});
  Tensor y = ones({2, 3});
  y(y > 0) /= 4;
  equal(y, float32, {2, 3}, std::vector<double>(6, 0.25));
  y(x < 0) = 0;
  equal(y, float32, {2, 3}, {0.25, 0.25, 0.25, 0.25, 0, 0});
  THROWS(ShapeError, y(x < 0) = ones({2, 3}),
         "assign: a value of shape [2, 3] does not broadcast to the selected [2]");
  THROWS(ShapeError, y(x < 0) += ones({3}), "+=: shapes [2] and [3] do not broadcast");
  THROWS(DtypeError, x(x < 0) = 1.5, "assign: 1.5 does not go into a tensor of int64: convert with astype");
  Tensor s = tensor(3);
  equal(s(s > 2), int64, {1}, {3});
  const Tensor c = arange(4);
  equal(c(c != 2), int64, {3}, {0, 1, 3});
}

// Writes random regions of random shapes and reads them back, compared with loops over a plain array.
BOOST_AUTO_TEST_CASE(random_regions) {
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 rng(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  for (int round = 0; round < 200; ++round) {
    const int n = pick(1, 6), m = pick(1, 6);
    Tensor x = arange(n * m).reshape({n, m});
    std::vector<double> plain(static_cast<size_t>(n * m));
    for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<double>(i);
    int start[2], stop[2], step[2];
    for (int a = 0; a < 2; ++a) {
      start[a] = pick(-7, 7);
      stop[a] = pick(-7, 7);
      do step[a] = pick(-3, 3);
      while (step[a] == 0);
    }
    const auto indices = [&](int a) {
      const int extent = a ? m : n;
      const auto bound = [&](int b) {
        if (b < 0) b += extent;
        return step[a] < 0 ? std::clamp(b, -1, extent - 1) : std::clamp(b, 0, extent);
      };
      std::vector<int> r;
      for (int i = bound(start[a]); step[a] > 0 ? i < bound(stop[a]) : i > bound(stop[a]); i += step[a])
        r.push_back(i);
      return r;
    };
    const auto rows = indices(0), columns = indices(1);
    double next = 1000;
    for (int i : rows)
      for (int j : columns) plain[static_cast<size_t>(i * m + j)] = next++;
    const int64_t r = static_cast<int64_t>(rows.size()), c = static_cast<int64_t>(columns.size());
    x(slice(start[0], stop[0], step[0]), slice(start[1], stop[1], step[1])) =
        arange(1000, 1000 + r * c).reshape({r, c});
    BOOST_TEST_CONTEXT("seed " << seed << " round " << round) equal(x, int64, {n, m}, plain);
  }
}

BOOST_AUTO_TEST_SUITE_END()
