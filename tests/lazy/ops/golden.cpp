// Compares with NumPy's results in tests/golden (their format: tools/make_golden.py).
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "jit/graph/record.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

using namespace lazy;
using golden::dtype_named;
using golden::words;

namespace {

struct Case {
  std::string line;
  std::vector<std::string> head;  // words of the first field
  std::vector<std::string> field;
};

std::vector<Case> cases(const std::string& file) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/" + file);
  std::vector<Case> r;
  for (std::string line; std::getline(in, line);) {
    Case c{line, {}, golden::fields(line)};
    c.head = words(c.field[0]);
    r.push_back(c);
  }
  BOOST_REQUIRE_MESSAGE(!r.empty(), "nothing in " + file);
  return r;
}

Shape shape_of(const std::string& s) {
  Shape r;
  if (s != "-")
    for (const std::string& w : words(s, ',')) r.push_back(std::stoll(w));
  return r;
}

/// Parses hexadecimal bit patterns of elements, one after the other.
std::vector<char> bytes(const std::string& field, DType t) {
  std::vector<char> r;
  for (const std::string& w : words(field)) {
    const uint64_t bits = std::stoull(w, nullptr, 16);
    r.insert(r.end(), reinterpret_cast<const char*>(&bits),
             reinterpret_cast<const char*>(&bits) + size_of(t));
  }
  return r;
}

Tensor values(const std::string& field, DType t, Shape shape = {}) {
  std::vector<char> b = bytes(field, t);
  if (shape.empty()) shape = {static_cast<int64_t>(b.size() / size_of(t))};
  b.resize(b.size() + 1);  // never a null pointer
  char* const copy = new char[b.size()];
  std::memcpy(copy, b.data(), b.size());
  return from_blob(copy, shape, t, {}, [](void* p) { delete[] static_cast<char*>(p); });
}

/// Compares bits (any NaN for a NaN); with `loose`, finite floats within a few units in the last place.
void same(const Tensor& x, DType t, const Shape& shape, const std::string& expected, bool loose) {
  BOOST_TEST(std::string(name_of(x.dtype())) == name_of(t));
  BOOST_TEST(to_string(x.shape()) == to_string(shape));
  if (x.dtype() != t || !(x.shape() == shape)) return;
  const std::vector<char> b = bytes(expected, t);
  const std::vector<double> got = x.to_vector<double>();
  std::vector<double> want(got.size());
  if (!got.empty()) want = values(expected, t, shape.empty() ? Shape{1} : shape).to_vector<double>();
  const double eps = is_float(t) ? finfo(t).eps : 0;
  if (t == int64 || t == uint64) {  // double can't distinguish neighbours
    const std::vector<uint64_t> g = x.to_vector<uint64_t>();
    for (size_t i = 0; i < g.size(); ++i) {
      uint64_t w;
      std::memcpy(&w, &b[i * 8], 8);
      BOOST_TEST(g[i] == w, "element " << i << " is " << g[i] << ", not " << w);
    }
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    bool good = std::isnan(want[i]) ? std::isnan(got[i])
                                    : got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i]);
    if (!good && loose && std::isfinite(want[i]) && want[i] != 0)
      good = std::abs(got[i] - want[i]) <= 4 * eps * std::abs(want[i]);
    BOOST_TEST(good, "element " << i << " is " << got[i] << ", not " << want[i]);
  }
}

bool loosened(std::string& name) {
  if (name.back() != '~') return false;
  name.pop_back();
  return true;
}

