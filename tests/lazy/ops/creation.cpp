#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(creation)

BOOST_AUTO_TEST_CASE(literals) {
  equal(tensor(3), int64, {}, {3});
  equal(tensor(2.5), float32, {}, {2.5});
  equal(tensor(2.5f), float32, {}, {2.5});
  equal(tensor(true), bool_, {}, {1});
  equal(tensor({1, 2, 3}), int64, {3}, {1, 2, 3});
  equal(tensor({1u, 4000000000u}), uint32, {2}, {1, 4000000000.0});
  equal(tensor({int8_t{1}, int8_t{-2}}), int8, {2}, {1, -2});
  equal(tensor({1.5, -0.0}), float32, {2}, {1.5, -0.0});
  equal(tensor({true, false}), bool_, {2}, {1, 0});
  equal(tensor({float16_t(1.5f), float16_t(65504.0f)}), float16, {2}, {1.5, 65504});
  equal(tensor({bfloat16_t(1.5f)}), bfloat16, {1}, {1.5});
  equal(tensor({{1, 2}, {3, 4}, {5, 6}}), int64, {3, 2}, {1, 2, 3, 4, 5, 6});
  equal(tensor({{{1.0f}, {2.0f}}, {{3.0f}, {4.0f}}}), float32, {2, 2, 1}, {1, 2, 3, 4});
  equal(tensor({{{{1, 2}}}, {{{3, 4}}}}), int64, {2, 1, 1, 2}, {1, 2, 3, 4});
  equal(tensor({{{{{1, 2}}}, {{{3, 4}}}}}), int64, {1, 2, 1, 1, 2}, {1, 2, 3, 4});
  equal(tensor({1, 2}, float32), float32, {2}, {1, 2});
  equal(tensor({300, -1}, uint8), uint8, {2}, {44, 255});
  equal(tensor({{1.5, 2}, {3, 4}}), float32, {2, 2}, {1.5, 2, 3, 4});
  equal(tensor({{1.5f, 2.0f}, {3, 4}}), float32, {2, 2}, {1.5, 2, 3, 4});
  equal(tensor({1, true, 2.5}), float32, {3}, {1, 1, 2.5});
  equal(tensor({true, 2}), int64, {2}, {1, 2});
  equal(tensor({{300, true}}, uint8), uint8, {1, 2}, {44, 1});
  equal(tensor({float16_t(1.5f), 2}), float16, {2}, {1.5, 2});
  equal(tensor({{{{{{1, 2}}}}}}), int64, {1, 1, 1, 1, 1, 2}, {1, 2});
  THROWS(ShapeError, tensor({{1, 2.5}, {3}}), "tensor: rows are lists of unequal length: 2 and 1");
  THROWS(ShapeError, tensor({{1, 2}, 3}), "tensor: a number where a list is expected");
  THROWS(ShapeError, tensor({3, {1, 2}}), "tensor: a list where a number is expected");
  THROWS(ShapeError, tensor({{1, 2}, {3}}), "tensor: rows are lists of unequal length: 2 and 1");
  THROWS(ShapeError, tensor({{{1}, {2}}, {{3}}}), "tensor: rows are lists of unequal length: 2 and 1");
}

BOOST_AUTO_TEST_CASE(filled) {
  equal(zeros({2, 2}), float32, {2, 2}, {0, 0, 0, 0});
  equal(zeros(3, int8), int8, {3}, {0, 0, 0});
  equal(ones({}), float32, {}, {1});
  equal(ones({0, 4}, bool_), bool_, {0, 4}, {});
  equal(empty({2}), float32, {2}, {0, 0});
  equal(full({2}, 7), int64, {2}, {7, 7});
  equal(full({2}, 0.5), float32, {2}, {0.5, 0.5});
  equal(full({1}, true), bool_, {1}, {1});
  equal(full({1}, -1.5, float64), float64, {1}, {-1.5});
  equal(full({2}, 3, float16), float16, {2}, {3, 3});
  const std::vector<int64_t> shape{2, 1};
  equal(zeros(shape), float32, {2, 1}, {0, 0});
  const Tensor x = ones({2, 3}, int16);
  equal(zeros_like(x), int16, {2, 3}, {0, 0, 0, 0, 0, 0});
  equal(ones_like(x, float64), float64, {2, 3}, {1, 1, 1, 1, 1, 1});
  equal(full_like(x, 9), int16, {2, 3}, {9, 9, 9, 9, 9, 9});
  BOOST_TEST((empty_like(x).shape() == Shape{2, 3}));
  THROWS(ShapeError, zeros({2, -1}), "zeros: an extent can't be negative: [2, -1]");
  THROWS(DtypeError, full({2}, 300, uint8), "full: the value 300 does not fit uint8");
  THROWS(ShapeError, zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}), "shape: a tensor has at most 8 dimensions, not 9");
}

