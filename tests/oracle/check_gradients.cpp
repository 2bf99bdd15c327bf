// Compares gradients of every row with central differences: its sample with random tensors of float64 in
// place of those that are tried, of which all are differentiated by.
#include <cmath>
#include <iostream>
#include <random>

#include "tests/oracle/table.hpp"

namespace oracle {
namespace {

/// Says from which numbers tensors are drawn.
struct Domain {
  double low, high;
};
/// Each row is tried with numbers of each; what is not finite there is not compared.
constexpr Domain kDomains[] = {{0.2, 0.9}, {-0.95, 0.95}, {1.2, 3}};

/// Says why a row's gradient is not that of differences.
struct Exception {
  const char *name, *reason;
};
constexpr Exception kExceptions[] = {{"stop_gradient", "0 is what it is for"}};

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

/// Holds a row's sample: its tensors, and a function of them that gives all results of floating point.
struct Sample {
  std::vector<std::string> fields;
  std::vector<Tensor> tensors;
  std::vector<bool> symmetric;  // of tensors: only symmetric matrices are tried
  const Row* row;

  Sample(const Row& r, const Domain& domain, std::mt19937& random) : row(&r) {
    for (const std::string_view field : split_text(r.sample, '\t')) {
      const char kind = field[0];
      if (kind != 'x' && kind != 'f' && kind != 'p') {
        fields.emplace_back(field);
        continue;
      }
      fields.push_back("V " + std::to_string(tensors.size()));
      Given one(std::span(&field, 1), float64);
      const Tensor like = one.tensor();
      Tensor x = drawn(random, domain, like.shape());
      if (kind == 'p') x = like + x * 0.5;
      tensors.push_back(x.eval());
      symmetric.push_back(kind == 'p');
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
      if (r.defined() && is_float(r.dtype())) values.push_back(reshape(r, -1).astype(float64));
    return values.empty() ? Tensor() : concat(values);
  }
};

/// Returns what is wrong with the gradients of a function at x; empty if nothing.
std::string difference(const TensorFunction& f, const std::vector<Tensor>& x, double tolerance) {
  const Pullback back = vjp(f, x);
  std::mt19937 random(7);
  const Tensor c = drawn(random, {-1, 1}, back.value.shape()).eval();
  const std::vector<Tensor> gradients = back(c);
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<double> at = x[i].to_vector<double>(), ours = gradients[i].to_vector<double>();
    for (size_t k = 0; k < at.size(); ++k) {
      const auto moved = [&](double by) {
        std::vector<double> there = at;
        there[k] += by;
        std::vector<Tensor> all = x;
        all[i] = from_span(there, x[i].shape());
        return sum(f(all) * c).item<double>();
      };
      const double h = 1e-5, expected = (moved(h) - moved(-h)) / (2 * h);
      if (std::isfinite(expected) &&
          !(std::abs(ours[k] - expected) <= tolerance * std::max(1.0, std::abs(expected))))
        return "gradient " + std::to_string(i) + '[' + std::to_string(k) + "] is " + std::to_string(ours[k]) +
               ", differences give " + std::to_string(expected);
    }
  }
  return "";
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

/// Returns what is wrong with the first or second derivative; empty if nothing or if it has none.
std::string wrong_derivative(const Row& r, const Domain& d, std::mt19937& random) {
  const Sample f(r, d, random);
  if (f.tensors.empty()) return "";
  try {
    if (!f(f.tensors).defined()) return "";
  } catch (const DtypeError&) { return ""; }
  const std::string first = difference(f, f.tensors, 1e-6);
  if (!first.empty()) return first;
  const std::string second = difference(gradient_of(f), f.tensors, 1e-4);
  return second.empty() ? "" : "second order: " + second;
}

}  // namespace

int check_gradients(std::span<const std::string_view> names) {
  int wrong = 0, rows = 0;
  std::mt19937 random(1);
  for (const Row* r : table()) {
    if (!names.empty() && std::find(names.begin(), names.end(), r->name) == names.end()) continue;
    const auto is_this = [&](const Exception& e) { return r->name == std::string_view(e.name); };
    if (names.empty() && std::any_of(std::begin(kExceptions), std::end(kExceptions), is_this)) continue;
    ++rows;
    for (const Domain& d : kDomains) {
      std::string what;
      try {
        what = wrong_derivative(*r, d, random);
      } catch (const std::exception& e) { what = e.what(); }
      if (what.empty()) continue;
      ++wrong;
      std::cerr << r->name << " in [" << d.low << ", " << d.high << "]: " << what << '\n';
    }
  }
  std::cerr << "gradients of " << rows << " rows, " << wrong << " wrong\n";
  if (!rows) throw BadCase("no row has a gradient");
  return wrong;
}

}  // namespace oracle
