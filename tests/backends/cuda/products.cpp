// Tests matrix products: by cuBLASLt where it can, by our kernels otherwise, with every layout and epilogue.
// The emulated library adds in ascending order, as the loop IR says, so bits are the same both ways; on real
// hardware they need not be, and these run on the emulated one.
#include <cstdlib>
#include <functional>

#include "backends/cpu/machine/features.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

// Instructions for bfloat16 add products in an order of their own; the emulated device adds as other CPUs do.
[[gnu::constructor(102)]] void without_products_of_bfloat16() {
  if (lazy::cpu_backend::best_isa() > lazy::cpu_backend::Isa::avx512) setenv("LAZY_CPU_ISA", "avx2", 0);
}

using Two = std::function<Tensor(const Tensor&, const Tensor&)>;
struct Case {
  const char* name;
  Shape left, right;
  Two product;
  bool by_library = true;
};

const std::vector<Case> cases = {
    {"packed", {40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, b); }},
    {"left transposed", {50, 40}, {50, 60}, [](auto& a, auto& b) { return matmul(a.T(), b); }},
    {"right transposed", {40, 50}, {60, 50}, [](auto& a, auto& b) { return matmul(a, b.T()); }},
    {"both transposed", {50, 40}, {60, 50}, [](auto& a, auto& b) { return matmul(a.T(), b.T()); }},
    {"batch", {3, 40, 50}, {3, 50, 60}, [](auto& a, auto& b) { return matmul(a, b); }},
    {"batch of transposed",
     {3, 50, 40},
     {3, 60, 50},
     [](auto& a, auto& b) { return matmul(a.mT(), b.mT()); }},
    {"one right side", {3, 40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, b); }},
    {"one left side", {40, 50}, {3, 50, 60}, [](auto& a, auto& b) { return matmul(a, b); }},
    {"batch axes that broadcast",
     {3, 1, 40, 50},
     {1, 2, 50, 60},
     [](auto& a, auto& b) { return matmul(a, b); }},
    {"batch axes swapped",
     {2, 3, 40, 50},
     {3, 2, 50, 60},
     [](auto& a, auto& b) { return matmul(a.swapaxes(0, 1), b); }},
    {"heads",
     {2, 40, 3, 50},
     {2, 60, 3, 50},
     [](auto& a, auto& b) {
       return matmul(a.swapaxes(1, 2), permute(b, {0, 2, 3, 1}));
     }},
    {"rows with gaps",
     {80, 50},
     {50, 60},
     [](auto& a, auto& b) { return matmul(a(slice(none, none, 2)), b); }},
    {"a part",
     {60, 70},
     {70, 90},
     [](auto& a, auto& b) { return matmul(a(slice(7, 47), slice(3, 53)), b(slice(11, 61), slice(20, 80))); }},
    {"rows reversed", {40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(flip(a, {0}), b); }, false},
    {"columns reversed", {40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, flip(b, {1})); }, false},
    {"both strides",
     {80, 100},
     {50, 60},
     [](auto& a, auto& b) { return matmul(a(slice(none, none, 2), slice(none, none, 2)), b); },
     false},
    {"rows broadcast",
     {1, 50},
     {50, 60},
     [](auto& a, auto& b) {
       return matmul(broadcast_to(a, {40, 50}), b);
     },
     false},
    {"bias", {40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, b) + b(0); }},
    {"relu",
     {40, 50},
     {50, 60},
     [](auto& a, auto& b) { return maximum(matmul(a, b) + a(_, slice(0, 1)), 0); }},
    {"gelu",
     {3, 40, 50},
     {50, 60},
     [](auto& a, auto& b) {
       const Tensor x = matmul(a, b);
       return x * 0.5f * (1 + tanh(0.79f * (x + 0.044f * x * x * x)));
     }},
    {"epilogue of a transposed result",
     {40, 50},
     {50, 60},
     [](auto& a, auto& b) { return matmul(a, b).T() * 2 + b(0)(_, newaxis); }},
    {"to float64", {40, 50}, {50, 60}, [](auto& a, auto& b) { return astype(matmul(a, b), float64) / 3; }},
    {"to float16", {40, 50}, {50, 60}, [](auto& a, auto& b) { return astype(matmul(a, b), float16); }},
    {"indices in the epilogue",
     {40, 50},
     {50, 60},
     [](auto& a, auto& b) { return where(arange(60) > arange(40)(_, newaxis), matmul(a, b), 0.0f); }},
    {"two products", {40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(tanh(matmul(a, b)), b.T()); }},
    {"one row", {1, 300}, {300, 200}, [](auto& a, auto& b) { return matmul(a, b); }},
    {"one column", {300, 200}, {200, 1}, [](auto& a, auto& b) { return matmul(a, b); }, false},
    {"no sum", {40, 0}, {0, 60}, [](auto& a, auto& b) { return matmul(a, b) + 1; }, false},
    {"nothing", {0, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, b); }, false},
    {"primes", {97, 101}, {101, 103}, [](auto& a, auto& b) { return matmul(a, b) - 1; }},
};

