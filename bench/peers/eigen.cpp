// Eigen 3 as a side of bench/run (serve.hpp), on the workloads it has kernels for: what a C++ user gets with
// -O3 -march=native, whose expressions fuse when the program is compiled. One thread.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>
#include <vector>

#include "../row_sizes.hpp"
#include "peer.hpp"

namespace bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Array = Eigen::Map<Eigen::ArrayXf>;
using Table = Eigen::Map<Matrix>;
using Line = Eigen::Map<Eigen::RowVectorXf>;

std::vector<Row> rows;

/// Adds a row: `make` adds inputs and outputs to the data and returns what is timed.
template <class F>
void add(const std::string& workload, const std::string& size, F make) {
  rows.push_back({workload, size, [make] {
                    auto data = std::make_shared<Data>();
                    return call_of(data, make(*data));
                  }});
}

Array array(float* data, int64_t n) { return {data, n}; }
Table table(float* data, int64_t m, int64_t n) { return {data, m, n}; }
Line line(float* data, int64_t n) { return {data, n}; }

void pointwise() {
  add("overhead_chain10", "16", [](Data& d) {
    const Array a = array(d.input({16}), 16), b = array(d.input({16}), 16), c = array(d.input({16}), 16);
    return [a, b, c, y = array(d.output({16}), 16)]() mutable {
      y = (((((a + b) * c + b) * c + b) * c + b) * c + b) * c;
    };
  });
  for (const int64_t n : {1000, 100000, 1000000, 10000000}) {
    add("fused_chain", std::to_string(n), [n](Data& d) {
      const Array a = array(d.input({n}), n), b = array(d.input({n}), n), c = array(d.input({n}), n),
                  e = array(d.input({n}), n);
      return [a, b, c, e, y = array(d.output({n}), n), x = Eigen::ArrayXf(n)]() mutable {
        x = (a * b + c) * 0.5f;
        y = x * 0.5f * (1 + (x * 0.7071067811865476f).erf()) + e.logistic();
      };
    });
    add("arith_chain", std::to_string(n), [n](Data& d) {
      const Array a = array(d.input({n}), n), b = array(d.input({n}), n), c = array(d.input({n}), n),
                  e = array(d.input({n}), n);
      return [a, b, c, e, y = array(d.output({n}), n)]() mutable {
        y = ((a * b + c) * 0.5f + e) * (a - c) + b * e;
      };
    });
  }
}

void options() {
  const int64_t n = 1000000;
  add("black_scholes", "1000000", [n](Data& d) {
    const Array spot = array(d.input({n}, 80, 120), n), strike = array(d.input({n}, 80, 120), n),
                years = array(d.input({n}, 0.1f, 2.1f), n), volatility = array(d.input({n}, 0.1f, 0.5f), n);
    const Array call = array(d.output({n}), n), put = array(d.output({n}), n);
    const Eigen::ArrayXf none(n);
    return [=, spread = none, d1 = none, n1 = none, n2 = none, discounted = none, call = call,
            put = put]() mutable {
      const auto cdf = [](const Eigen::ArrayXf& x) { return ((x * 0.7071067811865476f).erf() + 1) * 0.5f; };
      spread = volatility * years.sqrt();
      d1 = ((spot / strike).log() + (volatility * volatility * 0.5f + 0.02f) * years) / spread;
      n1 = cdf(d1);
      d1 -= spread;
      n2 = cdf(d1);
      discounted = strike * (years * -0.02f).exp();
      call = spot * n1 - discounted * n2;
      put = discounted * (1 - n2) - spot * (1 - n1);
    };
  });
}

void norms(int64_t m, int64_t n) {
  const std::string size = std::to_string(m) + "x" + std::to_string(n);
  add("layernorm", size, [m, n](Data& d) {
    const Table x = table(d.input({m, n}), m, n);
    const Line w = line(d.input({n}), n), b = line(d.input({n}), n);
    return [=, y = table(d.output({m, n}), m, n)]() mutable {
      for (int64_t i = 0; i < m; ++i) {
        const float mean = x.row(i).mean();
        const float scale = 1 / std::sqrt((x.row(i).array() - mean).square().mean() + 1e-5f);
        y.row(i) = (x.row(i).array() - mean) * scale * w.array() + b.array();
      }
    };
  });
  add("rmsnorm", size, [m, n](Data& d) {
    const Table x = table(d.input({m, n}), m, n);
    const Line w = line(d.input({n}), n);
    return [=, y = table(d.output({m, n}), m, n)]() mutable {
      for (int64_t i = 0; i < m; ++i)
        y.row(i) = x.row(i).array() *
                   (1 / std::sqrt(x.row(i).squaredNorm() / static_cast<float>(n) + 1e-5f)) * w.array();
    };
  });
}

