// Holds the functions that tensor cores are fed with, for sm_80 and later: below, these functions do not
// exist. Fragments lie over a warp's lanes as the PTX ISA says; the emulated forms match that exactly, so
// wrong indices in a kernel show as wrong results there too.
#include "backends/cuda/emitter/prelude.hpp"
#include "backends/cuda/emitter/text.hpp"

namespace lazy::cuda_backend {
namespace {

/// Holds the text of one multiplication: `$t` is f16 or bf16.
const char* const kMultiply =
    R"(// d += a * b, of 16 rows, 16 steps and 8 columns. Lane l has of d: rows l / 4 and 8 further, columns l % 4 * 2
// and the next; of a: those rows, steps l % 4 * 2 and the next, then 8 further; of b: column l / 4, such steps.
#ifdef LAZY_EMULATED
static __device__ void mma_$t(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  static u32 as[32][32][4], bs[32][32][2];  // of all warps of the block that runs
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int j = 0; j < 4; ++j) as[warp][lane][j] = a[j];
  for (int j = 0; j < 2; ++j) bs[warp][lane][j] = b[j];
  __syncwarp();
  for (u32 j = 0; j < 4; ++j)
    for (u32 k = 0; k < 16; ++k) {
      const u32 row = lane / 4 * 4, column = (lane % 4 * 2 + j % 2) * 4, quad = k % 8 / 2, shift = k % 2 * 16;
      const $t left = {(u16)(as[warp][row + quad][k / 8 * 2 + j / 2] >> shift)};
      const $t right = {(u16)(bs[warp][column + quad][k / 8] >> shift)};
      d[j] = fmaf(f32_of_$t(left), f32_of_$t(right), d[j]);
    }
  __syncwarp();
}
#elif __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void mma_$t(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.$t.$t.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
)";

/// Holds the text of a load of matrices: `$n` is the function's name, `$m` the instruction's modifier, `$e`
/// how the emulated form finds two elements.
const char* const kLoadMatrix = R"(#ifdef LAZY_EMULATED
static __device__ void $n(u32 (&d)[4], Shared row) {
  const u32 lane = threadIdx.x % 32;
  for (u32 j = 0; j < 4; ++j) {
    const u16* at[8];  // the rows of matrix j
    for (u32 r = 0; r < 8; ++r) at[r] = (const u16*)__shfl_sync(0xffffffffu, (u64)row, (int)(j * 8 + r));
    d[j] = $e;
    for (u32 r = 0; r < 8; ++r)
      if ((u64)at[r] % 16) d[j] = 0xa5a5a5a5u;  // a device refuses such an address
  }
}
#elif __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void $n(u32 (&d)[4], Shared row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4$m.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(row)
               : "memory");
}
#endif
)";

/// `$t` is f16 or bf16.
const char* const kTwo = R"(// Both rounded; the first has the low bits.
#ifdef LAZY_EMULATED
static __device__ u32 two_$t(float first, float second) {
  return $t_of_f32(first).bits | (u32)$t_of_f32(second).bits << 16;
}
#elif __CUDA_ARCH__ >= 800
static __device__ __forceinline__ u32 two_$t(float first, float second) {
  u32 both;
  asm("cvt.rn.$tx2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}
#endif
)";
std::string two(const char* type) { return replaced(kTwo, "$t", type); }
std::string multiply(const char* type) { return replaced(kMultiply, "$t", type); }
std::string load_matrix(const char* name, const char* modifier, const char* elements) {
  return replaced(replaced(replaced(kLoadMatrix, "$n", name), "$m", modifier), "$e", elements);
}

}  // namespace

