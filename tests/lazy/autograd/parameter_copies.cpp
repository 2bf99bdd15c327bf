// Tests that no copy of a Parameter is made where nobody wrote one: the gradient by it would be lost in
// silence.
#include <array>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

template <class T>
void takes(T);

// All of these copy-initialise a Parameter: auto w = layer.weight; each element of {a.weight, b.weight} and
// of std::vector<Parameter>{w}; f(w) of f(Parameter); return layer.weight.
static_assert(!std::is_convertible_v<Parameter&, Parameter>);
static_assert(!std::is_convertible_v<const Parameter&, Parameter>);
template <class P>
concept IsPassedByValue = requires(P& p) {
  takes<Parameter>(p);
};
static_assert(!IsPassedByValue<Parameter>);
static_assert(!std::is_convertible_v<Parameter&, std::optional<Parameter>>);

// Copies that the program asks for: a copy, a move, a copy of the struct around it.
static_assert(std::is_constructible_v<Parameter, Parameter&>);
static_assert(std::is_copy_constructible_v<Parameter>);
static_assert(std::is_copy_assignable_v<Parameter>);
static_assert(std::is_nothrow_move_constructible_v<Parameter>);
static_assert(std::is_convertible_v<Parameter, Parameter>);
static_assert(std::is_convertible_v<const Tensor&, Parameter> && std::is_convertible_v<Tensor, Parameter>);
static_assert(std::is_convertible_v<nn::Linear&, nn::Linear>);
static_assert(std::is_convertible_v<std::vector<Parameter>&, std::vector<Parameter>>);
static_assert(std::is_convertible_v<std::array<Parameter, 2>&, std::array<Parameter, 2>>);
static_assert(std::is_convertible_v<std::map<std::string, Parameter>&, std::map<std::string, Parameter>>);
// A Tensor has the parameter's value.
static_assert(std::is_convertible_v<Parameter&, Tensor> && std::is_convertible_v<Parameter&, const Tensor&>);

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_parameter_copies)

BOOST_AUTO_TEST_CASE(copies_that_are_asked_for) {
  Parameter w(ones({2}));
  Parameter mine(w);
  const Tensor value = w;
  const Tensor& same = w;
  sum(same * 2).backward();
  check::equal(w.grad(), float32, {2}, {2, 2});
  BOOST_TEST(!mine.grad().defined());
  BOOST_TEST(mine.requires_grad());
  check::equal(value, float32, {2}, {1, 1});
  const auto by_value = [w] { return w.requires_grad(); };  // a lambda copies: a trap that stays
  BOOST_TEST(by_value());
}

BOOST_AUTO_TEST_CASE(copies_of_modules) {
  nn::Linear a(2, 2);
  const nn::Linear b = a;
  sum(a(ones({1, 2}))).backward();
  BOOST_TEST(a.weight.grad().defined());
  BOOST_TEST(!b.weight.grad().defined());
}

BOOST_AUTO_TEST_SUITE_END()
