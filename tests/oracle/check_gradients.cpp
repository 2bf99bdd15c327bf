// Compares gradients with central differences, for random tensors of float64 in place of those of floating
// point: samples of all rows element by element, and cases of files (compare.py), which have more options,
// shapes and views, in a random direction.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>

#include "tests/oracle/table.hpp"

namespace oracle {
namespace {

/// Says from which numbers tensors are drawn.
struct Domain {
  double low, high;
};
/// Each row is tried with numbers of each; where differences are not finite nothing is compared. Of the last,
/// in which much overflows, gradients have to be numbers.
constexpr Domain kDomains[] = {{0.2, 0.9}, {-0.95, 0.95}, {1.2, 3}, {-2000, 2000}};

/// Says why a row's gradient is not that of differences in domains that begin below a number.
struct Exception {
  const char* name;
  double below;
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"stop_gradient", std::numeric_limits<double>::infinity(), "0 is what it is for"},
    {"gaussian_nll_loss", 0,
     "a variance below eps has the slope that it has at eps, so that it grows again"}};

/// True for functions of which cases of files are not tried: their matrices have to be special ones.
bool needs_special_matrices(const Row& r) {
  const auto rows = linalg_rows();
  return &r >= rows.data() && &r < rows.data() + rows.size();
}

/// Returns numbers of which no two are near, nor any near an end of the domain.
Tensor drawn(std::mt19937& random, const Domain& d, const Shape& shape) {
  const auto n = static_cast<size_t>(numel(shape));
  std::vector<double> v(n);
  std::uniform_real_distribution<double> within(0.2, 0.8);
  for (size_t i = 0; i < n; ++i)
    v[i] = d.low + (d.high - d.low) * (static_cast<double>(i) + within(random)) / static_cast<double>(n);
  std::shuffle(v.begin(), v.end(), random);
  return from_span(v, shape);
}

/// Holds a case: its tensors, and a function of them that gives all results of floating point.
struct Case {
  std::vector<std::string> fields;
  std::vector<Tensor> tensors;
  std::vector<bool> symmetric;  // of tensors: only symmetric matrices are tried
  const Row* row;
  bool comparable = true;  // no integer is so large that differences drown in its rounding

  Case(const Row& r, std::span<const std::string_view> given, const Domain& domain, std::mt19937& random)
      : row(&r) {
    for (const std::string_view field : given) {
      const char kind = field[0];
      const auto words = split_text(field, ' ');
      const bool of_float = (kind == 'T' || kind == 'B') && is_float(dtype_named(words.at(1)));
      if (kind == 'x' || kind == 'u' || kind == 'f' || kind == 'p' || of_float) {
        Given one(std::span(&field, 1), float64);
        const Tensor like = one.tensor();
        add(kind == 'T' ? base_of(words) : like.shape(), kind == 'p' ? like : Tensor(), domain, random);
        for (const std::string_view word : words)
          if (word[0] == '/' && kind == 'T') fields.back() += ' ' + std::string(word);
      } else {
        if (kind == 'T' || kind == 'B') {
          Given one(std::span(&field, 1), float64);
          const Tensor numbers = one.tensor().astype(float64);
          comparable = comparable && (numel(numbers.shape()) == 0 || max(abs(numbers)).item<double>() < 1000);
        }
        fields.emplace_back(kind == 'D' && is_float(dtype_named(words.at(1))) ? "D float64" : field);
      }
    }
  }

  Tensor operator()(const std::vector<Tensor>& x) const {
    manual_seed(1);
    std::vector<Tensor> given = x;
    for (size_t i = 0; i < x.size(); ++i)
      if (symmetric[i]) given[i] = (x[i] + x[i].T()) * 0.5;
    const std::vector<std::string_view> arguments(fields.begin(), fields.end());
    std::vector<Tensor> values;
    for (const Tensor& r : call(*row, arguments, float64, given))
      if (r.defined() && (is_float(r.dtype()) || is_complex(r)))
        values.push_back(reshape(is_complex(r) ? view_as_real(r) : r, -1).astype(float64));
    return values.empty() ? Tensor() : concat(values);
  }