std::vector<Snippet> tensor_core_snippets() {
  return {
      {"Shared", "", R"(// An address in shared memory; bytes are added to it.
#ifdef LAZY_EMULATED
typedef char* Shared;
static __device__ __forceinline__ Shared shared_address(void* p) { return (char*)p; }
#else
typedef u32 Shared;
static __device__ __forceinline__ Shared shared_address(void* p) { return (u32)__cvta_generic_to_shared(p); }
#endif
)"},
      {"store_shared", "Shared", R"(#ifdef LAZY_EMULATED
static __device__ __forceinline__ void store_shared(Shared to, u32 v) { *(u32*)to = v; }
#else
static __device__ __forceinline__ void store_shared(Shared to, u32 v) {
  asm volatile("st.shared.b32 [%0], %1;" : : "r"(to), "r"(v) : "memory");
}
#endif
)"},
      {"mma_f16", "f32_of_f16", multiply("f16")},
      {"mma_bf16", "f32_of_bf16", multiply("bf16")},
      {"two_f16", "f16_of_f32", two("f16")},
      {"two_bf16", "bf16_of_f32", two("bf16")},
      {"exp2_approx", "", R"(// 2^x, to some 2 units in the last place; of denormal results 0.
#ifdef LAZY_EMULATED
static __device__ __forceinline__ float exp2_approx(float x) { return exp2f(x); }
#else
static __device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif
)"},
      {"load_matrix_4", "Shared",
       "// Four matrices of 8 rows of 16 bytes, whose addresses lanes 0-7, 8-15, 16-23 and 24-31 have. Lane "
       "l "
       "gets of each\n// row l / 4, 16-bit elements l % 4 * 2 and the next.\n" +
           load_matrix("load_matrix_4", "", "*(const u32*)(at[lane / 4] + lane % 4 * 2)")},
      {"load_matrix_4_turned", "Shared",
       "// Likewise, but lane l gets of each column l / 4, rows l % 4 * 2 and the next.\n" +
           load_matrix("load_matrix_4_turned", ".trans",
                       "at[lane % 4 * 2][lane / 4] | (u32)at[lane % 4 * 2 + 1][lane / 4] << 16")},
      {"load_matrix_4_either", "load_matrix_4 load_matrix_4_turned",
       R"(// Both, the latter if `turned`, as it is for all of a warp.
#ifdef LAZY_EMULATED
static __device__ void load_matrix_4_either(u32 (&d)[4], Shared row, bool turned) {
  if (turned) {
    load_matrix_4_turned(d, row);
  } else {
    load_matrix_4(d, row);
  }
}
#elif __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void load_matrix_4_either(u32 (&d)[4], Shared row, bool turned) {
  asm volatile(
      "{\n"
      ".reg .pred turned;\n"
      "setp.ne.u32 turned, %5, 0;\n"
      "@turned ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
      "@!turned ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(row), "r"((u32)turned)
      : "memory");
}
#endif
)"},
      {"copy_async_16", "Shared",
       R"(// 16 bytes from global to shared memory, both aligned; those from `bytes` on are 0. A thread's copies up to its
// n-th last copies_end() are there after copies_wait<n>() and a barrier, no sooner.
#ifdef LAZY_EMULATED
struct Copies {
  struct { char* to; const char* from; u32 bytes; } of[64];
  u32 count, groups, end[16];
};
static Copies copies_of[1024];
static __device__ void copy_async_16(Shared to, const void* from, u32 bytes) {
  Copies& c = copies_of[threadIdx.x];
  const bool is_aligned = ((u64)to | (u64)from) % 16 == 0;  // a device refuses others
  c.of[c.count++] = {to, (const char*)from, is_aligned ? bytes : ~0u};
}
static __device__ void copies_end() {
  Copies& c = copies_of[threadIdx.x];
  c.end[c.groups++] = c.count;
}
template <int n>
static __device__ void copies_wait() {
  Copies& c = copies_of[threadIdx.x];
  if (c.groups <= n) return;
  const u32 done = c.groups - n, first = c.end[done - 1];
  for (u32 i = 0; i < first; ++i)
    for (u32 b = 0; b < 16; ++b)
      c.of[i].to[b] = c.of[i].bytes == ~0u ? (char)0xa5 : b < c.of[i].bytes ? c.of[i].from[b] : 0;
  for (u32 i = first; i < c.count; ++i) c.of[i - first] = c.of[i];
  for (u32 i = done; i < c.groups; ++i) c.end[i - done] = c.end[i] - first;
  c.count -= first;
  c.groups = n;
}
#elif __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void copy_async_16(Shared to, const void* from, u32 bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void copies_end() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int n>
static __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory");
}
#endif
)"},
  };
}

}  // namespace lazy::cuda_backend
