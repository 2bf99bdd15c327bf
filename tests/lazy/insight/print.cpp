// Tests what golden data can't contain: bfloat16, options that don't fit, and streams.
#include "lazy/insight/print.hpp"

#include <sstream>

#include "tests/common/check.hpp"

using namespace lazy;

namespace {
template <class T>
std::string text(const std::vector<T>& v, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(v.size())};
  return format(v.data(), dtype_of<T>(), shape);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(printing)

BOOST_AUTO_TEST_CASE(bfloat16_in_its_own_digits) {
  using B = bfloat16_t;
  BOOST_TEST(text<B>({B(0.1f), B(0.2f), B(3.140625f)}) == "[0.1  0.2  3.14]");
  BOOST_TEST(text<B>({B(1.0f), B(256.0f)}) == "[  1. 256.]");
  BOOST_TEST(text<B>({B(1e30f), B(1.0f)}) == "[1.e+30 1.e+00]");
  const B one(0.1f);
  BOOST_TEST(format(&one, bfloat16, {}) == "0.1");
}

// The text of every float16 reads back as the same number, with no more digits than needed.
BOOST_AUTO_TEST_CASE(every_float16_round_trips) {
  int wrong = 0;
  for (uint32_t b = 0; b < 65536; ++b) {
    const float16_t v = float16_t::from_bits(static_cast<uint16_t>(b));
    if (std::isnan(static_cast<float>(v))) continue;
    const std::string s = format(&v, float16, {});
    wrong += float16_t(std::strtod(s.c_str(), nullptr)).bits != v.bits || s.size() > 11;
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(options) {
  const PrintOptions before = get_printoptions();
  PrintOptions o;
  o.precision = 2;
  o.threshold = 3;
  o.edgeitems = 1;
  set_printoptions(o);
  std::ostringstream out;
  out << tensor({0.123, 1.0, 2.0, 3.0});
  BOOST_TEST(out.str() == "[0.12 ... 3.  ]");
  BOOST_TEST(to_string(tensor({1, 2})) == "[1 2]");
  set_printoptions(before);
  BOOST_TEST(to_string(tensor({0.123, 1.0, 2.0, 3.0})) == "[0.123 1.    2.    3.   ]");
  o.precision = -1;
  BOOST_CHECK_THROW(set_printoptions(o), Error);
  o = PrintOptions();
  o.sign = 'x';
  BOOST_CHECK_THROW(set_printoptions(o), Error);
  BOOST_TEST(get_printoptions().precision == 8);
}

BOOST_AUTO_TEST_CASE(tensors) {
  BOOST_TEST(to_string(tensor({{true, false}})) == "[[ True False]]");
  BOOST_TEST(to_string(tensor(2.5f)) == "2.5");
  BOOST_TEST(to_string(arange(6).reshape({2, 3}).T()) == "[[0 3]\n [1 4]\n [2 5]]");
  BOOST_TEST(to_string(zeros({2, 0})) == "[]");
}

BOOST_AUTO_TEST_CASE(what_tensors_are) {
  std::ostringstream out;
  const Tensor x = zeros({3, 4});
  out << x.shape() << ' ' << x.dtype() << ' ' << x.device() << ' ' << zeros({}).shape() << ' ' << cpu;
  BOOST_TEST(out.str() == "[3, 4] float32 " + to_string(x.device()) + " [] cpu");
}

BOOST_AUTO_TEST_CASE(selections) {
  Tensor x = arange(6).reshape({2, 3});
  std::ostringstream out;
  out << x(x > 3) << x(tensor({1}));
  BOOST_TEST(out.str() == "[4 5][[3 4 5]]");
}

BOOST_AUTO_TEST_SUITE_END()
