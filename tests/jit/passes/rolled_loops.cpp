// Tests loops recorded iteration by iteration: the same bits as op by op, in code whose size does not depend
// on the number of iterations.
#include <cmath>
#include <cstring>

#include "jit/ir/ir.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::Override;
using fresh::Probe;

namespace {

Tensor some(int64_t n, float low, float step) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = low + step * static_cast<float>(i % 1000);
  return from_span<float>(v);
}

struct Made {
  size_t kernels = 0, rolled_loops = 0, instructions = 0;
};

/// Runs f fused and op by op, compares the bits, and returns the kernels of the fused run.
template <class F>
Made compiled(F f) {
  Made s;
  std::vector<Tensor> fused, alone;
  {
    const Probe::Hooks hooks;
    Probe::instance().on_compile = [&](jit::loop::LoopKernel& k) {
      check(k);
      ++s.kernels;
      s.rolled_loops += k.rolled_loops.size();
      s.instructions += k.body.size();
    };
    fused = f();
    for (const Tensor& t : fused) t.eval();
  }
  const Override eager("LAZY_EAGER", "1");
  alone = f();
  for (size_t i = 0; i < fused.size(); ++i) {
    BOOST_REQUIRE(fused[i].dtype() == alone[i].dtype());
    const auto a = fused[i].astype(float64).template to_vector<double>(),
               b = alone[i].astype(float64).template to_vector<double>();
    BOOST_REQUIRE_EQUAL(a.size(), b.size());
    for (size_t j = 0; j < a.size(); ++j)
      BOOST_REQUIRE_MESSAGE(std::memcmp(&a[j], &b[j], 8) == 0 || (std::isnan(a[j]) && std::isnan(b[j])),
                            "result " << i << ", element " << j << ": " << a[j] << " and " << b[j]);
  }
  return s;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rolled_loops, fresh::Fixture)

BOOST_AUTO_TEST_CASE(code_is_as_long_for_any_number_of_iterations) {
  const Tensor z0 = some(333, -0.7f, 0.001f), c = some(333, -0.5f, 0.0007f);
  size_t instructions = 0;  // of the first loop
  for (const int n : {60, 100, 1000, 5000}) {
    const Made s = compiled([&] {
      Tensor z = z0;
      for (int i = 0; i < n; ++i) z = z * z + c;
      return std::vector<Tensor>{z};
    });
    BOOST_TEST(s.kernels == 1u);
    BOOST_TEST(s.rolled_loops == 1u);
    if (instructions == 0) instructions = s.instructions;
    BOOST_TEST(s.instructions == instructions);
  }
  BOOST_TEST(instructions < 20u);
}

BOOST_AUTO_TEST_CASE(short_loops_stay_straight) {
  const Tensor z0 = some(100, 0, 0.001f);
  const Made s = compiled([&] {
    Tensor z = z0;
    for (int i = 0; i < 10; ++i) z = z * z + z0;
    return std::vector<Tensor>{z};
  });
  BOOST_TEST(s.rolled_loops == 0u);
}

BOOST_AUTO_TEST_CASE(each_iteration_has_its_own_constants) {
  for (const int64_t n : {0, 1, 7, 64, 1000, 40000}) {
    const Tensor x0 = some(n, -1, 0.003f);
    const Made s = compiled([&] {
      Tensor x = x0, y = x0 * 0.5;
      for (int i = 0; i < 50; ++i) {
        x = x * (0.9 + 0.001 * i) + y;
        y = where(x > 0.1 * i, y - 0.01, y * 1.01);
      }
      return std::vector<Tensor>{x, y, x + y};
    });
    if (n > 1) BOOST_TEST(s.rolled_loops == 1u);
  }
}

BOOST_AUTO_TEST_CASE(every_dtype_is_carried) {
  for (const DType t :
       {int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64}) {
    const Tensor x0 = some(200, 1, 0.25f).astype(t), k = (some(200, 0, 1) % 7.0).astype(t);
    x0.eval(), k.eval();
    const Override rounding("LAZY_EXACT_CASTS", is_half(t) ? "on" : "off");  // or op by op rounds more often
    const Made s = compiled([&] {
      Tensor x = x0, y = k;
      for (int i = 0; i < 60; ++i) {
        const Tensor next = x * k + y;
        y = maximum(y, x) - k;
        x = next;
      }
      return std::vector<Tensor>{x, y};
    });
    BOOST_TEST(s.rolled_loops == 1u, name_of(t));
  }
}

BOOST_AUTO_TEST_CASE(masks_are_carried) {
  const Tensor x0 = some(1000, -2, 0.004f);
  const Made s = compiled([&] {
    Tensor alive = x0 > -1.5, x = x0;
    for (int i = 0; i < 40; ++i) {
      x = where(alive, x * x - 0.75, x);
      alive = alive & (abs(x) < 1.2);
    }
    return std::vector<Tensor>{x, alive};
  });
  BOOST_TEST(s.rolled_loops == 1u);
}

// The first op reads another dtype, although ops and results are the same: it is not part of the loop.
BOOST_AUTO_TEST_CASE(the_first_iteration_reads_another_dtype) {
  const Tensor y = some(500, 0.5f, 0.001f), z = some(500, -0.5f, 0.002f);
  for (const DType first : {float64, float16}) {
    const Made s = compiled([&] {
      Tensor x = (y + z).astype(first);
      for (int i = 0; i < 70; ++i) x = where(isfinite(x), y, z);
      return std::vector<Tensor>{x};
    });
    BOOST_TEST(s.kernels == 1u);
  }
}

