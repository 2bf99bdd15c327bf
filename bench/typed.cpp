// Rows of other dtypes, and of attention with heads of all sizes and with a cache of keys.
#include <array>
#include <string>

#include "rows.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

struct Named {
  const char* name;
  DType dtype;
};
constexpr std::array<Named, 3> kFloats{{{"f64", float64}, {"bf16", bfloat16}, {"f16", float16}}};
constexpr std::array<Named, 3> kIntegers{{{"int8", int8}, {"int32", int32}, {"int64", int64}}};

void add_floats() {
  for (const auto& [name, dtype] : kFloats) {
    const auto like = [t = dtype](ShapeArg shape) { return random_tensor(t, shape); };
    for (const int64_t n : {100000, 1000000}) {
      const auto four = [n, like](auto f) {
        return [n, like, f]() -> Timed {
          return [a = like({n}), b = like({n}), c = like({n}), d = like({n}), f] {
            return f(a, b, c, d).eval();
          };
        };
      };
      add(std::string("fused_chain_") + name, std::to_string(n), four(fused_chain));
      add(std::string("arith_chain_") + name, std::to_string(n), four(arith_chain));
    }
    add(std::string("softmax_") + name, "1024x1024", [like] {
      return [x = like({1024, 1024})] { return softmax(x).eval(); };
    });
    add(std::string("layernorm_") + name, "4096x768", [like] {
      return [x = like({4096, 768}), w = like({768}), b = like({768})] { return layernorm(x, w, b).eval(); };
    });
    add(std::string("sum_") + name, "4096x1024", [like] {
      return [x = like({4096, 1024})] { return sum(x, {1}).eval(); };
    });
  }
}

void add_integers() {
  for (const auto& [name, dtype] : kIntegers) {
    const auto like = [t = dtype](ShapeArg shape) { return random_tensor(t, shape, -5, 5); };
    // Sums and products wrap around; nothing here does.
    add(std::string("polynomial_") + name, "1000000", [like] {
      return [a = like({1000000}), b = like({1000000})] { return ((a * b + a) * 2 - b).eval(); };
    });
    add(std::string("sum_") + name, "4096x1024", [like] {
      return [x = like({4096, 1024})] { return sum(x, {1}).eval(); };
    });
    add(std::string("max_") + name, "4096x1024", [like] {
      return [x = like({4096, 1024})] { return max(x, {1}).eval(); };
    });
  }
  add("matmul_int32", "256", [] {
    return [a = random_tensor(int32, {256, 256}, -5, 5), b = random_tensor(int32, {256, 256}, -5, 5)] {
      return matmul(a, b).eval();
    };
  });
}

void add_bools() {
  const auto two = [](auto f) {
    return [f]() -> Timed {
      return [a = random_tensor({1000000}), b = random_tensor({1000000}), f] { return f(a, b).eval(); };
    };
  };
  add("mask_bool", "1000000", two([](const Tensor& a, const Tensor& b) { return (a > 0) & (b < a); }));
  add("where_bool", "1000000", two([](const Tensor& a, const Tensor& b) { return where(a > b, a, b * 2); }));
  add("count_bool", "1000000", two([](const Tensor& a, const Tensor& b) { return sum(a > b); }));
}

/// Adds attention: `length` queries of each head against as many keys, or one against a cache of them.
void add_heads() {
  for (const int64_t size : {32, 64, 80, 128, 256})
    for (const bool causal : {false, true})
      add(causal ? "attention_causal" : "attention", "8x512x" + std::to_string(size), [size, causal] {
        const Shape shape{1, 8, 512, size};
        return [q = random_tensor(shape), k = random_tensor(shape), v = random_tensor(shape), causal] {
          return scaled_dot_product_attention(q, k, v, {}, causal).eval();
        };
      });
  for (const int64_t keys : {1024, 4096})
    add("attention_decode", "32x" + std::to_string(keys) + "x128", [keys] {
      const Shape cache{1, 32, keys, 128};
      return [q = random_tensor({1, 32, 1, 128}), k = random_tensor(cache), v = random_tensor(cache)] {
        return scaled_dot_product_attention(q, k, v).eval();
      };
    });
}

}  // namespace

void add_typed() {
  add_floats();
  add_integers();
  add_bools();
  add_heads();
}

}  // namespace bench
