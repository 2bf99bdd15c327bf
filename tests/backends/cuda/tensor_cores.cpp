// Tests the prelude's functions around tensor cores: fragments as the PTX ISA lays them out, on the emulated
// device, and that all of it assembles.
#include <array>
#include <boost/test/unit_test.hpp>

#include "backends/cuda/emitter/writer.hpp"
#include "support/fp16.hpp"
#include "tests/backends/cuda/direct.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Returns a module with these functions of the prelude before `kernels`.
std::string module(const std::vector<const char*>& functions, const std::string& kernels) {
  cuda_backend::Prelude prelude;
  for (const char* f : functions) prelude.need(f);
  return cuda_backend::module_head(true, true) + prelude.text() + kernels;
}

std::string multiplication(const std::string& type) {
  return module({("mma_" + type).c_str()},
                "struct Args { const u32* a; const u32* b; float* d; };\n"
                "extern \"C\" __global__ void __launch_bounds__(64) multiply(const Args args) {\n"
                "#if defined(LAZY_EMULATED) || __CUDA_ARCH__ >= 800\n"
                "  u32 a[4], b[2];\n"
                "  float d[4];\n"
                "  for (int j = 0; j < 4; ++j) a[j] = args.a[threadIdx.x * 4 + j], d[j] = args.d[threadIdx.x "
                "* 4 + j];\n"
                "  for (int j = 0; j < 2; ++j) b[j] = args.b[threadIdx.x * 2 + j];\n"
                "  mma_" +
                    type +
                    "(d, a, b);\n"
                    "  for (int j = 0; j < 4; ++j) args.d[threadIdx.x * 4 + j] = d[j];\n"
                    "#endif\n"
                    "}\n");
}

std::string loads() {
  return module({"load_matrix_4", "load_matrix_4_turned", "store_shared"}, R"(
struct Args { u32* straight; u32* transposed; };
extern "C" __global__ void __launch_bounds__(64) load(const Args args) {
#if defined(LAZY_EMULATED) || __CUDA_ARCH__ >= 800
  // Element e of row r of a warp's 32 rows is 256 * r + e; rows lie 48 bytes apart, the warps' apart from those.
  __shared__ __align__(16) u16 rows[64 * 24];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (u32 e = 0; e < 8; e += 2) {
    const u32 v = warp * 0x8080u * 0x10001u + ((lane * 256 + e) | (lane * 256 + e + 1) << 16);
    store_shared(shared_address(rows) + (threadIdx.x * 24 + e) * 2, v);
  }
  __syncthreads();
  u32 d[4];
  load_matrix_4(d, shared_address(rows) + threadIdx.x * 48);
  for (int j = 0; j < 4; ++j) args.straight[threadIdx.x * 4 + j] = d[j];
  load_matrix_4_turned(d, shared_address(rows) + threadIdx.x * 48);
  for (int j = 0; j < 4; ++j) args.transposed[threadIdx.x * 4 + j] = d[j];
#endif
}
)");
}