 private:
  /// Returns the shape of a tensor before its views.
  static Shape base_of(const std::vector<std::string_view>& words) {
    std::vector<std::string_view> kept;
    for (const std::string_view w : words)
      if (w[0] != '/') kept.push_back(w);
    std::string text;
    for (const std::string_view w : kept) text += (text.empty() ? "" : " ") + std::string(w);
    const std::string_view field = text;
    return Given(std::span(&field, 1), float64).tensor().shape();
  }
  void add(const Shape& shape, const Tensor& center, const Domain& domain, std::mt19937& random) {
    fields.push_back("V " + std::to_string(tensors.size()));
    const Tensor x = drawn(random, domain, shape);
    tensors.push_back((center.defined() ? center + x * 0.5 : x).eval());
    symmetric.push_back(center.defined());
  }
};

/// Holds a derivative by differences, whose error is that of the fifth derivative, and of rounding; NaN where
/// the function jumps: differences of other widths are others then.
struct Slope {
  double value;
  explicit Slope(const std::function<double(double)>& f) {
    const double h = 4e-5, narrow = f(h / 2) - f(-h / 2), middle = f(h) - f(-h), wide = f(2 * h) - f(-2 * h);
    value = (8 * middle - wide) / (12 * h);
    const double other = (8 * narrow - middle) / (6 * h);
    if (std::abs(value - other) > 1e-3 * std::max(1.0, std::abs(value)))
      value = std::numeric_limits<double>::quiet_NaN();
  }
  /// True if it is so, or, of a width at which differences are rough, if both are numbers.
  bool agrees(double ours, double width, double tolerance) const {
    if (!std::isfinite(value)) return true;
    if (width > 100) return std::isfinite(ours);
    return std::abs(ours - value) <= tolerance * std::max(1.0, std::abs(value));
  }
};

std::string said(double ours, const Slope& expected) {
  return std::to_string(ours) + ", differences give " + std::to_string(expected.value);
}

/// Returns what is wrong with the gradients of a function at x, element by element; empty if nothing.
std::string difference(const TensorFunction& f, const std::vector<Tensor>& x, double width,
                       double tolerance) {
  const Pullback back = vjp(f, x);
  std::mt19937 random(7);
  const Tensor c = drawn(random, {-1, 1}, back.value.shape()).eval();
  const std::vector<Tensor> gradients = back(c);
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<double> at = x[i].to_vector<double>(), ours = gradients[i].to_vector<double>();
    for (size_t k = 0; k < at.size(); ++k) {
      const Slope expected([&](double by) {
        std::vector<double> there = at;
        there[k] += by;
        std::vector<Tensor> all = x;
        all[i] = from_span(there, x[i].shape());
        return sum(f(all) * c).item<double>();
      });
      if (!expected.agrees(ours[k], width, tolerance))
        return "gradient " + std::to_string(i) + '[' + std::to_string(k) + "] is " + said(ours[k], expected);
    }
  }
  return "";
}

/// Returns what is wrong in one direction.
std::string difference_along(const TensorFunction& f, const std::vector<Tensor>& x, double width,
                             double tolerance) {
  const Pullback back = vjp(f, x);
  std::mt19937 random(8);
  const Tensor c = drawn(random, {-1, 1}, back.value.shape()).eval();
  const std::vector<Tensor> gradients = back(c);
  std::vector<Tensor> direction;
  Tensor ours = zeros({}, float64), size = ones({}, float64);
  for (size_t i = 0; i < x.size(); ++i) {
    direction.push_back(drawn(random, {-1, 1}, x[i].shape()).eval());
    ours += sum(direction[i] * gradients[i]);
    size += sum(abs(direction[i] * gradients[i]));
  }
  const Slope expected([&](double by) {
    std::vector<Tensor> all = x;
    for (size_t i = 0; i < x.size(); ++i) all[i] = (x[i] + direction[i] * by).eval();
    return sum(f(all) * c).item<double>();
  });
  // A small sum of large parts is rounded as they are.
  return expected.agrees(ours.item<double>(), width, tolerance * size.item<double>())
             ? ""
             : "the derivative in a direction is " + said(ours.item<double>(), expected);
}

