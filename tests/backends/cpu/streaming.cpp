// Tests stores that bypass the caches, the machine's figures, and whose threads launches use.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "backends/cpu/kernel.hpp"
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/config.hpp"
#include "tests/common/kernel_builder.hpp"

using namespace lazy;
using namespace lazy::test;
using jit::loop::ArgLayout;

namespace {

/// Computes x + index of the row, over rows of `columns` elements that lie `pitch` elements apart.
template <class T>
struct Rows {
  static constexpr DType kType = sizeof(T) == 8 ? float64 : float32;
  KernelBuilder builder{Form::map, 2};
  int64_t rows, columns, pitch;
  cpu_backend::Scratch in, out;
  std::vector<uint64_t> words;
  size_t shift;

  Rows(int64_t r, int64_t c, int64_t p, size_t bytes_off_line = 0, bool in_place = false)
      : rows(r), columns(c), pitch(p), in(bytes() + 64), out(bytes() + 64), shift(bytes_off_line) {
    const ValueId x = builder.input(kType, {Stride::any, Stride::unit});
    builder.store(builder.op(Op::add, x, builder.cast(kType, builder.iota(0))), {Stride::any, Stride::unit});
    const LoopKernel& k = builder.done();
    const ArgLayout at = jit::loop::layout_of(k);
    words.assign(static_cast<size_t>(at.words()), 0);
    words[static_cast<size_t>(at.extent(0))] = static_cast<uint64_t>(rows);
    words[static_cast<size_t>(at.extent(1))] = static_cast<uint64_t>(columns);
    for (int o = 0; o < 2; ++o) {
      words[static_cast<size_t>(at.pointer(o))] =
          reinterpret_cast<uint64_t>(o && !in_place ? out.data() + shift : in.data());
      words[static_cast<size_t>(at.stride(o, 0))] = static_cast<uint64_t>(pitch) * sizeof(T);
      words[static_cast<size_t>(at.stride(o, 1))] = sizeof(T);
    }
    T* x0 = reinterpret_cast<T*>(in.data());
    for (int64_t i = 0; i < rows * pitch; ++i) x0[i] = static_cast<T>(i % 1021) / 8;
    std::memset(out.data(), 0xff, static_cast<size_t>(bytes()) + 64);
  }
  int64_t bytes() const { return rows * pitch * static_cast<int64_t>(sizeof(T)); }
  bool streams() { return cpu_backend::Partition(builder.k).streams(words.data()); }

  void check(cpu_backend::Isa isa) {
    const auto kernel = cpu_backend::compile_kernel(builder.k, isa);
    std::vector<uint64_t> w = words;
    kernel->launch(w.data());
    BOOST_TEST(wrong() == 0, cpu_backend::name_of(isa));
  }
  /// Counts the elements that are wrong.
  int64_t wrong() const {
    const T *x0 = reinterpret_cast<const T*>(in.data()), *y = reinterpret_cast<const T*>(out.data() + shift);
    int64_t n = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < pitch; ++j) {
        const T got = y[i * pitch + j];
        n += j < columns ? got != x0[i * pitch + j] + static_cast<T>(i) : !std::isnan(got);
      }
    return n;
  }
};

template <class T>
void both_levels(Rows<T>& r) {
  for (const cpu_backend::Isa isa : {cpu_backend::Isa::avx2, cpu_backend::Isa::avx512}) {
    if (isa > cpu_backend::best_isa()) continue;
    for (const char* threads : {"1", "3"}) {
      const config::Override limit("LAZY_NUM_THREADS", threads);
      std::memset(r.out.data(), 0xff, static_cast<size_t>(r.bytes()));
      r.check(isa);
    }
  }
}

/// Returns a number of elements that bypass the caches.
template <class T>
int64_t many() {
  return static_cast<int64_t>(cpu_backend::caches().l3 / sizeof(T) / 2) + 1000;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_streaming)

BOOST_AUTO_TEST_CASE(large_results_bypass_the_caches) {
  Rows<float> one_row(1, many<float>() + 5, many<float>() + 5);
  BOOST_TEST(one_row.streams());
  both_levels(one_row);
  Rows<double> padded(many<double>() / 1003 + 1, 1003, 1008);  // rows end within a line, the next begins one
  BOOST_TEST(padded.streams());
  both_levels(padded);
}

BOOST_AUTO_TEST_CASE(others_do_not) {
  Rows<float> off_line(1, many<float>(), many<float>(), 4);
  BOOST_TEST(!off_line.streams());
  both_levels(off_line);
  Rows<float> ragged(many<float>() / 1003 + 1, 1003, 1003);  // rows begin anywhere
  BOOST_TEST(!ragged.streams());
  both_levels(ragged);
  BOOST_TEST(!Rows<float>(1, 1000, 1000).streams());
  BOOST_TEST(!Rows<float>(1, many<float>(), many<float>(), 0, true).streams());
}

