#include "backends/cuda/api/cublaslt.hpp"
#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

extern "C" {
#define LAZY_CUBLASLT(field, name, ...) Result name(__VA_ARGS__);
#include "backends/cuda/api/cublaslt.def"
}

namespace {

#define CHECK_BLAS(call) BOOST_REQUIRE_EQUAL(call, kSuccess)

/// Computes a product of column-major matrices, d = a * b with a stored transposed.
struct Multiplication {
  BlasHandle handle = nullptr;
  BlasMatmul matmul = nullptr;
  BlasLayout a = nullptr, b = nullptr, d = nullptr;
  BlasPreference preference = nullptr;
  BlasHeuristic found{};
  int count = 0;

  Multiplication(uint64_t m, uint64_t n, uint64_t k, int32_t batch,
                 BlasEpilogue epilogue = BlasEpilogue::none, const void* bias = nullptr) {
    CHECK_BLAS(cublasLtCreate(&handle));
    CHECK_BLAS(cublasLtMatmulDescCreate(&matmul, BlasCompute::f32, BlasType::f32));
    const auto transpose = BlasOperation::transpose;
    CHECK_BLAS(cublasLtMatmulDescSetAttribute(matmul, BlasMatmulAttribute::transpose_a, &transpose,
                                              sizeof transpose));
    CHECK_BLAS(
        cublasLtMatmulDescSetAttribute(matmul, BlasMatmulAttribute::epilogue, &epilogue, sizeof epilogue));
    CHECK_BLAS(cublasLtMatmulDescSetAttribute(matmul, BlasMatmulAttribute::bias_pointer, &bias, sizeof bias));
    layout(a, k, m, batch);
    layout(b, k, n, batch);
    layout(d, m, n, batch);
    CHECK_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    const uint64_t workspace = 1 << 20;
    CHECK_BLAS(cublasLtMatmulPreferenceSetAttribute(preference, BlasPreferenceAttribute::workspace_bytes,
                                                    &workspace, 8));
    CHECK_BLAS(cublasLtMatmulAlgoGetHeuristic(handle, matmul, a, b, d, d, preference, 1, &found, &count));
  }
  ~Multiplication() {
    for (BlasLayout l : {a, b, d}) BOOST_CHECK_EQUAL(cublasLtMatrixLayoutDestroy(l), kSuccess);
    BOOST_CHECK_EQUAL(cublasLtMatmulDescDestroy(matmul), kSuccess);
    BOOST_CHECK_EQUAL(cublasLtMatmulPreferenceDestroy(preference), kSuccess);
  }
  static void layout(BlasLayout& l, uint64_t rows, uint64_t columns, int32_t batch) {
    CHECK_BLAS(cublasLtMatrixLayoutCreate(&l, BlasType::f32, rows, columns, static_cast<int64_t>(rows)));
    const auto stride = static_cast<int64_t>(rows * columns);
    CHECK_BLAS(cublasLtMatrixLayoutSetAttribute(l, BlasLayoutAttribute::batch_count, &batch, sizeof batch));
    CHECK_BLAS(
        cublasLtMatrixLayoutSetAttribute(l, BlasLayoutAttribute::batch_stride, &stride, sizeof stride));
  }
  Result run(const Gpu& gpu, const void* pa, const void* pb, void* pd, float alpha = 1, float beta = 0) {
    DevicePtr workspace = 0;
    CHECK_CUDA(allocate_async(&workspace, found.workspace_bytes, gpu.stream));
    const Result result =
        cublasLtMatmul(handle, matmul, &alpha, pa, a, pb, b, &beta, pd, d, pd, d, &found.algorithm,
                       reinterpret_cast<void*>(workspace), found.workspace_bytes, gpu.stream);
    CHECK_CUDA(free_async(workspace, gpu.stream));
    return result;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(blas)

BOOST_AUTO_TEST_CASE(product) {
  for (const char* async : {"0", "1"}) {
    Gpu gpu({{"EMULATED_CUDA_ASYNC", async}});
    const Floats a(gpu, {1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0}),
        b(gpu, {1, 10, 100, 1, -1, 1, 7, 8, 9, 0, 0, 1});
    const Floats d(gpu, 8);
    Multiplication product(2, 2, 3, 2);
    BOOST_REQUIRE_EQUAL(product.count, 1);
    CHECK_BLAS(product.run(gpu, a.pointer(), b.pointer(), d.pointer()));
    BOOST_CHECK(d.read() == (std::vector<float>{321, 654, 2, 5, 7, 8, 0, 0}));
    CHECK_BLAS(product.run(gpu, a.pointer(), b.pointer(), d.pointer(), -1, 2));
    BOOST_CHECK(d.read() == (std::vector<float>{321, 654, 2, 5, 7, 8, 0, 0}));
  }
}

BOOST_AUTO_TEST_CASE(epilogue) {
  Gpu gpu;
  const Floats a(gpu, {1, 2}), b(gpu, {1, -1, 2}), bias(gpu, {0.5f, -1}), d(gpu, 6);
  Multiplication product(2, 3, 1, 1, BlasEpilogue::relu_bias, bias.pointer());
  CHECK_BLAS(product.run(gpu, a.pointer(), b.pointer(), d.pointer()));
  BOOST_CHECK(d.read() == (std::vector<float>{1.5, 1, 0, 0, 2.5, 3}));
}

BOOST_AUTO_TEST_CASE(mistakes_are_found) {
  Gpu gpu;
  const Floats a(gpu, 16), b(gpu, 16), d(gpu, 16);
  Multiplication product(4, 4, 4, 1), other(4, 2, 4, 1);
  const std::string text = stderr_of([&] {
    BOOST_CHECK_EQUAL(product.run(gpu, a.pointer() + 4, b.pointer(), d.pointer()),
                      7);  // less aligned, too short
    BOOST_CHECK_EQUAL(product.run(gpu, a.pointer(), gpu.stream, d.pointer()), 7);
  });
  BOOST_CHECK(text.find("matrix A") != std::string::npos && text.find("matrix B") != std::string::npos);
  other.found.algorithm = product.found.algorithm;
  BOOST_CHECK_EQUAL(other.run(gpu, a.pointer(), b.pointer(), d.pointer()), 7);
  BOOST_CHECK(emulated_cuda_inject("cublasLtMatmul", 1, kBlasNotSupported));
  BOOST_CHECK_EQUAL(product.run(gpu, a.pointer(), b.pointer(), d.pointer()), kBlasNotSupported);
  CHECK_BLAS(product.run(gpu, a.pointer(), b.pointer(), d.pointer()));
  const int64_t before = emulated_cuda_count("cublasLtMatmul");
  BOOST_CHECK_EQUAL(before, 5);
}

BOOST_AUTO_TEST_SUITE_END()