BOOST_AUTO_TEST_CASE(ranges) {
  equal(arange(4), int64, {4}, {0, 1, 2, 3});
  equal(arange(2, 5), int64, {3}, {2, 3, 4});
  equal(arange(10, 0, -3), int64, {4}, {10, 7, 4, 1});
  equal(arange(0, 5, 2), int64, {3}, {0, 2, 4});
  equal(arange(0), int64, {0}, {});
  equal(arange(5, 2), int64, {0}, {});
  equal(arange(2.5), float32, {3}, {0, 1, 2});
  equal(arange(0, 1, 0.25), float32, {4}, {0, 0.25, 0.5, 0.75});
  equal(arange(0, 3, 1, int8), int8, {3}, {0, 1, 2});
  equal(arange(0, 12, 1, float32).reshape({3, 4})(2), float32, {4}, {8, 9, 10, 11});
  equal(arange(1, 0, -0.5), float32, {2}, {1, 0.5});
  BOOST_TEST(arange(0, 1, 0.1).size() == 10);
  BOOST_TEST(arange(INT64_MIN, INT64_MAX, INT64_MAX).size() == 3);
  THROWS(ShapeError, arange(0, 3, 0), "arange: the step can't be 0");
  THROWS(ShapeError, arange(0, check::inf), "arange: the range is not finite");

  equal(linspace(0, 1, 5), float32, {5}, {0, 0.25, 0.5, 0.75, 1});
  equal(linspace(0, 1, 4, false), float32, {4}, {0, 0.25, 0.5, 0.75});
  equal(linspace(1, 3, 1), float32, {1}, {1});
  equal(linspace(1, 3, 0), float32, {0}, {});
  equal(linspace(0, 10, 3, true, int32), int32, {3}, {0, 5, 10});
  BOOST_TEST(linspace(0, 0.7, 8, true, float64)(7).item<double>() == 0.7);
  THROWS(ShapeError, linspace(0, 1, -1), "linspace: the number of values can't be negative: -1");
}

BOOST_AUTO_TEST_CASE(matrices) {
  equal(eye(2), float32, {2, 2}, {1, 0, 0, 1});
  equal(eye(2, 3, 1, int64), int64, {2, 3}, {0, 1, 0, 0, 0, 1});
  equal(eye(3, 2, -1), float32, {3, 2}, {0, 0, 1, 0, 0, 1});
  const Tensor x = arange(1, 7).reshape({2, 3});
  equal(tril(x), int64, {2, 3}, {1, 0, 0, 4, 5, 0});
  equal(tril(x, 1), int64, {2, 3}, {1, 2, 0, 4, 5, 6});
  equal(triu(x), int64, {2, 3}, {1, 2, 3, 0, 5, 6});
  equal(triu(x, -1), int64, {2, 3}, {1, 2, 3, 4, 5, 6});
  equal(tril(ones({2, 2, 2}, bool_)), bool_, {2, 2, 2}, {1, 0, 1, 1, 1, 0, 1, 1});
  THROWS(ShapeError, tril(arange(3)), "tril: needs two dimensions, not [3]");
  const auto xy = meshgrid({arange(2), arange(3)});
  equal(xy[0], int64, {3, 2}, {0, 1, 0, 1, 0, 1});
  equal(xy[1], int64, {3, 2}, {0, 0, 1, 1, 2, 2});
  const auto ij = meshgrid({arange(2), arange(3)}, "ij");
  equal(ij[0], int64, {2, 3}, {0, 0, 0, 1, 1, 1});
  equal(ij[1], int64, {2, 3}, {0, 1, 2, 0, 1, 2});
  BOOST_CHECK_THROW(meshgrid({arange(2)}, "yx"), Error);
}

