// OpenBLAS's products as a side of bench/run (serve.hpp), called by cblas.
#include <cblas.h>

#include <algorithm>
#include <cstdlib>

#include "peer.hpp"

extern "C" {
char* openblas_get_config();
char* openblas_get_corename();
void openblas_set_num_threads(int);
}

namespace bench {
namespace {

Call matmul(int64_t batch, int64_t n) {
  auto d = std::make_shared<Data>();
  const Shape shape = batch == 1 ? Shape{n, n} : Shape{batch, n, n};
  const float *a = d->input(shape), *b = d->input(shape);
  float* y = d->output(shape);
  const auto k = static_cast<int>(n);
  return call_of(d, [=] {
    for (int64_t i = 0; i < batch; ++i)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, k, k, 1, a + i * n * n, k, b + i * n * n, k,
                  0, y + i * n * n, k);
  });
}

Call double_matmul(int n) {
  auto d = std::make_shared<Data>();
  const auto values = [&](uint64_t seed) {
    const std::vector<float> v = uniform(int64_t{n} * n, -1, 1, seed);
    std::vector<double> wide(v.begin(), v.end());
    for (double& x : wide) x *= 1 + 0x1p-30;
    return std::make_shared<std::vector<double>>(std::move(wide));
  };
  const auto a = values(1), b = values(2), y = std::make_shared<std::vector<double>>(size_t(n) * size_t(n));
  Call c;
  c.run = [=] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a->data(), n, b->data(), n, 0,
                y->data(), n);
  };
  c.arrays = [=, run = c.run](Arrays& to) {
    run();
    to.in("float64", {n, n}, a->data()), to.in("float64", {n, n}, b->data()),
        to.out("float64", {n, n}, y->data());
  };
  return c;
}

Call matvec(int n) {
  auto d = std::make_shared<Data>();
  const float *a = d->input({n, n}), *x = d->input({n});
  float* y = d->output({n});
  return call_of(d, [=] { cblas_sgemv(CblasRowMajor, CblasNoTrans, n, n, 1, a, n, x, 1, 0, y, 1); });
}

Call linear(int m) {
  constexpr int k = 768, n = 3072;
  auto d = std::make_shared<Data>();
  const float *x = d->input({m, k}), *w = d->input({n, k}), *b = d->input({n});
  float* y = d->output({m, n});
  return call_of(d, [=] {  // the bias goes where the product is added
    for (int i = 0; i < m; ++i) std::copy_n(b, n, y + i * n);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, w, k, 1, y, n);
  });
}

}  // namespace
}  // namespace bench

int main() {
  using namespace bench;
  const char* threads = std::getenv("LAZY_NUM_THREADS");
  openblas_set_num_threads(threads ? std::max(1, std::atoi(threads)) : 1);
  std::vector<Row> rows;
  for (const int n : {16, 32, 64, 128, 256, 512, 1024, 2048})
    rows.push_back({"matmul", std::to_string(n), [n] { return matmul(1, n); }});
  for (const int n : {256, 1024, 4096})
    rows.push_back({"matvec", std::to_string(n), [n] { return matvec(n); }});
  rows.push_back({"matmul_f64", "512", [] { return double_matmul(512); }});
  rows.push_back({"batched_matmul", "64x32x32", [] { return matmul(64, 32); }});
  for (const int m : {128, 1})
    rows.push_back({"linear_fp32", std::to_string(m) + "x768x3072", [m] { return linear(m); }});
  return serve(rows, std::string(openblas_get_config()) + "; kernels for " + openblas_get_corename());
}
