// Reads tests/golden/optim_*.txt (their format: tests/golden/make_optim.py).
#pragma once
#include <fstream>
#include <map>
#include <memory>

#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

namespace golden {

using namespace lazy;
using namespace lazy::optim;

/// Holds one line: its first word, NAME=VALUE words, and the numbers of the other fields.
struct Line {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::vector<double>> fields;  // NaN for "-"

  std::string option(const std::string& key, const std::string& otherwise) const {
    for (const auto& [k, v] : options)
      if (k == key) return v;
    return otherwise;
  }
  double number(const std::string& key, double otherwise) const {
    const std::string v = option(key, "");
    return v.empty() ? otherwise : std::stod(v);
  }
  int64_t integer(const std::string& key, int64_t otherwise) const {
    return static_cast<int64_t>(number(key, static_cast<double>(otherwise)));
  }
};

inline std::vector<Line> lines(const std::string& file) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/optim_" + file + ".txt");
  BOOST_REQUIRE(in.good());
  std::vector<Line> all;
  for (std::string text; std::getline(in, text);) {
    Line l;
    const std::vector<std::string> parts = golden::fields(text);
    const std::vector<std::string> head = words(parts[0]);
    l.name = head[0];
    l.text = parts[0];
    for (size_t i = 1; i < head.size(); ++i) {
      const size_t at = head[i].find('=');
      if (at != head[i].npos) l.options.emplace_back(head[i].substr(0, at), head[i].substr(at + 1));
      else l.options.emplace_back(std::to_string(i), head[i]);
    }
    for (size_t i = 1; i < parts.size(); ++i) {
      std::vector<double> numbers;
      for (const std::string& w : words(parts[i])) numbers.push_back(w == "-" ? check::NaN : std::stod(w));
      l.fields.push_back(numbers);
    }
    all.push_back(l);
  }
  return all;
}

/// Returns a part of the numbers as a float64 tensor; an undefined one if there are none but NaN.
inline Tensor part(const std::vector<double>& v, size_t from, size_t count, const Shape& shape) {
  if (from >= v.size() || std::isnan(v[from])) return {};
  const auto first = v.begin() + static_cast<std::ptrdiff_t>(from);
  return asarray(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(count)), float64)
      .reshape(shape);
}

/// Holds the two parameters of the files.
struct Weights {
  Parameter w, b;
  explicit Weights(const std::vector<double>& v, DType t = float64)
      : w(part(v, 0, 6, {2, 3}).astype(t)), b(part(v, 6, 3, {3}).astype(t)) {}
  void set_grad(const std::vector<double>& v) {
    const auto of = [&](const Tensor& g) { return g.defined() ? g.astype(w.dtype()) : g; };
    w.set_grad(of(part(v, 0, 6, {2, 3})));
    b.set_grad(of(part(v, 6, 3, {3})));
  }
  std::vector<double> values() const {
    std::vector<double> all = w.to_vector<double>();
    for (double x : b.to_vector<double>()) all.push_back(x);
    return all;
  }
};

using Make = std::function<std::unique_ptr<Optimizer>(const ParameterList&)>;

inline const std::map<std::string, Make>& optimizers() {
  static const std::map<std::string, Make> all{
#define LAZY_OPTIMIZER(name)                                                                                \
  {                                                                                                         \
#name, [](const ParameterList& p) -> std::unique_ptr < Optimizer> { return std::make_unique<name>(p); } \
  }
      LAZY_OPTIMIZER(SGD),     LAZY_OPTIMIZER(Lion),    LAZY_OPTIMIZER(Adam),     LAZY_OPTIMIZER(AdamW),
      LAZY_OPTIMIZER(NAdam),   LAZY_OPTIMIZER(RAdam),   LAZY_OPTIMIZER(Adamax),   LAZY_OPTIMIZER(LAMB),
      LAZY_OPTIMIZER(RMSprop), LAZY_OPTIMIZER(Adagrad), LAZY_OPTIMIZER(Adadelta),
#undef LAZY_OPTIMIZER
  };
  return all;
}

/// Sets an optimizer's options to those of the line; a pair is betas.0 and betas.1.
inline void set_options(Optimizer& o, const Line& l) {
  for (const auto& [key, value] : l.options) {
    const std::vector<std::string> numbers = words(value, ',');
    for (size_t i = 0; i < numbers.size(); ++i)
      o.set_option(numbers.size() == 1 ? key : key + "." + std::to_string(i), std::stod(numbers[i]));
  }
}

inline void close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) <= tolerance * std::max(1e-3, std::abs(expected[i])),
               "number " << i << " is " << got[i] << ", not " << expected[i]);
}

}  // namespace golden