/// Parts of a large box are planned together; those of a small one go through the caches.
BOOST_AUTO_TEST_CASE(parts_of_a_large_box) {
  for (const bool large : {true, false}) {
    const int64_t rows = large ? many<float>() / 253 + 1 : 10;
    Rows<float> r(rows, 256 - 3, 256);
    for (const cpu_backend::Isa isa : {cpu_backend::Isa::avx2, cpu_backend::Isa::avx512}) {
      if (isa > cpu_backend::best_isa()) continue;
      std::memset(r.out.data(), 0xff, static_cast<size_t>(r.bytes()));
      const auto kernel = cpu_backend::compile_kernel(r.builder.k, isa);
      const cpu_backend::Partition parts(r.builder.k);
      std::vector<uint64_t> words = r.words;
      kernel->plan_parts(words.data());
      BOOST_TEST((words[ArgLayout::kPlanned] != 0) == large);
      constexpr int64_t kPart = 7;
      cpu_backend::for_each((rows + kPart - 1) / kPart, [&](int64_t p) {
        std::vector<uint64_t> mine = words;
        parts.restrict(mine.data(), 0, p * kPart, std::min(rows, (p + 1) * kPart));
        kernel->launch_here(mine.data());
      });
      BOOST_TEST(r.wrong() == 0, cpu_backend::name_of(isa));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_machine_has_figures) {
  const cpu_backend::Machine& m = cpu_backend::machine();
  BOOST_TEST(m.fma_ns > 0.02);
  BOOST_TEST(m.fma_ns < 10);
  BOOST_TEST(m.memory_gbs > 0.1);
  BOOST_TEST(m.l1_gbs >= m.l2_gbs);
  BOOST_TEST(m.l2_gbs >= m.l3_gbs);
  BOOST_TEST(m.l3_gbs >= m.memory_gbs);
  BOOST_TEST(cpu_backend::bandwidth(m, 1) == m.l1_gbs);
  BOOST_TEST(cpu_backend::bandwidth(m, 1e12) == m.memory_gbs);
  BOOST_TEST(cpu_backend::to_string(m).find("GFLOP/s") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(little_work_stays_on_its_thread) {
  KernelBuilder b(Form::map, 1);
  b.store(b.op(Op::sqrt, b.input(float32, {Stride::unit})), {Stride::unit});
  cpu_backend::Partition p(b.done());
  p.set_cost(4, 0, 8);
  std::vector<uint64_t> words(static_cast<size_t>(p.layout().words()), 0);
  const auto here = [&](int64_t n) {
    words[static_cast<size_t>(p.layout().extent(0))] = static_cast<uint64_t>(n);
    return p.runs_inline(words.data());
  };
  const config::Override two("LAZY_NUM_THREADS", "2");
  BOOST_TEST(here(0));
  BOOST_TEST(here(1000));
  BOOST_TEST(!here(100'000'000));
  const config::Override one("LAZY_NUM_THREADS", "1");
  BOOST_TEST(here(100'000'000));
}

/// An epilogue counts once a row: with rows of two elements it is most of the work, with long ones nothing.
BOOST_AUTO_TEST_CASE(epilogues_count_by_the_row) {
  KernelBuilder b(Form::reduce, 2, 1);
  const int r = b.reduce(Op::sum, b.input(float32, {Stride::any, Stride::unit}));
  b.begin_epilogue();
  b.store(b.op(Op::sqrt, b.result(r)), {Stride::unit, Stride::zero});
  const LoopKernel& k = b.done();
  const auto here = [&](int epilogue, int64_t rows, int64_t columns) {
    cpu_backend::Partition p(k);
    p.set_cost(4, epilogue, 16);
    std::vector<uint64_t> words(static_cast<size_t>(p.layout().words()), 0);
    words[static_cast<size_t>(p.layout().extent(0))] = static_cast<uint64_t>(rows);
    words[static_cast<size_t>(p.layout().extent(1))] = static_cast<uint64_t>(columns);
    return p.runs_inline(words.data());
  };
  const config::Override two("LAZY_NUM_THREADS", "2");
  BOOST_TEST(here(0, 2000, 2));
  BOOST_TEST(!here(1'000'000, 2000, 2));
  BOOST_TEST(here(1000, 1, 4000));
}

BOOST_AUTO_TEST_CASE(a_host_lends_its_arena) {
  struct Seen final : tbb::task_scheduler_observer {
    std::atomic<int> entries{0};
    explicit Seen(tbb::task_arena& a) : tbb::task_scheduler_observer(a) { observe(true); }
    ~Seen() override { observe(false); }
    void on_scheduler_entry(bool) override { ++entries; }
  };
  tbb::task_arena mine(3);
  Seen seen(mine);
  cpu_backend::set_arena(&mine);
  BOOST_TEST(cpu_backend::thread_count() == 3);
  std::atomic<int> pieces{0};
  cpu_backend::for_each(20, [&](int64_t) { ++pieces; });
  BOOST_TEST(pieces == 20);
  BOOST_TEST(seen.entries > 0);
  {
    const config::Override fewer("LAZY_NUM_THREADS", "2");
    BOOST_TEST(cpu_backend::thread_count() == 2);
  }
  // While a launch waits for its pieces, its thread runs no other task of the arena's.
  std::atomic<bool> strayed{false};
  mine.execute([&] {
    tbb::parallel_for(0, 200, [&](int) {
      thread_local bool launching = false;
      if (launching) strayed = true;
      launching = true;
      cpu_backend::for_each(8, [](int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
      launching = false;
    });
  });
  BOOST_TEST(!strayed);
  cpu_backend::set_arena(nullptr);
  const int before = seen.entries;
  cpu_backend::for_each(20, [&](int64_t) { ++pieces; });
  BOOST_TEST(seen.entries == before);
}

BOOST_AUTO_TEST_SUITE_END()