/// Returns the gradients of a function as a function.
TensorFunction gradient_of(const TensorFunction& f) {
  return [f](const std::vector<Tensor>& x) {
    const Pullback back = vjp(f, x);
    const Tensor weights = cos(arange(numel(back.value.shape())).astype(float64) + 0.5);
    std::vector<Tensor> all;
    for (const Tensor& g : back(weights)) all.push_back(reshape(g, -1));
    return concat(all);
  };
}

using Compare = std::string (*)(const TensorFunction&, const std::vector<Tensor>&, double width,
                                double tolerance);

/// Counts what was compared.
struct Count {
  int compared = 0, wrong = 0;
};

/// Compares the first and the second derivative of a case, if it has any.
void compare(const Case& f, double width, Compare compare, const std::string& name, Count& count) {
  std::string what;
  try {
    const Tensor value = f(f.tensors);
    if (!value.defined()) return;
    value.eval();
  } catch (const Error&) { return; }  // of arguments that it does not take
  ++count.compared;
  try {
    what = compare(f, f.tensors, width, 1e-6);
    if (what.empty()) {
      what = compare(gradient_of(f), f.tensors, width, 1e-5);
      if (!what.empty()) what = "second order: " + what;
    }
  } catch (const std::exception& e) { what = e.what(); }
  if (what.empty()) return;
  ++count.wrong;
  std::cerr << name << ": " << what << '\n';
}

bool is_exception(const Row& r, const Domain& d) {
  return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                     [&](const Exception& e) { return function_of(r) == e.name && d.low < e.below; });
}

}  // namespace

int check_gradients_of_samples(std::span<const std::string_view> names) {
  Count count;
  for (const Row* r : table()) {
    if (!names.empty() && std::find(names.begin(), names.end(), r->name) == names.end()) continue;
    std::mt19937 random(1);
    const auto fields = split_text(r->sample, '\t');
    for (const Domain& d : kDomains) {
      if (names.empty() && is_exception(*r, d)) continue;
      const Case f(*r, fields, d, random);
      if (!f.tensors.empty())
        compare(f, d.high - d.low, difference, std::string(r->name) + " from " + std::to_string(d.low),
                count);
    }
  }
  std::cerr << "gradients of samples: " << count.compared << " compared, " << count.wrong << " wrong\n";
  if (!count.compared) throw BadCase("no row has a gradient");
  return count.wrong;
}

int check_gradients_of_cases(const std::string& file) {
  std::ifstream in(file);
  Count count;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t end = line.find("\t=\t");
    if (line[0] == '#' || end == line.npos || line.substr(end).starts_with("\t=\terror")) continue;
    const auto fields = split_text(std::string_view(line).substr(0, end), '\t');
    const Row* const r = find(fields[0]);
    const Domain& d = kDomains[number % 4];
    if (!r || is_exception(*r, d) || needs_special_matrices(*r)) continue;
    std::mt19937 random(static_cast<unsigned>(number));
    const Case f(*r, std::span(fields).subspan(1), d, random);
    if (!f.tensors.empty() && f.comparable)
      compare(f, d.high - d.low, difference_along,
              std::string(r->name) + " (line " + std::to_string(number) + ")", count);
  }
  std::cerr << file << ": gradients of " << count.compared << " cases compared, " << count.wrong
            << " wrong\n";
  return count.wrong;
}

}  // namespace oracle
