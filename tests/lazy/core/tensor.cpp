#include "lazy/core/tensor.hpp"

#include <array>
#include <sstream>
#include <thread>

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(tensors)

BOOST_AUTO_TEST_CASE(properties) {
  const Tensor x = zeros({2, 3}, int16);
  BOOST_TEST((x.shape() == Shape{2, 3}));
  BOOST_TEST((x.dtype() == int16));
  BOOST_TEST(x.ndim() == 2);
  BOOST_TEST(x.size() == 6);
  BOOST_TEST(x.size(-1) == 3);
  BOOST_TEST(x.nbytes() == 12u);
  BOOST_TEST(x.defined());
  THROWS(IndexError, x.size(2), "size: axis 2 is out of range for 2 dimensions");
}

BOOST_AUTO_TEST_CASE(nothing_inside) {
  Tensor none;
  const Tensor x = ones({2});
  BOOST_TEST(!none.defined());
  const std::string text = ": the tensor is empty (default-constructed): assign to it first";
  THROWS(Error, none.shape(), "shape" + text);
  THROWS(Error, none + 1, "add" + text);
  THROWS(Error, x * none, "multiply" + text);
  THROWS(Error, exp(none), "exp" + text);
  THROWS(Error, sum(none), "sum" + text);
  THROWS(Error, none.sum(), "sum" + text);
  THROWS(Error, none.reshape({1}), "reshape" + text);
  THROWS(Error, matmul(none, x), "matmul" + text);
  THROWS(Error, none.item<float>(), "item" + text);
  THROWS(Error, none.to_vector<float>(), "to_vector" + text);
  THROWS(Error, none.eval(), "eval" + text);
  THROWS(Error, (eval(x, none), 0), "eval" + text);
  THROWS(Error, x(none), "index" + text);
  THROWS(Error, none += 1, "+=" + text);
  THROWS(Error, where(none, x, x), "where" + text);
  THROWS(Error, none.copy(), "copy" + text);
  std::ostringstream out;
  out << none;
  BOOST_TEST(out.str() == "<empty tensor>");
  none = x;
  equal(none, float32, {2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(reading_values) {
  const check::DefaultDType doubles(float64);
  const Tensor x = tensor({1.5, -2.5, 300.0});
  BOOST_TEST((x.to_vector<double>() == std::vector<double>{1.5, -2.5, 300}));
  BOOST_TEST((x.to_vector<float>() == std::vector<float>{1.5, -2.5, 300}));
  BOOST_TEST((x.astype(int8).to_vector<int8_t>() == std::vector<int8_t>{1, -2, 127}));
  THROWS(DtypeError, x.to_vector<int8_t>(),
         "to_vector: elements of float64 would lose their fractions as int8: convert with astype(int8) if "
         "that is meant");
  THROWS(DtypeError, x(1).item<int>(),
         "item: elements of float64 would lose their fractions as int32: convert with astype(int32) if that "
         "is meant");
  BOOST_TEST((x.to_vector<bool>() == std::vector<bool>{true, true, true}));
  BOOST_TEST(static_cast<float>(x.to_vector<float16_t>()[0]) == 1.5f);
  BOOST_TEST(int(x(1)) == -2);
  BOOST_TEST(tensor({{7}}).item<long>() == 7);
  BOOST_TEST(zeros({0}).to_vector<float>().empty());
  THROWS(ShapeError, x.item<double>(), "item: needs a tensor with one element, not [3]");
  THROWS(ShapeError, zeros({0}).item<double>(), "item: needs a tensor with one element, not [0]");

  const double* p = x.data<double>();
  BOOST_TEST(p[2] == 300);
  BOOST_TEST(x.data<double>() == p);
  THROWS(DtypeError, x.data<float>(), "data: the elements are float64, not float32");
  const Tensor t = arange(6).reshape({2, 3}).T();
  const int64_t* q = t.data<int64_t>();
  BOOST_TEST((std::vector<int64_t>(q, q + 6) == std::vector<int64_t>{0, 3, 1, 4, 2, 5}));

  BOOST_TEST(static_cast<bool>(tensor(3)));
  BOOST_TEST(!static_cast<bool>(tensor({0.0})));
  BOOST_TEST(static_cast<bool>(all(x == x)));
  if (x(0) > 1) BOOST_TEST(true);
  else BOOST_ERROR("1.5 > 1 is true");
  BOOST_CHECK_THROW(static_cast<bool>(x), ShapeError);
}

BOOST_AUTO_TEST_CASE(evaluation) {
  Tensor a = arange(3) + 1, b = a * 2;
  eval(a, b);
  equal(b, int64, {3}, {2, 4, 6});
  equal((a - b).eval(), int64, {3}, {-1, -2, -3});
  a(0) = 5;
  eval(a(slice(0, 1)), b);
  eval({});
}

/// Values of one graph that are listed at run time take one flush, as named ones do.
BOOST_AUTO_TEST_CASE(evaluation_of_lists) {
  const Tensor x = arange(5) + 0;
  std::vector<Tensor> list;
  for (int i = 0; i < 4; ++i) list.push_back(sum(x * i));
  reset_metrics();
  eval(list);
  BOOST_TEST(metrics().flushes == 1u);
  BOOST_TEST(list[3].item<int>() == 30);
  const Tensor y = x + list[0];
  const std::array<Tensor, 2> pair = {y * 2, y * 3};
  eval(pair);
  BOOST_TEST(metrics().flushes == 2u);
  eval(std::vector<Tensor>());
  BOOST_TEST(metrics().flushes == 2u);
  list[1] = Tensor();
  THROWS(Error, eval(list), "eval: the tensor is empty (default-constructed): assign to it first");
}

BOOST_AUTO_TEST_CASE(compound_assignment) {
  Tensor x = tensor({8, 5});
  const Tensor before = x;
  x += 1;
  x -= tensor({0, 1});
  x *= 2;
  x %= 8;
  x <<= 2;
  x >>= 1;
  x |= 1;
  x &= 7;
  x ^= 2;
  equal(before, int64, {2}, {8, 5});
  equal(x, int64, {2}, {((((18 % 8) << 2) >> 1 | 1) & 7) ^ 2, ((((10 % 8) << 2) >> 1 | 1) & 7) ^ 2});
  Tensor f = ones({2});
  f /= 4;
  f += tensor({1.0, 2.0});  // float64: same kind, stays float32
  equal(f, float32, {2}, {1.25, 2.25});
  f += f;
  equal(f, float32, {2}, {2.5, 4.5});
  Tensor small = ones({2}, int8);
  small += tensor({1, 2});  // int64: same kind, stays int8
  equal(small, int8, {2}, {2, 3});
  Tensor u = ones({2}, uint8);
  const std::string end = "and does not go into a tensor of ";
  THROWS(DtypeError, x += 0.5, "+=: the result is float32 " + end + "int64: convert with astype");
  THROWS(DtypeError, x /= 2, "/=: the result is float32 " + end + "int64: convert with astype");
  THROWS(DtypeError, u += tensor(1), "+=: the result is int64 " + end + "uint8: convert with astype");
  THROWS(ShapeError, f += ones({3, 2}), "+=: the result has shape [3, 2], the tensor assigned to [2]");
  equal(u, uint8, {2}, {1, 1});
  equal(f, float32, {2}, {2.5, 4.5});
}

BOOST_AUTO_TEST_CASE(members_name_the_users_line) {
  const Tensor x = zeros({2, 3});
  THROWS(IndexError, x.max(5), "max: axis 5 is out of range for 2 dimensions");
  THROWS(ShapeError, x.squeeze(1), "squeeze: axis 1 of [2, 3] is not 1");
  THROWS(ShapeError, x.dot(x), "dot: shapes [2, 3] and [2, 3] do not fit: the inner extents differ");
  THROWS(ShapeError, x.clip(0, ones({7})), "clip: shapes [2, 3] and [7] do not broadcast");
  equal(x.flatten(), float32, {6}, std::vector<double>(6, 0));
  equal(x.ravel().unsqueeze(0).swapaxes(0, 1).squeeze().copy(), float32, {6}, std::vector<double>(6, 0));
  equal(tensor({2.5, -1.5}).round(), float32, {2}, {2, -2});
  equal(tensor({{1, 2}, {3, 4}}).permute({1, 0}).prod(1), int64, {2}, {3, 8});
  equal(tensor({0, 1}).any(), bool_, {}, {1});
  equal(tensor({0, 1}).all(), bool_, {}, {0});
}

// A chain is so long that no stack could hold it if recording, running or dropping it recursed.
BOOST_AUTO_TEST_CASE(long_chains) {
  Tensor x = zeros({1}), y = from_span(std::vector<float>{0});
  for (int i = 0; i < 100000; ++i) y = y + 1;
  equal(y, float32, {1}, {100000});
  Tensor dropped = from_span(std::vector<float>{0});
  for (int i = 0; i < 100000; ++i) dropped = dropped + 1;
}

BOOST_AUTO_TEST_CASE(threads_share_tensors) {
  const Tensor x = arange(1000), y = (x * 2).reshape({10, 100}).T();
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(4);
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      const int64_t* p = y.data<int64_t>();
      for (int i = 0; i < 1000; ++i) sums[t] += p[i];
      sums[t] += sum(y + static_cast<int64_t>(t)).item<int64_t>();
    });
  for (auto& t : threads) t.join();
  for (size_t t = 0; t < sums.size(); ++t) BOOST_TEST(sums[t] == 999000 * 2 + static_cast<int64_t>(t) * 1000);
}

BOOST_AUTO_TEST_SUITE_END()