using Unary = Tensor (*)(Arg);
using Binary = Tensor (*)(Arg, Arg);
#define ROW(name) \
  { #name, name }
const std::map<std::string, Unary> unaries = {
    ROW(negative),    ROW(lazy::abs),      ROW(sign),        ROW(bitwise_invert), ROW(square),
    ROW(logical_not), ROW(lazy::floor),    ROW(lazy::ceil),  ROW(lazy::trunc),    ROW(lazy::round),
    ROW(lazy::isnan), ROW(lazy::isfinite), ROW(lazy::isinf), ROW(lazy::signbit),  ROW(lazy::sqrt),
    ROW(reciprocal),  ROW(lazy::exp),      ROW(lazy::expm1), ROW(lazy::log),      ROW(lazy::log1p),
    ROW(lazy::log2),  ROW(lazy::log10),    ROW(lazy::sin),   ROW(lazy::cos),      ROW(lazy::tan),
    ROW(lazy::sinh),  ROW(lazy::cosh),     ROW(lazy::tanh),  ROW(lazy::asin),     ROW(lazy::acos),
    ROW(lazy::atan),  ROW(lazy::asinh),    ROW(lazy::acosh), ROW(lazy::atanh)};
const std::map<std::string, Binary> binaries = {ROW(add),
                                                ROW(subtract),
                                                ROW(multiply),
                                                ROW(divide),
                                                ROW(floor_divide),
                                                ROW(lazy::remainder),
                                                ROW(lazy::pow),
                                                ROW(maximum),
                                                ROW(minimum),
                                                ROW(less),
                                                ROW(less_equal),
                                                ROW(greater),
                                                ROW(greater_equal),
                                                ROW(equal),
                                                ROW(not_equal),
                                                ROW(logical_and),
                                                ROW(logical_or),
                                                ROW(logical_xor),
                                                ROW(bitwise_and),
                                                ROW(bitwise_or),
                                                ROW(bitwise_xor),
                                                ROW(bitwise_left_shift),
                                                ROW(bitwise_right_shift),
                                                ROW(lazy::atan2),
                                                ROW(lazy::hypot),
                                                ROW(lazy::copysign),
                                                ROW(logaddexp)};
#undef ROW

template <class Map>
auto function_named(const Map& map, const std::string& name) {
  auto i = map.find(name);
  if (i == map.end()) i = map.find("lazy::" + name);
  BOOST_REQUIRE_MESSAGE(i != map.end(), "no function " + name);
  return i->second;
}

Tensor reduced(const std::string& name, const Tensor& x, const Axes& axes, KeepDims keep) {
  if (name == "sum") return sum(x, axes, keep);
  if (name == "prod") return prod(x, axes, keep);
  if (name == "max") return max(x, axes, keep);
  if (name == "min") return min(x, axes, keep);
  if (name == "any") return any(x, axes, keep);
  if (name == "all") return all(x, axes, keep);
  if (name == "count_nonzero") return count_nonzero(x, axes, keep);
  if (name == "argmax") return argmax(x, axes, keep);
  if (name == "argmin") return argmin(x, axes, keep);
  if (name == "cumsum") return cumsum(x, axes);
  BOOST_FAIL("no reduction " + name);
  return x;
}

PrintOptions options_of(const std::string& text) {
  PrintOptions o;
  if (text == "-") return o;
  for (const std::string& w : words(text, ',')) {
    const std::string key = w.substr(0, w.find('=')), value = w.substr(w.find('=') + 1);
    if (key == "sign") o.sign = value == "_" ? ' ' : value[0];
    else if (key == "precision") o.precision = std::stoi(value);
    else if (key == "threshold") o.threshold = std::stoi(value);
    else if (key == "edgeitems") o.edgeitems = std::stoi(value);
    else if (key == "linewidth") o.linewidth = std::stoi(value);
    else if (key == "suppress") o.suppress = value == "1";
    else BOOST_FAIL("no option " + key);
  }
  return o;
}

std::string unescaped(const std::string& s) {
  std::string r;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') r += s[i];
    else r += s[++i] == 'n' ? '\n' : '\\';
  }
  return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(golden)

BOOST_AUTO_TEST_CASE(promotion) {
  const check::DefaultDType numpys(float64);
  for (const Case& c : cases("promotion.txt")) BOOST_TEST_CONTEXT(c.line) {
      const DType want = dtype_named(c.field[1]);
      if (c.head[0] == "promote") {
        const DType a = dtype_named(c.head[1]), b = dtype_named(c.head[2]);
        BOOST_TEST(std::string(name_of(result_type(a, b))) == name_of(want));
        BOOST_TEST(std::string(name_of((zeros({2}, a) == zeros({2}, b)).dtype())) == "bool");
        BOOST_TEST(std::string(name_of(where(true, zeros({2}, a), zeros({2}, b)).dtype())) == name_of(want));
      } else {
        const Tensor x = ones({2}, dtype_named(c.head[2]));
        const Tensor r = c.head[1] == "bool" ? x + true : c.head[1] == "int" ? x + 1 : x + 1.0;
        BOOST_TEST(std::string(name_of(r.dtype())) == name_of(want));
      }
    }
}

BOOST_AUTO_TEST_CASE(elementwise) {
  for (const Case& c : cases("elementwise.txt")) BOOST_TEST_CONTEXT(c.field[0]) {
      std::string name = c.head[1];
      const bool loose = loosened(name);
      const DType in = dtype_named(c.head[2]), out = dtype_named(c.head[3]);
      const Tensor a = values(c.field[1], in);
      if (c.head[0] == "unary") {
        same(function_named(unaries, name)(a), out, a.shape(), c.field[2], loose);
      } else {
        const Tensor b = values(c.field[2], in);
        same(function_named(binaries, name)(expand_dims(a, 1), b), out, {a.size(), b.size()}, c.field[3],
             loose);
      }
    }
}

// Runs the same cases, one element at a time through constants, which are folded while recording where that
// is allowed.
BOOST_AUTO_TEST_CASE(elementwise_folded) {
  for (const Case& c : cases("elementwise.txt")) BOOST_TEST_CONTEXT(c.field[0] << " folded") {
      std::string name = c.head[1];
      if (loosened(name)) continue;
      const DType in = dtype_named(c.head[2]), out = dtype_named(c.head[3]);
      const std::vector<std::string> a = words(c.field[1]);
      const auto scalar = [&](const std::string& bits) {
        return Tensor(jit::constant({std::stoull(bits, nullptr, 16)}, in, {}, Site::current()));
      };
      if (c.head[0] == "unary") {
        const std::vector<std::string> r = words(c.field[2]);
        for (size_t i = 0; i < a.size(); ++i)
          same(function_named(unaries, name)(scalar(a[i])), out, {}, r[i], false);
      } else {
        const std::vector<std::string> b = words(c.field[2]), r = words(c.field[3]);
        for (size_t k = 0; k < r.size(); k += 3)  // a sample: these run one by one
          same(function_named(binaries, name)(scalar(a[k / b.size()]), scalar(b[k % b.size()])), out, {},
               r[k], false);
      }
    }
}

BOOST_AUTO_TEST_CASE(casts) {
  for (const Case& c : cases("casts.txt")) BOOST_TEST_CONTEXT(c.field[0]) {
      const Tensor x = values(c.field[1], dtype_named(c.head[1]));
      same(x.astype(dtype_named(c.head[2])), dtype_named(c.head[2]), x.shape(), c.field[2], false);
    }
}

BOOST_AUTO_TEST_CASE(reductions) {
  for (const Case& c : cases("reductions.txt")) BOOST_TEST_CONTEXT(c.field[0]) {
      const DType in = dtype_named(c.head[2]), out = dtype_named(c.head[3]);
      const Tensor x = values(c.field[1], in, shape_of(c.head[4]));
      same(reduced(c.head[1], x, Axes(shape_of(c.head[5])), c.head[6] == "1"), out, shape_of(c.field[2]),
           c.field.size() > 3 ? c.field[3] : "", false);
    }
}

BOOST_AUTO_TEST_CASE(printing) {
  for (const Case& c : cases("printing.txt")) BOOST_TEST_CONTEXT(c.field[0]) {
      const DType t = dtype_named(c.head[1]);
      std::vector<char> data = bytes(c.field[1], t);
      data.resize(data.size() + 1);
      BOOST_TEST(format(data.data(), t, shape_of(c.head[2]), options_of(c.head[3])) == unescaped(c.field[2]));
    }
}

BOOST_AUTO_TEST_SUITE_END()
