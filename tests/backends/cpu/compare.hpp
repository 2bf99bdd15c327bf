// Runs a kernel on a level of the CPU backend and on the reference, on operands that end at an unreadable
// page, and compares.
#pragma once
#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "backends/cpu/backend.hpp"
#include "backends/reference/backend.hpp"
#include "support/fp16.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/kernel_builder.hpp"

namespace lazy::test {

inline std::vector<cpu_backend::Isa> levels() {
  std::vector<cpu_backend::Isa> v;
  for (cpu_backend::Isa isa : {cpu_backend::Isa::avx2, cpu_backend::Isa::avx512,
                               cpu_backend::Isa::avx512_bf16, cpu_backend::Isa::amx})
    if (isa <= cpu_backend::best_isa()) v.push_back(isa);
  return v;
}
inline jit::Backend& backend_of(cpu_backend::Isa isa) {
  static std::map<cpu_backend::Isa, std::unique_ptr<jit::Backend>> all;
  auto& b = all[isa];
  if (!b) b = cpu_backend::make_backend(isa);
  return *b;
}

/// Holds memory whose last byte is the last that may be touched; the first ones are filled with a pattern.
class Fenced {
 public:
  explicit Fenced(size_t bytes) : bytes_(bytes) {
    const size_t page = 4096;
    mapped_ = (bytes + 2 * page - 1) / page * page + page;
    base_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    data_ = base_ + mapped_ - page - bytes;
    std::memset(base_, 0x5a, static_cast<size_t>(data_ - base_) + bytes);
  }
  Fenced(Fenced&& o) noexcept
      : base_(std::exchange(o.base_, nullptr)), data_(o.data_), mapped_(o.mapped_), bytes_(o.bytes_) {}
  ~Fenced() {
    if (base_) munmap(base_, mapped_);
  }
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool intact_before() const {
    for (const char* p = base_; p < data_; ++p)
      if (*p != 0x5a) return false;
    return true;
  }

 private:
  char* base_;
  char* data_;
  size_t mapped_, bytes_;
};

inline std::mt19937_64& generator() {
  static std::mt19937_64 g = [] {
    const uint64_t seed = lazy::test::asked_seed();
    std::printf("LAZY_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return std::mt19937_64(seed);
  }();
  return g;
}
inline int64_t random_below(int64_t n) {
  return static_cast<int64_t>(generator()() % static_cast<uint64_t>(n));
}

/// Makes one element: mostly ordinary numbers, sometimes the edges of the type.
inline void random_element(DType t, char* to) {
  auto& g = generator();
  const int kind = static_cast<int>(g() % 8);
  const auto put = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  double f = std::normal_distribution<double>(0, kind == 0 ? 1e5 : 3)(g);
  if (kind == 1) f = std::round(f);
  if (kind == 2) {
    const double edges[] = {0.0,
                            -0.0,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            1.0,
                            -1.0,
                            65519.9,
                            65520.0,
                            2147483648.0,
                            -2147483649.0,
                            9223372036854775808.0,
                            18446744073709551616.0,
                            4294967296.0,
                            1e-310,
                            -3e-42,
                            255.5,
                            -128.7,
                            6.1e-5,
                            3e-8,
                            0.5,
                            1e30,
                            1e300};
    f = edges[g() % std::size(edges)];
  }
  uint64_t i = kind < 4 ? g() : g() % 17 - 8;
  if (kind == 3) i = g() >> (g() % 64);
  switch (t) {
    case DType::bool_: return put(static_cast<uint8_t>(g() % 2));
    case DType::float32: return put(static_cast<float>(f));
    case DType::float64: return put(f);
    case DType::float16:
      return put(static_cast<uint16_t>(kind == 3 ? g() & 0x7bff
                                                 : std::bit_cast<uint16_t>(static_cast<_Float16>(f))));
    case DType::bfloat16:
      return put(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(f)) >> 16 |
                                       (std::isnan(f) ? 0x40 : 0)));
    default: std::memcpy(to, &i, size_of(t));
  }
}

inline bool is_nan_at(DType t, const char* p) {
  switch (t) {
    case DType::float32: {
      float v;
      std::memcpy(&v, p, 4);
      return std::isnan(v);
    }
    case DType::float64: {
      double v;
      std::memcpy(&v, p, 8);
      return std::isnan(v);
    }
    case DType::float16: {
      uint16_t v;
      std::memcpy(&v, p, 2);
      return (v & 0x7fff) > 0x7c00;
    }
    case DType::bfloat16: {
      uint16_t v;
      std::memcpy(&v, p, 2);
      return (v & 0x7fff) > 0x7f80;
    }
    default: return false;
  }
}
inline std::string show(DType t, const char* p) {
  switch (t) {
    case DType::float32: {
      float v;
      std::memcpy(&v, p, 4);
      return std::to_string(v);
    }
    case DType::float64: {
      double v;
      std::memcpy(&v, p, 8);
      return std::to_string(v);
    }
    default: break;
  }
  uint64_t v = 0;
  std::memcpy(&v, p, size_of(t));
  char s[32];
  std::snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
  return s;
}

struct Options {
  std::function<void(int operand, char* data, size_t bytes)> fill;  // if empty, elements are random
  std::vector<int64_t> origins;
  double tolerance = 0;    // relative, for floats: approximate ops
  bool backwards = false;  // `any` strides may be negative
  int64_t gap = -1;        // elements between neighbours along `any` strides; -1: a random number of them
};

