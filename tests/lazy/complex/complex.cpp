// Tests complex numbers: literals, dtypes, reading and writing, errors, and what is flushed.
#include <complex>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "lazy/complex/rules.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using namespace std::complex_literals;
using C64 = std::complex<float>;
using C128 = std::complex<double>;

BOOST_AUTO_TEST_SUITE(complex_numbers)

namespace {

const std::vector<C64> kSome = {{1, 2}, {3, -4.5f}, {-0.25f, 100}};

/// Checks that f throws DtypeError, whose text begins with the function's name.
template <class F>
void refuses(const std::string& name, F&& f) {
  try {
    f();
    BOOST_ERROR(name + " took complex numbers");
  } catch (const DtypeError& e) {
    BOOST_TEST(std::string(e.what()).starts_with(name + ":"), e.what());
    BOOST_TEST(std::string(e.what()).find("complex.cpp:") != std::string::npos, e.what());
  }
}

void equal(const Tensor& x, DType t, const Shape& shape, const std::vector<C128>& expected,
           const Site& s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    BOOST_TEST(name_of(x.dtype()) == std::string(name_of(t)));
    BOOST_TEST(to_string(x.shape()) == to_string(shape));
    const std::vector<C128> v = x.to_vector<C128>();
    BOOST_REQUIRE_EQUAL(v.size(), expected.size());
    for (size_t i = 0; i < v.size(); ++i)
      BOOST_TEST((v[i] == expected[i]), v[i] << " is not " << expected[i]);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(literals) {
  const Tensor t = C64(1, 2);
  equal(t, complex64, {}, {{1, 2}});
  const Tensor wide = C128(1, 2);  // as a double, it has the default dtype
  equal(wide, complex64, {}, {{1, 2}});
  equal(tensor({C64(1, 2), C64(3, 4)}), complex64, {2}, {{1, 2}, {3, 4}});
  equal(from_span(kSome) * 2i, complex64, {3}, {{-4, 2}, {9, 6}, {-200, -0.5}});
  equal(2 * from_span(kSome), complex64, {3}, {{2, 4}, {6, -9}, {-0.5, 200}});
  equal(full({2}, C64(1, 2)), complex64, {2}, {{1, 2}, {1, 2}});
  equal(full({2}, 3, complex128), complex128, {2}, {3, 3});
  equal(ones({2}, complex64), complex64, {2}, {1, 1});
  equal(eye(2, 2, 0, complex64), complex64, {2, 2}, {1, 0, 0, 1});
  equal(ones_like(from_span(kSome)), complex64, {3}, {1, 1, 1});
  BOOST_CHECK_THROW(full({2}, C64(1, 2), float32), DtypeError);
}

BOOST_AUTO_TEST_CASE(ranges) {
  equal(arange(0, 4, 1, complex64), complex64, {4}, {0, 1, 2, 3});
  equal(arange(3, complex128), complex128, {3}, {0, 1, 2});
  equal(linspace(0, 1, 3, true, complex64), complex64, {3}, {0, 0.5, 1});
  equal(linspace(0, C128(2, 4), 3), complex64, {3}, {0, {1, 2}, {2, 4}});
  equal(linspace(C128(0, 1), C128(4, -1), 4, false, complex128), complex128, {4},
        {{0, 1}, {1, 0.5}, {2, 0}, {3, -0.5}});
  equal(linspace(C64(1, 1), 0.f, 1), complex64, {1}, {{1, 1}});
  equal(linspace(C64(1, 1), 2, 0), complex64, {0}, {});
  BOOST_CHECK_THROW(linspace(0, C64(1, 2), 3, true, float32), DtypeError);
  BOOST_CHECK_THROW(linspace(0, C64(1, 2), -1), ShapeError);
}

BOOST_AUTO_TEST_CASE(promotion) {
  BOOST_TEST((result_type(complex64, float32) == complex64));
  BOOST_TEST((result_type(complex64, float64) == complex128));
  BOOST_TEST((result_type(complex64, int64) == complex64));
  BOOST_TEST((result_type(float16, complex128) == complex128));
  BOOST_TEST((result_type(bool_, complex64) == complex64));
  BOOST_TEST(((ones({2}) * 1i).dtype() == complex64));
  BOOST_TEST(((ones({2}, float64) * C64(0, 1)).dtype() == complex128));
  BOOST_TEST(((ones({2}, int32) * 1i).dtype() == complex64));
  BOOST_TEST(((from_span(kSome) * 1.5).dtype() == complex64));
  BOOST_TEST(can_cast(float32, complex64));
  BOOST_TEST(!can_cast(complex64, float64));
  BOOST_TEST(isdtype(complex64, "complex floating"));
  BOOST_TEST(isdtype(complex128, "numeric"));
  BOOST_TEST(!isdtype(complex64, "real floating"));
  BOOST_TEST((finfo(complex128).dtype == float64));
  BOOST_TEST(size_of(complex128) == 16u);
  const Tensor x = from_span(kSome);
  BOOST_TEST(is_complex(x));
  BOOST_TEST(!x.is_floating_point());
  BOOST_TEST(x.nbytes() == 24u);
}

BOOST_AUTO_TEST_CASE(parts) {
  const Tensor x = from_span(kSome);
  check::equal(real(x), float32, {3}, {1, 3, -0.25});
  check::equal(imag(x), float32, {3}, {2, -4.5, 100});
  equal(conj(x), complex64, {3}, {{1, -2}, {3, 4.5}, {-0.25, -100}});
  check::equal(imag(ones({2})), float32, {2}, {0, 0});
  check::equal(view_as_real(x), float32, {3, 2}, {1, 2, 3, -4.5, -0.25, 100});
  equal(view_as_complex(view_as_real(x)), complex64, {3}, {{1, 2}, {3, -4.5}, {-0.25, 100}});
  equal(complex(tensor({1, 2}), 3.0f), complex64, {2}, {{1, 3}, {2, 3}});
  BOOST_TEST((complex(ones({1}, float64), 1.0f).dtype() == complex128));
  equal(polar(tensor({2.0f, 1.0f}), 0.0f), complex64, {2}, {2, 1});
  check::close(angle(tensor({C64(0, 1), C64(-1, 0)})), {pi / 2, pi}, 1e-6);
  check::equal(isreal(tensor({C64(0, 1), C64(-1, 0)})), bool_, {2}, {0, 1});
  equal(complex(arange(2).reshape({1, 2}), 1.0f).mH(), complex64, {2, 1}, {{0, -1}, {1, -1}});
  refuses("view_as_real", [] { return view_as_real(ones({2})); });
  refuses("view_as_complex", [] { return view_as_complex(ones({2, 2}, int64)); });
  refuses("complex", [&] { return complex(x, x); });
  BOOST_CHECK_THROW(view_as_complex(ones({2, 3})), ShapeError);
}

BOOST_AUTO_TEST_CASE(reading) {
  const Tensor x = from_span(kSome) + 0i;
  BOOST_TEST((x[1].item<C64>() == C64(3, -4.5f)));
  BOOST_TEST((C128(x[1]) == C128(3, -4.5)));
  BOOST_TEST((x.to_vector<C64>() == kSome));
  const C64* const p = x.data<C64>();
  BOOST_TEST((p[2] == kSome[2]));
  BOOST_TEST((x.data<C64>() == p));
  BOOST_TEST((x.T().data<C64>()[0] == kSome[0]));
  BOOST_TEST((ones({2}).to_vector<C64>() == std::vector<C64>{1, 1}));
  BOOST_TEST(bool(x[0]));
  BOOST_TEST(!bool(x[0] * 0));
  refuses("item", [&] { return x[0].item<float>(); });
  refuses("to_vector", [&] { return x.to_vector<double>(); });
  refuses("data", [&] { return x.data<float>(); });
  check::equal(x.astype(float64), float64, {3}, {1, 3, -0.25});  // the real part
  check::equal(x.astype(bool_), bool_, {3}, {1, 1, 1});
}

BOOST_AUTO_TEST_CASE(printing) {  // as NumPy prints
  std::ostringstream out;
  out << from_span(kSome);
  BOOST_TEST(out.str() == "[ 1.    +2.j   3.    -4.5j -0.25+100.j ]");
  BOOST_TEST(to_string(Tensor(C64(1, 2))) == "(1+2j)");
  BOOST_TEST(to_string(Tensor(C64(0, -2.5f))) == "-2.5j");
}

BOOST_AUTO_TEST_CASE(assignment) {
  Tensor x = from_span(kSome);
  x(0) = 5i;
  equal(x, complex64, {3}, {5i, {3, -4.5}, {-0.25, 100}});
  x(slice(1, none)) = 1.5;
  equal(x, complex64, {3}, {5i, 1.5, 1.5});
  x *= 2i;
  equal(x, complex64, {3}, {-10, 3i, 3i});
  Tensor r = ones({2});
  BOOST_CHECK_THROW(r(0) = 1i, DtypeError);
  BOOST_CHECK_THROW(r *= 1i, DtypeError);
  BOOST_CHECK_THROW(r(0) = x[0], DtypeError);
}

// Each op has a rule, or is one of these.
BOOST_AUTO_TEST_CASE(every_op_has_a_rule_or_throws) {
  using jit::Op;
  const std::vector<Op> none = {Op::input,       Op::constant,      Op::iota,
                                Op::call,        Op::part,          Op::bitwise_invert,
                                Op::ceil,        Op::floor,         Op::trunc,
                                Op::signbit,     Op::erf,           Op::erfc,
                                Op::gelu,        Op::floor_divide,  Op::remainder,
                                Op::atan2,       Op::hypot,         Op::copysign,
                                Op::maximum,     Op::minimum,       Op::bitwise_and,
                                Op::bitwise_or,  Op::bitwise_xor,   Op::left_shift,
                                Op::right_shift, Op::less,          Op::less_equal,
                                Op::greater,     Op::greater_equal, Op::philox0,
                                Op::philox1,     Op::max,           Op::min,
                                Op::any,         Op::all,           Op::argmax,
                                Op::argmin,      Op::cummax,        Op::cummin};
  for (int i = 0; i < jit::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const bool refused = std::find(none.begin(), none.end(), op) != none.end();
    BOOST_TEST((detail::plane_rule_of(op) == nullptr) == refused, jit::name_of(op));
    if (!refused || i <= static_cast<int>(Op::iota)) continue;
    const Tensor x = from_span(kSome);
    BOOST_CHECK_THROW(detail::record(op, {&x.handle()}, complex64, x.shape(), Site::current()), DtypeError);
  }
}

BOOST_AUTO_TEST_CASE(what_has_no_meaning_throws) {
  const Tensor x = from_span(kSome);
#define REFUSES(name, ...) refuses(#name, [&] { return name(__VA_ARGS__); })
  REFUSES(floor, x);
  REFUSES(ceil, x);
  REFUSES(trunc, x);
  REFUSES(signbit, x);
  REFUSES(max, x);
  REFUSES(min, x, 0);
  REFUSES(argmax, x);
  REFUSES(maximum, x, 1);
  REFUSES(clip, x, 0, 1);
  REFUSES(relu, x);
  REFUSES(gelu, x);
  REFUSES(erf, x);
  REFUSES(less, x, 1);
  REFUSES(greater_equal, 1, x);
  REFUSES(less, ones({2}, int64), 1i);
  REFUSES(floor_divide, x, 2);
  REFUSES(remainder, x, 2);
  REFUSES(fmod, x, 2);
  REFUSES(atan2, x, 2);
  REFUSES(hypot, x, 2);
  REFUSES(copysign, x, 2);
  REFUSES(bitwise_and, x, x);
  REFUSES(bitwise_invert, x);
  REFUSES(bitwise_left_shift, x, 1);
  REFUSES(gcd, x, x);
  REFUSES(sort, x);
  REFUSES(argsort, x);
  REFUSES(topk, x, 1);
  REFUSES(median, x);
  REFUSES(cummax, x);
  REFUSES(logsumexp, x);
  REFUSES(logaddexp, x, x);
  REFUSES(softmax, x, 0);
#undef REFUSES
}

BOOST_AUTO_TEST_CASE(places) {
  const Tensor x = complex(arange(6).reshape({2, 3}), arange(6).reshape({2, 3}) * -1);
  equal(x.T(), complex64, {3, 2}, {0, {3, -3}, {1, -1}, {4, -4}, {2, -2}, {5, -5}});
  equal(stack({x[0], x[1]}, 0), complex64, {2, 3}, {0, {1, -1}, {2, -2}, {3, -3}, {4, -4}, {5, -5}});
  equal(concat({x, ones({1, 3})}, 0)[2], complex64, {3}, {1, 1, 1});
  equal(scatter_add(zeros({3}, complex64), 0, tensor({1, 1}), tensor({C64(1, 2), C64(3, 4)})), complex64, {3},
        {0, {4, 6}, 0});
  equal(pow(Tensor(C64(1, 1)), 2), complex64, {}, {2i});
  equal(roll(x[1], 1), complex64, {3}, {{5, -5}, {3, -3}, {4, -4}});
  equal(x(x != 0), complex64, {5}, {{1, -1}, {2, -2}, {3, -3}, {4, -4}, {5, -5}});
  // A hundred parts in memory are joined by one call.
  std::vector<Tensor> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(from_span(std::vector<C64>{C64(static_cast<float>(i), 1)}));
  equal(concat(parts, 0)[99], complex64, {}, {{99, 1}});
}

// Layers with complex weights are products of planes.
BOOST_AUTO_TEST_CASE(layers) {
  const Tensor x = complex(arange(8).reshape({1, 1, 8}), ones({1, 1, 8}));
  const Tensor w = complex(tensor({1, 2}).reshape({1, 1, 2}), tensor({0, 1}).reshape({1, 1, 2}));
  const Tensor bias = tensor({C64(10, 20)});
  const Tensor y = conv1d(x, w, {.bias = bias});
  // y[k] = x[k] + (2+i) x[k+1] + bias
  for (int k = 0; k < 7; ++k)
    BOOST_TEST((y(0, 0, k).item<C64>() ==
                C64(static_cast<float>(k), 1) + C64(2, 1) * C64(static_cast<float>(k + 1), 1) + C64(10, 20)));
  const Tensor v = linear(x.reshape({2, 4}), w.reshape({1, 2})(slice(), tensor({0, 1, 0, 1})), bias);
  BOOST_TEST((v(0, 0).item<C64>() ==
              C64(10, 20) + C64(0, 1) + C64(2, 1) * C64(1, 1) + C64(2, 1) + C64(2, 1) * C64(3, 1)));
}

BOOST_AUTO_TEST_CASE(draws) {
  Generator g(7);
  const Tensor x = randn(g, {20000}, complex64), u = rand(g, {1000}, complex128);
  BOOST_TEST((x.dtype() == complex64));
  BOOST_TEST(std::abs(var(x).item<float>() - 1) < 0.05);
  BOOST_TEST(std::abs(var(real(x)).item<float>() - 0.5) < 0.05);
  BOOST_TEST(std::abs(mean(real(x) * imag(x)).item<float>()) < 0.02);
  BOOST_TEST((real(u).min().item<double>() >= 0 && imag(u).max().item<double>() < 1));
}

BOOST_AUTO_TEST_CASE(files) {
  const std::string folder = std::filesystem::temp_directory_path() / "lazy_complex_files";
  std::filesystem::create_directories(folder);
  const Tensor x = from_span(kSome), wide = x.astype(complex128).reshape({3, 1});
  save(folder + "/x.npy", x);
  equal(load(folder + "/x.npy"), complex64, {3}, {{1, 2}, {3, -4.5}, {-0.25, 100}});
  save(folder + "/wide.npy", wide);
  equal(load(folder + "/wide.npy"), complex128, {3, 1}, {{1, 2}, {3, -4.5}, {-0.25, 100}});
  save_safetensors(folder + "/x.safetensors", {{"x", x}});
  equal(load_safetensors(folder + "/x.safetensors").at("x"), complex64, {3},
        {{1, 2}, {3, -4.5}, {-0.25, 100}});
  refuses("save_safetensors", [&] { save_safetensors(folder + "/wide.safetensors", {{"x", wide}}); });
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(memory_of_others) {
  std::vector<C64> mine = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  int given_back = 0;
  {
    const Tensor x = from_blob(mine.data(), {2}, {2}, [&](void*) { ++given_back; });
    equal(x, complex64, {2}, {{1, 2}, {5, 6}});
    BOOST_TEST(given_back == (x.device() == Device{} ? 0 : 1));  // a GPU has a copy
  }
  BOOST_TEST(given_back == 1);
  const Tensor x = from_span(mine).reshape({2, 2}).T();
  equal(from_dlpack(to_dlpack(x)), complex64, {2, 2}, {{1, 2}, {5, 6}, {3, 4}, {7, 8}});
}

BOOST_AUTO_TEST_CASE(one_flush_computes_both_planes) {
  const Tensor x = from_span(kSome), y = exp(x) * x + 1i;
  BOOST_TEST(explain([&] { y.eval(); }).flushes.size() == 1u);
  BOOST_TEST(explain([&] { (void)y.to_vector<C64>(); }).flushes.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
