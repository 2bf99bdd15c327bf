// Tests memory taken over in place, and what happens when there is none or a kernel can't be built.
#include <map>

#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Probe;

namespace {

/// Returns the bytes that running `f` took over from its inputs.
template <class F>
uint64_t donated(F&& f) {
  const uint64_t before = metrics().bytes_donated;
  f();
  return metrics().bytes_donated - before;
}
std::vector<float> ramp(int64_t n, float scale = 1, float offset = 0) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i + 1) * scale + offset;
  return v;
}
void is(const Tensor& x, const std::vector<float>& expected) {
  BOOST_TEST(x.to_vector<float>() == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(donation, fresh::Fixture)

BOOST_AUTO_TEST_CASE(an_input_that_nobody_else_has_is_reused) {
  Tensor x = numbers({1000});
  BOOST_TEST(donated([&] {
               x = x + 1;
               x.eval();
             }) == 4000u);
  is(x, ramp(1000, 1, 1));
  const uint64_t live = metrics().bytes_live;
  for (int i = 0; i < 10; ++i) {
    x = x + 1;
    x.eval();
  }
  BOOST_TEST(metrics().bytes_live == live);
  is(x, ramp(1000, 1, 11));
}

// The update of a weight is computed by the product that makes its gradient, and written over the weight; so
// is one of a weight that the product before read transposed, a view that is an input of its own.
BOOST_AUTO_TEST_CASE(what_a_product_updates_is_updated_in_place) {
  constexpr int64_t n = 160;
  constexpr uint64_t bytes = n * n * sizeof(float);
  const Tensor x = (reshape(numbers({n * n}), {n, n}) % 7 - 3).eval();
  for (const bool transposed : {false, true}) {
    const auto step = [&](const Tensor& w, Tensor& m) {
      const Tensor h = matmul(x, transposed ? w.T() : w);
      const Tensor g = transposed ? matmul(h.T(), x) : matmul(x.T(), h);
      m = m * 0.5f + g;
      return w - m * 0.25f;
    };
    Tensor w = (x % 2).eval(), m = (x % 3).eval(), same_m = (m + 0).eval();
    const Tensor before = (w + 0).eval();
    const std::vector<float> expected = step(before, same_m).to_vector<float>();
    const uint64_t peak = metrics().bytes_live;
    BOOST_TEST(donated([&] {
                 w = step(w, m);
                 eval(w, m);
               }) == 2 * bytes);
    BOOST_TEST(metrics().bytes_live == peak);
    is(w, expected);
    is(m, same_m.to_vector<float>());
  }
}

// A sum reads the weight itself at other indices than that at which the product stores it.
BOOST_AUTO_TEST_CASE(what_a_product_reads_elsewhere_stays) {
  const Tensor x = (reshape(numbers({160 * 160}), {160, 160}) % 5 - 2).eval();
  Tensor w = (x % 3).eval();
  const std::vector<float> expected = (w + matmul(x, w)).to_vector<float>(),
                           row = (w + sum(w, {0}, keepdims)).to_vector<float>(),
                           flipped = (flip(w, {0}) + matmul(x, x)).to_vector<float>();
  const auto again = [&](const std::vector<float>& values, auto&& f) {
    Tensor v = (w + 0).eval();
    BOOST_TEST(donated([&] {
                 v = f(v);
                 v.eval();
               }) <= 160 * 160 * 4u);
    is(v, values);
  };
  again(expected, [&](const Tensor& v) { return v + matmul(x, v); });
  again(row, [&](const Tensor& v) { return v + sum(v, {0}, keepdims); });
  again(flipped, [&](const Tensor& v) { return flip(v, {0}) + matmul(x, x); });
}

// Indices are looked at before the row is written, so the buffer isn't copied because they might be out of
// range; if one is, everything is as it was.
BOOST_AUTO_TEST_CASE(a_row_is_written_in_place_although_rows_are_gathered) {
  Tensor x = reshape(numbers({1 << 16}), {1 << 13, 8}).eval();
  const Tensor at = tensor({5, 3, -1}).eval(), row = full({8}, -1.0f).eval();
  constexpr uint64_t bytes = (1 << 16) * sizeof(float);
  BOOST_TEST(donated([&] {
               x(3) = row;
               is(sum(x(at), {1}), {356, -8, 8 * 65536 - 28});
             }) == bytes);
  const std::vector<float> before = x.to_vector<float>();
  const Tensor bad = tensor({5, 1 << 13}).eval();
  const Tensor old = x;
  x(4) = row;
  BOOST_CHECK_THROW(sum(x(bad)).eval(), IndexError);
  is(old, before);
  std::vector<float> after = before;
  std::fill(after.begin() + 32, after.begin() + 40, -1.0f);
  is(x, after);
  // Indices that the flush computes itself, before the row is written and after.
  for (const bool later : {false, true}) {
    Tensor y = (x + 0).eval();
    BOOST_TEST(donated([&] {
                 const Tensor first = argmax(at * 2);
                 y(7) = row + (first * 0).astype(float32);
                 const Tensor second = (sum(y(slice(0, 8))) % 8).astype(int64);
                 eval(sum(y(later ? second : first)), y);
               }) == (later ? 0 : bytes));
    std::vector<float> seven = after;
    std::fill(seven.begin() + 56, seven.begin() + 64, -1.0f);
    is(y, seven);
  }
}

// A constant that was evaluated has memory: parts of it are taken from there.
BOOST_AUTO_TEST_CASE(an_evaluated_constant_is_not_made_again) {
  Tensor x = zeros({1 << 13, 8});
  x.eval();
  const Tensor at = tensor({5, 3}).eval();
  const uint64_t peak = metrics().bytes_live;
  reset_metrics();
  is(sum(x(at), {1}), {0, 0});
  BOOST_TEST(metrics().bytes_peak < peak + 4096);
  BOOST_TEST(donated([&] {
               x(3) = 1;
               x.eval();
             }) == (1 << 16) * sizeof(float));
  is(sum(x(at), {1}), {0, 8});
}

BOOST_AUTO_TEST_CASE(a_slice_is_written_in_place) {
  Tensor x = numbers({1000});
  const uint64_t launches = metrics().launches;
  BOOST_TEST(donated([&] {
               x(slice(10, 20)) = 0;
               x.eval();
             }) == 4000u);
  BOOST_TEST(metrics().launches == launches + 1);
  std::vector<float> expected = ramp(1000);
  std::fill(expected.begin() + 10, expected.begin() + 20, 0.0f);
  is(x, expected);
}

// The program is the same whoever has a handle: each run takes over what it may.
BOOST_AUTO_TEST_CASE(another_input_is_reused_where_the_first_has_a_handle) {
  for (int held = 0; held < 8; ++held) {
    Tensor a = numbers({1000}), b = numbers({1000}), c = numbers({1000});
    std::vector<Tensor> others;
    if (held & 1) others.push_back(a);
    if (held & 2) others.push_back(b);
    if (held & 4) others.push_back(c);
    const uint64_t misses = metrics().program_misses;
    const size_t free = 3 - others.size();
    BOOST_TEST(donated([&] {
                 const Tensor sum = a + b + c, product = a * b - c;
                 a = sum, b = product, c = {};
                 eval(a, b);
               }) == 4000u * std::min<size_t>(2, free));
    if (held > 0) BOOST_TEST(metrics().program_misses == misses);
    is(a, ramp(1000, 3));
    std::vector<float> expected = ramp(1000);
    for (float& x : expected) x = x * x - x;
    is(b, expected);
    for (const Tensor& x : others) is(x, ramp(1000));
  }
}

BOOST_AUTO_TEST_CASE(not_while_another_handle_can_see_it) {
  Tensor x = numbers({100});
  const Tensor other = x;
  BOOST_TEST(donated([&] {
               x = x + 1;
               x.eval();
             }) == 0u);
  is(other, ramp(100));
  Tensor y = other;
  BOOST_TEST(donated([&] {
               y(0) = 50;
               y.eval();
             }) == 0u);
  is(other, ramp(100));
}

BOOST_AUTO_TEST_CASE(not_while_a_view_can_see_it) {
  Tensor x = numbers({100});
  const Tensor view = Tensor(x(slice(0, 5)));
  BOOST_TEST(donated([&] {
               x = x * 10;
               x.eval();
             }) == 0u);
  is(view, ramp(5));
}

BOOST_AUTO_TEST_CASE(not_the_users_memory) {
  std::vector<float> mine = ramp(100);
  Tensor x = from_blob(mine.data(), {100});
  BOOST_TEST(donated([&] {
               x = x * 10;
               x.eval();
             }) == 0u);
  Tensor y = from_blob(mine.data(), {100});
  y(3) = 0;
  y.eval();
  BOOST_TEST(mine == ramp(100), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(not_while_another_pending_graph_needs_it) {
  Tensor x = numbers({100});
  const Tensor later = x * 2;  // shares only a value with later code
  BOOST_TEST(donated([&] {
               x = x + 1;
               x.eval();
             }) == 0u);
  is(later, ramp(100, 2));
  is(x, ramp(100, 1, 1));
}

BOOST_AUTO_TEST_CASE(not_where_other_elements_are_still_read) {
  Tensor x = numbers({100});
  x = x + flip(x);
  is(x, std::vector<float>(100, 101));
  Tensor y = numbers({10, 10});
  y = y + permute(y, {1, 0});
  BOOST_TEST(y.to_vector<float>()[1] == 13);
  BOOST_TEST(y.to_vector<float>()[10] == 13);
  Tensor z = numbers({100});
  z(slice(1, none)) = z(slice(none, -1)) * 2;
  std::vector<float> shifted = ramp(100, 2, -2);
  shifted[0] = 1;
  is(z, shifted);
}

BOOST_AUTO_TEST_CASE(not_before_a_later_kernel_has_read_it) {
  Tensor x = numbers({100});
  Tensor y = x + 1;
  Tensor total = sum(x * 2) + cumsum(x, {0});
  x = Tensor();
  eval(y, total);
  is(y, ramp(100, 1, 1));
  BOOST_TEST(total.to_vector<float>()[0] == 10101);
}

BOOST_AUTO_TEST_CASE(in_place_again_and_again_like_a_stencil) {
  Tensor u = numbers({64});
  std::vector<double> expected(64);
  for (size_t i = 0; i < 64; ++i) expected[i] = static_cast<double>(i + 1);
  u = astype(u, float64);
  for (int step = 0; step < 20; ++step) {
    u(slice(1, -1)) = (u(slice(2, none)) + u(slice(none, -2))) * 0.5;
    const std::vector<double> old = expected;
    for (size_t i = 1; i < 63; ++i) expected[i] = (old[i + 1] + old[i - 1]) * 0.5;
    if (step % 3 == 0) u.eval();
  }
  BOOST_TEST(u.to_vector<double>() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(failures, fresh::Fixture)

namespace {
struct NoMemory : Error {
  using Error::Error;
};
}  // namespace

// Memory ends at each allocation in turn, with several kernels, an input that could be taken over, and stored
// values.
BOOST_AUTO_TEST_CASE(an_allocation_that_fails_can_be_tried_again) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  int failed = 0;
  for (int allowed = 0; allowed < 20; ++allowed) {
    Tensor x = numbers({50});
    Tensor y = x + 1;
    Tensor z = cumsum(y * 2, {0});
    Tensor w = sum(z) + flip(z);
    x = Tensor();
    z = Tensor();
    int left = allowed;
    probe.on_allocate = [&](size_t) {
      if (left-- == 0) throw NoMemory("no memory");
    };
    bool threw = false;
    const uint64_t flushed = metrics().flushes;
    try {
      w.eval();
    } catch (const NoMemory&) { threw = true; }
    probe.on_allocate = nullptr;
    if (threw) {
      ++failed;
      BOOST_TEST(metrics().flushes == flushed);
      BOOST_TEST(!w.handle()->ready());
      BOOST_TEST(!y.handle()->ready());
    }
    is(y, ramp(50, 1, 1));
    float total = 0, running = 0;
    std::vector<float> sums;
    for (int i = 1; i <= 50; ++i) sums.push_back(running += static_cast<float>(i + 1) * 2);
    for (float s : sums) total += s;
    for (float& s : sums) s += total;
    std::reverse(sums.begin(), sums.end());
    is(w, sums);
    if (!threw) break;
  }
  BOOST_TEST(failed >= 2);
}

// An input whose memory was taken over is gone when a later kernel fails: each read throws, and none gives a
// wrong value.
BOOST_AUTO_TEST_CASE(a_launch_that_fails_after_a_donation) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  cache::clear();
  Tensor x = numbers({500});
  const Tensor other = (x + 5).eval();
  x = (x * 2).eval();      // in the library's memory
  const Tensor y = x + 1;  // by a kernel that is compiled already, into x's memory
  const Tensor z = cumsum(y, {0});
  x = Tensor();
  probe.on_launch = [] { throw NoMemory("no memory"); };
  BOOST_CHECK_THROW(z.eval(), NoMemory);
  probe.on_launch = nullptr;
  for (const Tensor& lost : {y, z})
    BOOST_CHECK_EXCEPTION(lost.eval(), Error, [](const Error& e) {
      return std::string(e.what()).find("was overwritten by an earlier run") != std::string::npos;
    });
  is(other * 2, ramp(500, 2, 10));
}

BOOST_AUTO_TEST_CASE(a_kernel_that_cannot_be_built_can_be_tried_again) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  const Tensor x = numbers({50});
  Tensor kept = numbers({50});
  cache::clear();
  Tensor y = kept * 3 + x;
  kept = Tensor();
  int builds = 0;
  probe.on_compile = [&](jit::loop::LoopKernel&) {
    if (builds++ < 2) throw CompileError("no kernel today");
  };
  BOOST_CHECK_THROW(y.eval(), CompileError);
  BOOST_TEST(!y.handle()->ready());
  BOOST_CHECK_THROW(y.to_vector<float>(), CompileError);
  is(y, ramp(50, 4));
  BOOST_TEST(builds == 3);
}

BOOST_AUTO_TEST_CASE(the_graph_goes_on_after_a_failure) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  const Tensor x = numbers({50});
  const Tensor a = x + 1, b = a * 2;
  probe.on_allocate = [](size_t) { throw NoMemory("no memory"); };
  BOOST_CHECK_THROW(a.eval(), NoMemory);
  probe.on_allocate = nullptr;
  const Tensor c = a + b;
  { const Tensor dropped = c * c; }
  jit::FlushListener listener;
  is(c, ramp(50, 3, 3));
  BOOST_TEST(b.handle()->ready());  // one component, before and after
  BOOST_TEST(listener.flushes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_op_under_eager_throws_at_once) {
  const Probe::Hooks hooks;
  Probe& probe = Probe::instance();
  Tensor x = numbers({50});
  const fresh::Override eager("LAZY_EAGER", "1");
  probe.on_allocate = [](size_t) { throw NoMemory("no memory"); };
  BOOST_CHECK_THROW(x + 1, NoMemory);
  BOOST_CHECK_THROW(x = x * 2, NoMemory);
  probe.on_allocate = nullptr;
  is(x, ramp(50));
}

BOOST_AUTO_TEST_SUITE_END()