/// Returns the result of the CPU.
std::vector<uint64_t> expected(const Case& c, const Tensor& a, const Tensor& b) {
  const OnCpu host;
  return bits(c.product(a, b));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(products, OnGpu, *boost::unit_test::precondition(is_emulated))

BOOST_AUTO_TEST_CASE(every_layout_and_epilogue) {
  for (DType t : {float32, float64, float16, bfloat16})
    for (const Case& c : cases) {
      const Tensor a = varied(c.left, t), b = varied(c.right, t, 3);
      const auto wanted = expected(c, a, b);
      const std::string what = std::string(c.name) + " " + name_of(t);
      const Calls library("cublasLtMatmul");
      BOOST_TEST((bits(c.product(a.to(cuda), b.to(cuda))) == wanted), what);
      BOOST_TEST((library() > 0) == c.by_library, what << ": " << library() << " calls");
      const Override own("LAZY_CUDA_SUMS", "ordered");
      const Calls none("cublasLtMatmul");
      BOOST_TEST((bits(c.product(a.to(cuda), b.to(cuda))) == wanted), what << ", LAZY_CUDA_SUMS=ordered");
      BOOST_TEST(none() == 0);
    }
}

/// Without the library tensor cores compute products of 16-bit floats; the emulated ones add in ascending
/// order, too.
BOOST_AUTO_TEST_CASE(every_layout_and_epilogue_without_the_library) {
  const Override own("LAZY_CUDA_BLAS", "off");
  for (DType t : {float16, bfloat16})
    for (const Case& c : cases) {
      const Tensor a = varied(c.left, t), b = varied(c.right, t, 3);
      const Calls none("cublasLtMatmul");
      BOOST_TEST((bits(c.product(a.to(cuda), b.to(cuda))) == expected(c, a, b)), c.name << " " << name_of(t));
      BOOST_TEST(none() == 0);
    }
}

/// Sides that are cast before the product: converted first, where that pays.
BOOST_AUTO_TEST_CASE(sides_of_other_types) {
  struct Types {
    DType left, as_left, right, as_right;
  };
  const DType same = float32;  // the dtype in which `matmul` accumulates anyway
  const Types all[] = {{float32, bfloat16, float32, bfloat16},
                       {bfloat16, bfloat16, int8, bfloat16},
                       {float16, float16, uint8, same},
                       {float64, float32, float32, float32},
                       {int8, same, int8, same},
                       {float32, float16, float16, float16},
                       {bfloat16, same, int8, same},
                       {int32, float32, float16, float32}};
  struct Form {
    const char* name;
    Shape left, right;
    Two product;
  };
  const Form forms[] = {
      {"plain", {72, 65}, {65, 80}, [](auto& a, auto& b) { return matmul(a, b, float32); }},
      {"rounded", {65, 72}, {72, 90}, [](auto& a, auto& b) { return matmul(a, b) * 2; }},
      {"right transposed",
       {65, 72},
       {90, 72},
       [](auto& a, auto& b) { return matmul(a, b.T(), float32) + 1; }},
      {"left transposed", {72, 64}, {72, 88}, [](auto& a, auto& b) { return matmul(a.T(), b, float32); }},
      {"one right side", {3, 40, 50}, {50, 60}, [](auto& a, auto& b) { return matmul(a, b, float32); }},
      {"batch", {3, 40, 50}, {3, 60, 50}, [](auto& a, auto& b) { return matmul(a, b.mT(), float32) - 1; }}};
  int i = 0;
  for (const Types& t : all)
    for (const Form& f : forms) {
      if (i++ % 3 == 2) continue;  // each form with most types
      const auto product = [&](const Tensor& a, const Tensor& b) {
        const auto made = [&] {  // the cast value has no handle when it is computed
          const Tensor l = astype(a, t.as_left), r = astype(b, t.as_right);
          return f.product(l, r);
        }();
        return bits(made);
      };
      const Tensor a = astype(varied(f.left) * 20, t.left),
                   b = astype(varied(f.right, float32, 3) * 20, t.right);
      a.eval(), b.eval();
      const Tensor x = a.to(cuda), y = b.to(cuda);
      std::vector<uint64_t> wanted;
      {
        const OnCpu host;
        wanted = product(a, b);
      }
      const std::string what = std::string(f.name) + " of " + name_of(t.left) + " as " + name_of(t.as_left) +
                               " and " + name_of(t.right) + " as " + name_of(t.as_right);
      const Calls library("cublasLtMatmul");
      BOOST_TEST((product(x, y) == wanted), what);
      BOOST_TEST(library() > 0, what);
      const Calls none("cublasLtMatmul");
      const Override own(i % 2 ? "LAZY_CUDA_SUMS" : "LAZY_CUDA_BLAS", i % 2 ? "ordered" : "off");
      BOOST_TEST((product(x, y) == wanted), what << ", by our own kernels");
      BOOST_TEST(none() == 0);
    }
}

/// Converting first would gain nothing there.
BOOST_AUTO_TEST_CASE(few_rows_are_converted_on_the_way) {
  const Tensor a = varied({4, 300}, bfloat16), b = astype(varied({300, 200}) * 20, int8);
  b.eval();
  const auto product = [](const Tensor& l, const Tensor& r) {
    const auto made = [&] { return matmul(l, astype(r, bfloat16), float32); }();
    return bits(made);
  };
  const Calls library("cublasLtMatmul");
  const auto got = product(a.to(cuda), b.to(cuda));
  BOOST_TEST(library() == 0);
  const OnCpu host;
  BOOST_TEST((got == product(a, b)));
}

BOOST_AUTO_TEST_CASE(several_results) {
  const Tensor a = varied({40, 50}), b = varied({50, 60}, float32, 3);
  const auto both = [](const Tensor& l, const Tensor& r) {
    const Tensor y = matmul(l, r), z = y * 2 + r(1), w = astype(y, float16);
    eval(y, z, w);
    return std::vector{bits(y), bits(z), bits(w)};
  };
  const auto got = both(a.to(cuda), b.to(cuda));
  const OnCpu host;
  BOOST_TEST((got == both(a, b)));
}

BOOST_AUTO_TEST_CASE(small_ones_are_our_own) {
  const Calls library("cublasLtMatmul");
  for (int64_t n : {1, 2, 3, 4, 8, 16, 31}) {
    const Tensor a = varied({n, n}), b = varied({n, n}, float32, 3);
    const auto got = bits(matmul(a.to(cuda), b.to(cuda)));
    const OnCpu host;
    BOOST_TEST((got == bits(matmul(a, b))), n);
  }
  BOOST_TEST(library() == 0);
  const Tensor a = varied({32, 32}).to(cuda);
  matmul(a, a).eval();
  BOOST_TEST(library() == 1);
}

BOOST_AUTO_TEST_CASE(integers_are_our_own) {
  const Calls library("cublasLtMatmul");
  for (DType t : {int8, int32, int64, uint16}) {
    const Tensor a = astype(varied({40, 50}) * 50, t), b = astype(varied({50, 60}, float32, 3) * 50, t);
    const auto got = bits(matmul(a.to(cuda), b.to(cuda), int32));
    const OnCpu host;
    BOOST_TEST((got == bits(matmul(a, b, int32))), name_of(t));
  }
  BOOST_TEST(library() == 0);
}

BOOST_AUTO_TEST_CASE(what_the_library_refuses_is_our_own) {
  constexpr int kBlasNotSupported = 15;
  const Tensor a = varied({40, 50}), b = varied({50, 60}, float32, 3);
  const Case plain{"", {}, {}, [](auto& l, auto& r) { return matmul(l, r) + r(0); }};
  const auto wanted = expected(plain, a, b);
  const Tensor l = a.to(cuda), r = b.to(cuda);
  for (const char* call : {"cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"}) {
    BOOST_TEST(Emulated::inject(call, 1, kBlasNotSupported));
    // The size differs each time, since plans are cached.
    const int64_t n = call == std::string("cublasLtMatmul") ? 40 : 39;
    const Tensor part = l(slice(0, n));
    const auto got = bits(plain.product(part, r));
    BOOST_TEST((got == std::vector<uint64_t>(wanted.begin(), wanted.begin() + n * 60)), call);
  }
  constexpr int kExecutionFailed = 13;
  BOOST_TEST(Emulated::inject("cublasLtMatmul", 1, kExecutionFailed));
  const Tensor y = plain.product(l, r);
  const std::string said = thrown<DeviceError>([&] { y.eval(); });
  BOOST_TEST(contains(said, "cublasLtMatmul failed with status 13"), said);
  BOOST_TEST((bits(y) == wanted));
}

BOOST_AUTO_TEST_CASE(sizes_are_arguments) {
  const auto step = [](const Tensor& a, const Tensor& b) { return bits(tanh(matmul(a, b))); };
  (void)step(varied({33, 40}).to(cuda), varied({40, 50}).to(cuda));
  for (int64_t n : {5, 40, 64, 100}) {
    const Tensor a = varied({n, n + 3}), b = varied({n + 3, 2 * n}, float32, 3);
    const uint64_t compiled = metrics().kernels_compiled;
    const auto got = step(a.to(cuda), b.to(cuda));
    BOOST_TEST(metrics().kernels_compiled == compiled, n);
    const OnCpu host;
    BOOST_TEST((got == step(a, b)), n);
  }
}

BOOST_AUTO_TEST_SUITE_END()