void columns() {
  add("col_standardize", "100000x64", [](Data& d) {
    const Table x = table(d.input({100000, 64}), 100000, 64);
    return [x, y = table(d.output({100000, 64}), 100000, 64)]() mutable {
      const Eigen::RowVectorXf mean = x.colwise().mean();
      y = x.rowwise() - mean;
      const Eigen::RowVectorXf scale = (y.colwise().squaredNorm() / 100000).array() + 1e-5f;
      y.array().rowwise() /= scale.array().sqrt();
    };
  });
}

void softmax(int64_t m, int64_t n) {
  add("softmax", std::to_string(m) + "x" + std::to_string(n), [m, n](Data& d) {
    const Table x = table(d.input({m, n}), m, n);
    return [m, x, y = table(d.output({m, n}), m, n)]() mutable {
      for (int64_t i = 0; i < m; ++i) {
        y.row(i) = (x.row(i).array() - x.row(i).maxCoeff()).exp();
        y.row(i) /= y.row(i).sum();
      }
    };
  });
}

/// Adds a function of each row that gives one number.
template <class F>
void reduction(const char* name, int64_t m, int64_t n, F f) {
  add(name, std::to_string(m) + "x" + std::to_string(n), [m, n, f](Data& d) {
    const Table x = table(d.input({m, n}), m, n);
    return [=, y = line(d.output({m}), m)]() mutable {
      for (int64_t i = 0; i < m; ++i) y(i) = f(x.row(i));
    };
  });
}

void reductions(int64_t m, int64_t n) {
  reduction("logsumexp", m, n, [](const auto& row) {
    const float top = row.maxCoeff();
    return top + std::log((row.array() - top).exp().sum());
  });
  reduction("argmax", m, n, [](const auto& row) {
    Eigen::Index at;
    row.maxCoeff(&at);
    return static_cast<float>(at);
  });
}

void rows_of_sizes() {
  each_row_size(softmax, norms, reductions);
  for (const int64_t n : kRowColumns)
    reduction("sum", rows_of(n), n, [](const auto& row) { return row.sum(); });
}

void products() {
  for (const int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048})
    add("matmul", std::to_string(n), [n](Data& d) {
      const Table a = table(d.input({n, n}), n, n), b = table(d.input({n, n}), n, n);
      return [a, b, c = table(d.output({n, n}), n, n)]() mutable { c.noalias() = a * b; };
    });
  for (const int64_t n : {256, 1024, 4096})
    add("matvec", std::to_string(n), [n](Data& d) {
      const Table a = table(d.input({n, n}), n, n);
      const Eigen::Map<Eigen::VectorXf> x(d.input({n}), n);
      return [a, x, y = Eigen::Map<Eigen::VectorXf>(d.output({n}), n)]() mutable { y.noalias() = a * x; };
    });
  add("batched_matmul", "64x32x32", [](Data& d) {
    float *a = d.input({64, 32, 32}), *b = d.input({64, 32, 32}), *c = d.output({64, 32, 32});
    return [=] {
      for (int64_t i = 0; i < 64; ++i)
        table(c + i * 1024, 32, 32).noalias() = table(a + i * 1024, 32, 32) * table(b + i * 1024, 32, 32);
    };
  });
  for (const int64_t m : {128, 1})
    for (const bool gelu : {false, true})
      add(gelu ? "linear_gelu" : "linear_fp32", std::to_string(m) + "x768x3072", [m, gelu](Data& d) {
        const Table x = table(d.input({m, 768}), m, 768), w = table(d.input({3072, 768}), 3072, 768);
        const Line b = line(d.input({3072}), 3072);
        return [=, y = table(d.output({m, 3072}), m, 3072)]() mutable {
          y.noalias() = x * w.transpose();
          y.rowwise() += b;
          if (gelu) y = y.array() * 0.5f * (1 + (y.array() * 0.7071067811865476f).erf());
        };
      });
}

}  // namespace
}  // namespace bench

int main() {
  using namespace bench;
  Eigen::setNbThreads(1);
  pointwise();
  options();
  columns();
  rows_of_sizes();
  products();
  std::string sets = Eigen::SimdInstructionSetsInUse();
  std::replace(sets.begin(), sets.end(), ',', ' ');
  const std::string version = std::to_string(EIGEN_WORLD_VERSION) + "." +
                              std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  return serve(rows, "Eigen " + version + "; its own products; " + sets);
}
