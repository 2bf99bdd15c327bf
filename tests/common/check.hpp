// Shared by the tests of lazy/: compares tensors with hand-known values, and errors with where they
// happened.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <typeinfo>
#include <vector>

#include "lazy/lazy.hpp"
#include "tests/common/any_call.hpp"

namespace check {

using lazy::inf;
inline const double NaN = std::nan("");

/// Changes the default dtype for a scope.
class DefaultDType {
 public:
  explicit DefaultDType(lazy::DType t) { lazy::set_default_dtype(t); }
  DefaultDType(const DefaultDType&) = delete;
  ~DefaultDType() { lazy::set_default_dtype(before_); }

 private:
  const lazy::DType before_ = lazy::get_default_dtype();
};

/// Checks that dtype, shape and every element are as given (NaN equals NaN, -0 is not 0).
inline void equal(const lazy::Tensor& x, lazy::DType dtype, const lazy::Shape& shape,
                  const std::vector<double>& expected, const lazy::Site& s = lazy::Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    BOOST_TEST(lazy::name_of(x.dtype()) == std::string(lazy::name_of(dtype)));
    BOOST_TEST(lazy::to_string(x.shape()) == lazy::to_string(shape));
    const std::vector<double> v = x.to_vector<double>();
    BOOST_REQUIRE_EQUAL(v.size(), expected.size());
    for (size_t i = 0; i < v.size(); ++i) {
      const bool same = (std::isnan(v[i]) && std::isnan(expected[i])) ||
                        (v[i] == expected[i] && std::signbit(v[i]) == std::signbit(expected[i]));
      BOOST_TEST(same, "element " << i << " is " << v[i] << ", not " << expected[i]);
    }
  }
}

/// Checks likewise within `tolerance` (relative).
inline void close(const lazy::Tensor& x, const std::vector<double>& expected, double tolerance,
                  const lazy::Site& s = lazy::Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    const std::vector<double> v = x.to_vector<double>();
    BOOST_REQUIRE_EQUAL(v.size(), expected.size());
    for (size_t i = 0; i < v.size(); ++i)
      BOOST_TEST(std::abs(v[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])),
                 "element " << i << " is " << v[i] << ", not " << expected[i]);
  }
}

/// Checks that both have the same dtype, shape and elements.
inline void same(const lazy::Tensor& x, const lazy::Tensor& y, const lazy::Site& s = lazy::Site::current()) {
  equal(x, y.dtype(), y.shape(), y.to_vector<double>(), s);
}

namespace detail {

inline void check_throws(lazy::test::AnyCall call, const std::string& message, int line,
                         const std::type_info& type) {
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR("nothing was thrown, expected: " + message);
    } catch (const lazy::Error& e) {
      BOOST_TEST(typeid(e).name() == type.name());
      const std::string file = e.where().line() ? std::string(lazy::file_name(e.where())) : std::string();
      BOOST_TEST(std::string(e.what()) == message + " (" + file + ":" + std::to_string(line) + ")");
    }
  }
}

}  // namespace detail

/// Checks that the call throws exactly E, with `message` followed by this file and line.
template <class E>
void throws(lazy::test::AnyCall call, const std::string& message, int line) {
  detail::check_throws(call, message, line, typeid(E));
}

}  // namespace check

/// Checks that the expression throws E with exactly `message`, at this line.
#define THROWS(E, expression, message) check::throws<lazy::E>([&] { (void)(expression); }, message, __LINE__)