/// True for products of bfloat16, which tile registers add up in an order of their own (tile_registers.cpp).
inline bool adds_in_blocks(const LoopKernel& k) {
  if (k.form != Form::contract || k.contraction.type != DType::float32) return false;
  const auto is_half = [&](const jit::loop::Side& s) {
    return s.prologue == jit::loop::Prologue::cast && k.body[s.load].type == DType::bfloat16;
  };
  return is_half(k.contraction.left) && is_half(k.contraction.right);
}

/// Describes an operand's memory: bytes, where index 0 lies, strides.
struct Placed {
  std::vector<int64_t> strides;
  int64_t first = 0, bytes = 0;
};
inline Placed place(const Operand& o, const std::vector<int64_t>& extents, const Options& options) {
  Placed p;
  const auto size = static_cast<int64_t>(size_of(o.dtype));
  int64_t span = size;
  p.strides.assign(extents.size(), 0);
  // Goes from the last axis out: rows never overlap, with an odd gap where the stride is free.
  for (size_t a = extents.size(); a-- > 0;) {
    const int64_t n = std::max<int64_t>(extents[a], 1);
    switch (o.stride[a]) {
      case Stride::zero: break;
      case Stride::unit:
        p.strides[a] = size;
        span += (n - 1) * size;
        break;
      case Stride::any: {
        const int64_t step =
            (span + size - 1) / size * size + size * (options.gap < 0 ? random_below(3) : options.gap);
        const bool down = options.backwards && random_below(2);
        p.strides[a] = down ? -step : step;
        if (down) p.first += (n - 1) * step;
        span += (n - 1) * step;
        break;
      }
    }
  }
  p.bytes = span;
  return p;
}

/// Fails the test when any level differs from the reference by a bit (NaNs are equal), or touches what it
/// must not.
inline void compare(const LoopKernel& k, const std::vector<int64_t>& extents, const Options& options = {}) {
  static auto reference = reference::make_backend();
  const auto n = k.operands.size();
  std::vector<Placed> places;
  for (const Operand& o : k.operands) places.push_back(place(o, extents, options));
  std::vector<std::vector<char>> inputs(n);
  for (size_t o = 0; o < n; ++o) {
    inputs[o].resize(static_cast<size_t>(places[o].bytes));
    const size_t size = size_of(k.operands[o].dtype);
    if (k.operands[o].output) std::fill(inputs[o].begin(), inputs[o].end(), 0x33);
    else if (options.fill) options.fill(static_cast<int>(o), inputs[o].data(), inputs[o].size());
    else
      for (size_t at = 0; at + size <= inputs[o].size(); at += size)
        random_element(k.operands[o].dtype, &inputs[o][at]);
  }
  std::vector<uint64_t> scalars;
  for (int s = 0; s < k.scalars; ++s) {
    uint64_t v = 0;
    for (const Instr& i : k.body)
      if (i.code == Code::scalar && i.imm == s) random_element(i.type, reinterpret_cast<char*>(&v));
    if (random_below(2)) v |= 0;  // high bytes are unspecified
    for (const auto& r : k.rolled_loops)
      if (r.trips == s) v = static_cast<uint64_t>(1 + random_below(9));
    scalars.push_back(v);
  }
  const auto run = [&](const jit::Kernel& kernel) {
    std::vector<Fenced> memory;
    Launch launch(k);
    launch.extents(extents);
    for (size_t a = 0; a < options.origins.size(); ++a)
      launch.origin(static_cast<int>(a), options.origins[a]);
    for (size_t o = 0; o < n; ++o) {
      memory.emplace_back(inputs[o].size());
      std::memcpy(memory[o].data(), inputs[o].data(), inputs[o].size());
      launch.operand(static_cast<int>(o), memory[o].data() + places[o].first, places[o].strides);
    }
    for (int s = 0; s < k.scalars; ++s) launch.scalar(s, scalars[static_cast<size_t>(s)]);
    kernel.launch(launch.data());
    return memory;
  };
  const auto wanted = run(*reference->compile(k));
  for (cpu_backend::Isa isa : levels()) {
    if (isa >= cpu_backend::Isa::avx512_bf16 && adds_in_blocks(k)) continue;
    const auto kernel = backend_of(isa).compile(k);
    const auto got = run(*kernel);
    for (size_t o = 0; o < n; ++o) {
      const DType t = k.operands[o].dtype;
      const size_t size = size_of(t);
      if (!got[o].intact_before())
        BOOST_ERROR(std::string(cpu_backend::name_of(isa)) + ": wrote before operand " + std::to_string(o) +
                    "\n" + print(k));
      if (std::memcmp(got[o].data(), wanted[o].data(), got[o].bytes()) == 0) continue;
      for (size_t at = 0; at < got[o].bytes(); at += size) {
        const char *g = got[o].data() + at, *w = wanted[o].data() + at;
        if (std::memcmp(g, w, size) == 0 || (is_nan_at(t, g) && is_nan_at(t, w))) continue;
        if (options.tolerance > 0 && is_float(t)) {
          double x = 0, y = 0;
          if (t == DType::float32) {
            float a, b;
            std::memcpy(&a, g, 4);
            std::memcpy(&b, w, 4);
            x = a, y = b;
          } else {
            std::memcpy(&x, g, 8);
            std::memcpy(&y, w, 8);
          }
          if (std::abs(x - y) <= options.tolerance * std::max(std::abs(y), 1e-300)) continue;
        }
        std::string where;
        for (int64_t e : extents) where += std::to_string(e) + " ";
        BOOST_ERROR(std::string(cpu_backend::name_of(isa)) + ": operand " + std::to_string(o) + " element " +
                    std::to_string(at / size) + " is " + show(t, g) + ", should be " + show(t, w) +
                    "; extents " + where + "\n" + print(k) + kernel->schedule());
        return;
      }
    }
  }
}

}  // namespace lazy::test