std::string copies() {
  return module({"copy_async_16"}, R"(
struct Args { const u16* from; u16* to; };
extern "C" __global__ void __launch_bounds__(32) copy(const Args args) {
#if defined(LAZY_EMULATED) || __CUDA_ARCH__ >= 800
  __shared__ __align__(16) u16 there[3][256];
  for (u32 stage = 0; stage < 3; ++stage) {
    copy_async_16(shared_address(&there[stage][threadIdx.x * 8]), args.from + stage * 256 + threadIdx.x * 8,
                  threadIdx.x % 9 * 2);
    copies_end();
  }
  copies_wait<1>();
  __syncthreads();
  for (u32 e = threadIdx.x; e < 512; e += 32) args.to[e] = there[e / 256][e % 256];
  copies_wait<0>();
  __syncthreads();
  for (u32 e = threadIdx.x; e < 256; e += 32) args.to[512 + e] = there[2][e];
#endif
}
)");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_tensor_cores)

BOOST_AUTO_TEST_CASE(fragments_lie_as_the_ptx_isa_says) {
  struct Args {
    const uint16_t *a, *b;
    float* d;
  };
  for (const std::string type : {"f16", "bf16"}) {
    const auto bits = [&](int v) {
      const auto f = static_cast<float>(v);
      return type == "f16" ? fp16::float16_bits(f) : fp16::bfloat16_bits(f);
    };
    // Values are integers, so that sums are exact in any order; each warp has others.
    const auto left = [](int warp, int row, int k) { return (row * 7 + k * 3 + warp) % 31 - 15; };
    const auto right = [](int warp, int k, int column) { return (k * 5 + column * 11 + warp * 2) % 29 - 14; };
    std::array<uint16_t, 64 * 8> a{};
    std::array<uint16_t, 64 * 4> b{};
    std::array<float, 64 * 4> d{};
    for (int t = 0; t < 64; ++t) {
      const int warp = t / 32, group = t % 32 / 4, in_group = t % 4;
      const auto of = [&](auto& array, int count, int i) -> auto& {
        return array[static_cast<size_t>(t * count + i)];
      };
      for (int i = 0; i < 8; ++i)
        of(a, 8, i) = bits(left(warp, group + (i / 2 % 2) * 8, in_group * 2 + i % 2 + i / 4 * 8));
      for (int i = 0; i < 4; ++i) of(b, 4, i) = bits(right(warp, in_group * 2 + i % 2 + i / 2 * 8, group));
      for (int i = 0; i < 4; ++i) of(d, 4, i) = static_cast<float>(t + i);
    }
    Args args{a.data(), b.data(), d.data()};
    run_on_emulated_device(multiplication(type), "multiply", 1, 64, &args);
    for (int t = 0; t < 64; ++t)
      for (int i = 0; i < 4; ++i) {
        const int warp = t / 32, row = t % 32 / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
        int sum = t + i;
        for (int k = 0; k < 16; ++k) sum += left(warp, row, k) * right(warp, k, column);
        BOOST_TEST(d[static_cast<size_t>(t * 4 + i)] == static_cast<float>(sum),
                   type << ", thread " << t << ", d" << i);
      }
  }
}

BOOST_AUTO_TEST_CASE(matrices_are_loaded_as_the_ptx_isa_says) {
  struct Args {
    uint32_t *straight, *transposed;
  };
  std::array<uint32_t, 64 * 4> straight{}, transposed{};
  Args args{straight.data(), transposed.data()};
  run_on_emulated_device(loads(), "load", 1, 64, &args);
  for (uint32_t t = 0; t < 64; ++t)
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t lane = t % 32, shift = t / 32 * 0x8080;
      const auto element = [&](uint32_t row, uint32_t e) { return (j * 8 + row) * 256 + e + shift; };
      const uint32_t row = lane / 4, e = lane % 4 * 2;
      BOOST_TEST(straight[t * 4 + j] == (element(row, e) | element(row, e + 1) << 16));
      BOOST_TEST(transposed[t * 4 + j] == (element(e, row) | element(e + 1, row) << 16));
    }
}

BOOST_AUTO_TEST_CASE(copies_are_there_when_they_are_waited_for) {
  struct Args {
    const uint16_t* from;
    uint16_t* to;
  };
  alignas(16) std::array<uint16_t, 768> from{}, to{};
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(i * 77 + 1);
  Args args{from.data(), to.data()};
  run_on_emulated_device(copies(), "copy", 1, 32, &args);
  for (size_t i = 0; i < to.size(); ++i) BOOST_TEST(to[i] == (i % 8 < i / 8 % 32 % 9 ? from[i] : 0), i);
}

BOOST_AUTO_TEST_CASE(they_assemble) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " << no_real_nvrtc());
    return;
  }
  for (const int architecture : {75, 80, 90, 100})
    for (const std::string& text : {multiplication("f16"), multiplication("bf16"), loads(), copies()}) {
      const Compiled c = with_real_nvrtc(text, architecture);
      BOOST_TEST(c.ok, c.log);
    }
}

BOOST_AUTO_TEST_SUITE_END()
