// Makes every guard fail: it is counted, named with both values, and the result is right.
#include <sys/mman.h>

#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using Guard = jit::Guard;

namespace {

/// Runs `f(first)`, then `f(second)`, which a guard of this kind with this text must reject.
template <class F, class T>
void turned_down(Guard::Kind kind, const std::string& text, const T& first, const T& second, F f) {
  f(first).eval();
  const Metrics before = metrics();
  jit::FlushListener listener;
  const Tensor y = f(second);
  y.eval();
  const Metrics after = metrics();
  BOOST_REQUIRE(listener.flushes.size() == 1u);
  BOOST_TEST(!listener.flushes[0].hit);
  BOOST_TEST(contains(listener.flushes[0].miss, text), listener.flushes[0].miss);
  const auto k = static_cast<size_t>(kind);
  BOOST_TEST(after.guard_failures_by_kind[k] > before.guard_failures_by_kind[k]);
  BOOST_TEST(after.guard_failures > before.guard_failures);
  BOOST_TEST(after.program_misses == before.program_misses + 1);
  // The result is right, and now both are served.
  const std::vector<double> fused = y.to_vector<double>();
  {
    const Override eager("LAZY_EAGER", "1");
    const Tensor alone = f(second);
    BOOST_TEST(fused == alone.template to_vector<double>(), boost::test_tools::per_element());
  }
  const uint64_t compiled = metrics().program_misses;
  f(first).eval();
  f(second).eval();
  BOOST_TEST(metrics().program_misses == compiled);
}

struct Memory {
  std::vector<float> data = std::vector<float>(4096);
  Memory() {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  }
  Tensor blob(Shape shape, std::vector<int64_t> strides) {
    return from_blob(data.data(), shape, float32, strides);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(guards, fresh::Fixture)

BOOST_AUTO_TEST_CASE(contiguous) {
  Memory m;
  turned_down(Guard::Kind::contiguous, "guard contiguous: v0 was row-major without gaps, now it is not",
              m.blob({3, 4}, {4, 1}), m.blob({3, 4}, {1, 3}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(unit_stride) {
  Memory m;
  turned_down(Guard::Kind::unit_stride, "along its vector axis: was 1, now 2", m.blob({3, 4}, {9, 1}),
              m.blob({3, 4}, {9, 2}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(a_program_for_strided_memory_does_not_serve_packed_memory) {
  Memory m;
  turned_down(Guard::Kind::unit_stride, "along its vector axis: was not 1, now is", m.blob({3, 4}, {1, 3}),
              m.blob({3, 4}, {4, 1}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(broadcast) {
  Memory m;
  turned_down(Guard::Kind::broadcast, "along its vector axis: was 0, now 2", m.blob({3, 4}, {9, 0}),
              m.blob({3, 4}, {9, 2}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(collapsible) {
  Memory m;
  turned_down(Guard::Kind::collapsible, "were evenly spaced, now they are not", m.blob({3, 4}, {8, 2}),
              m.blob({3, 4}, {11, 2}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(stride_32bit) {
  // Three elements, 1 GiB apart: only their pages exist.
  const int64_t step = int64_t{1} << 28;
  const size_t bytes = 2 * static_cast<size_t>(step) * 4 + 4096;
  void* const map =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    BOOST_TEST_MESSAGE("not enough address space here");
    return;
  }
  auto* const far = static_cast<float*>(map);
  for (int64_t i = 0; i < 3; ++i) far[i * step] = static_cast<float>(i + 1);
  Memory m;
  {
    turned_down(Guard::Kind::stride_32bit, "fitted 32 bits, now they do not", m.blob({3}, {2}),
                from_blob(far, {3}, float32, {step}), [](const Tensor& x) { return x * 2 + 1; });
    const Tensor y = from_blob(far, {3}, float32, {step}) * 10;
    BOOST_TEST(y.to_vector<float>() == (std::vector<float>{10, 20, 30}), boost::test_tools::per_element());
  }
  munmap(map, bytes);
}

BOOST_AUTO_TEST_CASE(extent) {
  const Override how("LAZY_DYNAMIC", "never");
  turned_down(Guard::Kind::extent, "guard extent: dimension 0 of v0: was 5, now 7", numbers({5}),
              numbers({7}), [](const Tensor& x) { return x * 2 + 1; });
}

BOOST_AUTO_TEST_CASE(scalar) {
  const Override how("LAZY_DYNAMIC", "never");
  const Tensor x = numbers({5}, int64);
  turned_down(Guard::Kind::scalar, "guard scalar: bits of constant v1: was 3, now 4", 3, 4,
              [&](int k) { return x * k; });
}

BOOST_AUTO_TEST_CASE(position) {
  const Override how("LAZY_DYNAMIC", "never");
  const Tensor x = numbers({9});
  turned_down(Guard::Kind::position, "start of slice v3 along axis 0: was 1, now 2", 1, 2, [&](int k) {
    const Tensor y = x * 2;
    return y(slice(k, k + 5)) + x(slice(0, 5));
  });
  turned_down(Guard::Kind::position, "step of slice v3 along axis 0: was 1, now 2", 1, 2, [&](int k) {
    const Tensor y = x * 3;
    return y(slice(0, 4 * k, k)) + x(slice(0, 4));
  });
}

BOOST_AUTO_TEST_CASE(a_leaf_with_gaps_is_no_reason_for_a_wrong_reshape) {
  Memory m;
  turned_down(Guard::Kind::contiguous, "guard contiguous", m.blob({4, 6}, {6, 1}), m.blob({4, 6}, {1, 4}),
              [](const Tensor& x) {
                return reshape(x + 0.5, {8, 3}) * 2;
              });
}

BOOST_AUTO_TEST_SUITE_END()
