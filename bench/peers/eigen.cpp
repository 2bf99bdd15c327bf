// Times Eigen 3 on the workloads it has kernels for: what a C++ user gets with -O3 -march=native, whose
// expressions fuse when the program is compiled. One thread. eigen [-f REGEX] [-s SECONDS] prints
// peer,workload,size,threads,median_us, and about,eigen,TEXT: its version and instruction sets
#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>
#include <vector>

namespace {

using Array = Eigen::ArrayXf;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double seconds = 0.3;
std::regex wanted(".");

void measure(const std::string& name, const std::string& size, const std::function<void()>& call) {
  if (!std::regex_search(name + "/" + size, wanted)) return;
  using Clock = std::chrono::steady_clock;
  const auto elapsed = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  for (int i = 0; i < 3; ++i) call();
  auto start = Clock::now();
  call();
  const int inner = std::max(1, static_cast<int>(100e-6 / std::max(elapsed(start), 1e-9)));
  std::vector<double> samples;
  const auto begin = Clock::now();
  while (samples.size() < 5 || elapsed(begin) < seconds) {
    start = Clock::now();
    for (int i = 0; i < inner; ++i) call();
    samples.push_back(elapsed(start) / inner);
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<long>(samples.size() / 2), samples.end());
  std::printf("eigen,%s,%s,1,%.4g\n", name.c_str(), size.c_str(), samples[samples.size() / 2] * 1e6);
  std::fflush(stdout);
}

Array uniform(long n, float low = -1, float high = 1) {
  return (Array::Random(n) + 1) * ((high - low) / 2) + low;
}

auto cdf(const Array& x) { return ((x * 0.7071067811865476f).erf() + 1) * 0.5f; }

void pointwise() {
  {
    const Array a = uniform(16), b = uniform(16), c = uniform(16);
    Array y(16);
    measure("overhead_chain10", "16", [&] { y = (((((a + b) * c + b) * c + b) * c + b) * c + b) * c; });
  }
  for (const long n : {1000L, 100000L, 1000000L, 10000000L}) {
    const Array a = uniform(n), b = uniform(n), c = uniform(n), d = uniform(n);
    Array y(n), x(n);
    measure("fused_chain", std::to_string(n), [&] {
      x = (a * b + c) * 0.5f;
      y = x * 0.5f * (1 + (x * 0.7071067811865476f).erf()) + d.logistic();
    });
    measure("arith_chain", std::to_string(n), [&] { y = ((a * b + c) * 0.5f + d) * (a - c) + b * d; });
  }
  const long n = 1000000;
  const Array spot = uniform(n, 80, 120), strike = uniform(n, 80, 120), years = uniform(n, 0.1f, 2.1f),
              volatility = uniform(n, 0.1f, 0.5f);
  Array spread(n), d1(n), n1(n), n2(n), discounted(n), call(n), put(n);
  measure("black_scholes", "1000000", [&] {
    spread = volatility * years.sqrt();
    d1 = ((spot / strike).log() + (volatility * volatility * 0.5f + 0.02f) * years) / spread;
    n1 = cdf(d1);
    n2 = cdf(d1 - spread);
    discounted = strike * (years * -0.02f).exp();
    call = spot * n1 - discounted * n2;
    put = discounted * (1 - n2) - spot * (1 - n1);
  });
}

void rows() {
  for (const auto& [m, k] : {std::pair<long, long>{4096, 1024}, {64, 50257}}) {
    const Matrix x = Matrix::Random(m, k);
    Matrix y(m, k);
    measure("softmax", std::to_string(m) + "x" + std::to_string(k), [&, m = m] {
      for (long i = 0; i < m; ++i) {
        y.row(i) = (x.row(i).array() - x.row(i).maxCoeff()).exp();
        y.row(i) /= y.row(i).sum();
      }
    });
  }
  const Matrix x = Matrix::Random(4096, 768), z = Matrix::Random(4096, 1024),
               wide = Matrix::Random(100000, 64);
  const Eigen::RowVectorXf w = Eigen::RowVectorXf::Random(768), b = Eigen::RowVectorXf::Random(768);
  Matrix y(4096, 768), s(100000, 64);
  Eigen::VectorXf one(4096);
  measure("layernorm", "4096x768", [&] {
    for (long i = 0; i < 4096; ++i) {
      const float mean = x.row(i).mean();
      const float scale = 1 / std::sqrt((x.row(i).array() - mean).square().mean() + 1e-5f);
      y.row(i) = (x.row(i).array() - mean) * scale * w.array() + b.array();
    }
  });
  measure("rmsnorm", "4096x768", [&] {
    for (long i = 0; i < 4096; ++i)
      y.row(i) = x.row(i).array() * (1 / std::sqrt(x.row(i).squaredNorm() / 768 + 1e-5f)) * w.array();
  });
  measure("col_standardize", "100000x64", [&] {
    const Eigen::RowVectorXf mean = wide.colwise().mean();
    s = wide.rowwise() - mean;
    const Eigen::RowVectorXf scale = (s.colwise().squaredNorm() / 100000).array() + 1e-5f;
    s.array().rowwise() /= scale.array().sqrt();
  });
  measure("logsumexp", "4096x1024", [&] {
    for (long i = 0; i < 4096; ++i) {
      const float top = z.row(i).maxCoeff();
      one(i) = top + std::log((z.row(i).array() - top).exp().sum());
    }
  });
  measure("argmax", "4096x1024", [&] {
    for (long i = 0; i < 4096; ++i) {
      long at;
      z.row(i).maxCoeff(&at);
      one(i) = static_cast<float>(at);
    }
  });
}

void products() {
  for (const long n : {16L, 32L, 64L, 128L, 256L, 512L, 1024L, 2048L}) {
    const Matrix a = Matrix::Random(n, n), b = Matrix::Random(n, n);
    Matrix c(n, n);
    measure("matmul", std::to_string(n), [&] { c.noalias() = a * b; });
  }
  std::vector<Matrix> a(64, Matrix::Random(32, 32)), b(64, Matrix::Random(32, 32)), c(64, Matrix(32, 32));
  measure("batched_matmul", "64x32x32", [&] {
    for (size_t i = 0; i < 64; ++i) c[i].noalias() = a[i] * b[i];
  });
  for (const long m : {128L, 1L}) {
    const Matrix x = Matrix::Random(m, 768), w = Matrix::Random(3072, 768);
    const Eigen::RowVectorXf bias = Eigen::RowVectorXf::Random(3072);
    Matrix y(m, 3072);
    const std::string size = std::to_string(m) + "x768x3072";
    const auto linear = [&] {
      y.noalias() = x * w.transpose();
      y.rowwise() += bias;
    };
    measure("linear_fp32", size, linear);
    measure("linear_gelu", size, [&] {
      linear();
      y = y.array() * 0.5f * (1 + (y.array() * 0.7071067811865476f).erf());
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "-f") wanted = argv[i + 1];
    if (std::string(argv[i]) == "-s") seconds = std::atof(argv[i + 1]);
  }
  Eigen::setNbThreads(1);
  pointwise();
  rows();
  products();
  std::string sets = Eigen::SimdInstructionSetsInUse();
  std::replace(sets.begin(), sets.end(), ',', ' ');
  std::printf("about,eigen,Eigen %d.%d.%d; its own products; %s\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
              EIGEN_MINOR_VERSION, sets.c_str());
}