BOOST_AUTO_TEST_CASE(values_from_two_iterations_before) {
  const Tensor a = some(500, 0, 0.001f), b = some(500, 0.3f, -0.0002f);
  const Made s = compiled([&] {
    Tensor before = a, now = b;
    for (int i = 0; i < 101; ++i) {
      const Tensor next = now * 1.99 - before * b;
      before = now;
      now = next;
    }
    return std::vector<Tensor>{now, before};
  });
  BOOST_TEST(s.rolled_loops == 1u);
  BOOST_TEST(s.instructions < 60u);
}

BOOST_AUTO_TEST_CASE(swapped_values) {
  const Tensor a = some(300, 0, 0.001f), b = some(300, 0.3f, -0.0002f);
  compiled([&] {
    Tensor x = a, y = b;
    for (int i = 0; i < 64; ++i) {
      const Tensor t = y * 0.999;
      y = x + b * 0.5;
      x = t;
    }
    return std::vector<Tensor>{x, y};
  });
}

BOOST_AUTO_TEST_CASE(values_that_are_kept_end_a_loop) {
  const Tensor z0 = some(100, 0, 0.001f), c = some(100, 0.1f, 0);
  compiled([&] {
    std::vector<Tensor> all;
    Tensor z = z0;
    for (int i = 0; i < 60; ++i) all.push_back(z = z * z + c);  // each value is read
    return all;
  });
  const Made some_kept = compiled([&] {
    std::vector<Tensor> all;
    Tensor z = z0;
    for (int i = 0; i < 200; ++i) {
      z = z * z + c;
      if (i % 100 == 99) all.push_back(z);
    }
    return all;
  });
  BOOST_TEST(some_kept.rolled_loops >= 1u);
}

BOOST_AUTO_TEST_CASE(loops_among_other_kernels) {
  const Tensor x = some(6000, -1, 0.0004f);
  const Made s = compiled([&] {
    const Tensor m = reshape(x, {60, 100});
    Tensor z = exp(m * 0.1), w = sum(m, {1}, keepdims);
    for (int i = 0; i < 60; ++i) z = z * 0.5 + w;  // w is broadcast
    Tensor v = w;
    for (int i = 0; i < 60; ++i) v = v * 0.5 + 0.25;  // it follows a reduction
    const Tensor total = sum(z + v, {0});
    const Tensor turned = permute_dims(m, {1, 0});
    Tensor u = permute_dims(z, {1, 0});
    for (int i = 0; i < 60; ++i) u = sqrt(abs(u)) + turned;
    return std::vector<Tensor>{total, u, sin(v), matmul(z, turned)};
  });
  BOOST_TEST(s.rolled_loops == 3u);
}

BOOST_AUTO_TEST_CASE(two_loops_one_after_the_other) {
  const Tensor x = some(777, -1, 0.002f);
  const Made s = compiled([&] {
    Tensor z = x;
    for (int i = 0; i < 100; ++i) z = z * z - 0.6;
    for (int i = 0; i < 100; ++i) z = (z + x) * 0.5;
    return std::vector<Tensor>{tanh(z)};
  });
  BOOST_TEST(s.kernels == 1u);
  BOOST_TEST(s.rolled_loops == 2u);
}

// A reduction stores values on its way along the rows, but has no rolled loops itself.
BOOST_AUTO_TEST_CASE(results_that_are_kept_and_reduced) {
  const Tensor x = some(4096, 0.5f, 1e-4f);
  const auto loop = [&](Tensor y) {
    for (int i = 0; i < 100; ++i) y = i % 7 < 3 ? y * 0.5 : y + x;
    return y;
  };
  const Made before = compiled([&] {
    const Tensor y = loop(x), named = y * 2;
    return std::vector<Tensor>{sum(named * y), named};
  });
  BOOST_TEST(before.rolled_loops > 0u);
  const Made after = compiled([&] {
    const Tensor a = x * x, s = sum(a);
    return std::vector<Tensor>{s, a, loop(x * 3), sum(loop(a))};
  });
  BOOST_TEST(after.rolled_loops > 0u);
}

BOOST_AUTO_TEST_CASE(loops_within_loops) {
  const Tensor x = some(500, -1, 0.003f);
  compiled([&] {
    Tensor z = x;
    for (int i = 0; i < 30; ++i) {
      for (int k = 0; k < 6; ++k) z = z * 0.75 + x;
      z = where(z > 0.5, z - 1, z);
    }
    return std::vector<Tensor>{z};
  });
}

BOOST_AUTO_TEST_CASE(elementary_functions_in_a_loop) {
  const Tensor x = some(1000, -1, 0.002f);
  const Made s = compiled([&] {
    Tensor z = x;
    for (int i = 0; i < 40; ++i) z = exp(-(z * z)) + sin(z) * x;
    return std::vector<Tensor>{z};
  });
  BOOST_TEST(s.rolled_loops == 1u);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_comes_again_once) {
  // Twice the distance of the two, which is tried as well, is longer than the graph.
  const auto sequence = [](Tensor x, uint32_t seed, int length) {
    for (int i = 0; i < length; ++i) {
      seed = seed * 1664525 + 1013904223;
      switch (seed >> 29) {
        case 0: x = sin(x); break;
        case 1: x = cos(x); break;
        case 2: x = tanh(x); break;
        case 3: x = atan(x); break;
        case 4: x = abs(x); break;
        case 5: x = erf(x); break;
        case 6: x = -x; break;
        case 7: x = x * x; break;
      }
    }
    return x;
  };
  const Tensor x = some(100, 0.1f, 0.01f);
  compiled([&] { return std::vector<Tensor>{sequence(sequence(sequence(x, 1, 150), 2, 40), 1, 150)}; });
}

BOOST_AUTO_TEST_SUITE_END()