BOOST_AUTO_TEST_CASE(from_memory) {
  const std::vector<int32_t> v{1, 2, 3, 4, 5, 6};
  equal(from_span(v), int32, {6}, {1, 2, 3, 4, 5, 6});
  int16_t array[3] = {1, 2, 3};
  equal(from_span(std::span(array)), int16, {3}, {1, 2, 3});
  equal(from_span(std::span<const int16_t>(array, 2)), int16, {2}, {1, 2});
  equal(from_span(v, {2, 3}), int32, {2, 3}, {1, 2, 3, 4, 5, 6});
  equal(asarray(v), int32, {6}, {1, 2, 3, 4, 5, 6});
  equal(asarray(std::vector<bool>{true, false}), bool_, {2}, {1, 0});
  equal(asarray(2.5), float32, {}, {2.5});
  equal(asarray(std::vector<double>{1.5, 2}, float32), float32, {2}, {1.5, 2});
  THROWS(ShapeError, from_span(v, {4}), "from_span: 6 elements do not fill [4]");

  float data[6] = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  {
    Tensor x = from_blob(data, {2, 3}, float32, {}, [&](void*) { ++deleted; });
    equal(x, float32, {2, 3}, {0, 1, 2, 3, 4, 5});
    const bool copied = default_device() != Device{};  // copied to a GPU at once
    BOOST_TEST((x.data<float>() == data) == !copied);
    const Tensor kept = x.copy();
    BOOST_TEST(kept.data<float>() != data);
    Tensor y = x;
    x = Tensor();
    BOOST_TEST(deleted == (copied ? 1 : 0));
  }
  BOOST_TEST(deleted == 1);
  equal(from_blob(data, {3, 2}, float32, {1, 3}), float32, {3, 2}, {0, 3, 1, 4, 2, 5});
  equal(from_blob(data + 5, {3}, float32, {-2}), float32, {3}, {5, 3, 1});
  equal(from_blob(data + 1, {2, 2}, float32, {0, 1}), float32, {2, 2}, {1, 2, 1, 2});
  equal(from_blob(data, {2, 2}), float32, {2, 2}, {0, 1, 2, 3});
  const Tensor strided = from_blob(data, {3, 2}, float32, {1, 3});
  const float* packed = strided.data<float>();
  BOOST_TEST(packed[1] == 3);
  BOOST_TEST(strided.data<float>() == packed);
  THROWS(ShapeError, from_blob(data, {3}, float32, {1, 1}), "from_blob: 2 strides for shape [3]");
  THROWS(Error, from_blob(nullptr, {3}, float32), "from_blob: the pointer is null");
}

BOOST_AUTO_TEST_CASE(deleters) {
  float data[4] = {1, 2, 3, 4};
  int deleted = 0;
  const auto deleter = [&](void*) { ++deleted; };
  BOOST_CHECK_THROW(from_blob(data, {-1}, float32, {}, deleter), ShapeError);
  BOOST_CHECK_THROW(from_blob(data, {4}, float32, {1, 1}, deleter), ShapeError);
  BOOST_CHECK_THROW(from_blob(nullptr, {4}, float32, {}, deleter), Error);
  BOOST_CHECK_THROW(from_blob(data, {int64_t{1} << 60}, float32, {}, deleter), ShapeError);
  BOOST_TEST(deleted == 0);  // the caller of a failed call still owns the memory
  { const Tensor x = from_blob(data, {4}, float32, {}, deleter); }
  BOOST_TEST(deleted == 1);
  // A tensor is destroyed at places where nothing may be thrown.
  {
    const Tensor x = from_blob(data, {4}, float32, {}, [](void*) { throw std::runtime_error("no"); });
  }
  {
    const Tensor x = from_blob(data, {4}, float32, {}, [](void*) { throw 1; });
  }
}

BOOST_AUTO_TEST_CASE(too_large_to_address) {
  const int64_t huge = int64_t{1} << 40;
  THROWS(ShapeError, zeros({huge, huge}),
         "zeros: shape [1099511627776, 1099511627776] has more elements than can be addressed");
  BOOST_TEST(zeros({huge, 0, huge}).size() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
