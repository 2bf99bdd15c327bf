// Tests generated code: where it lies, how long it takes to make, how it is shown.
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "backends/cpu/code_memory.hpp"
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/machine/features.hpp"
#include "support/error.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

LoopKernel chain(int length) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(float32, {Stride::unit}), y = b.input(float32, {Stride::unit});
  ValueId v = x;
  for (int i = 0; i < length; ++i) v = b.op(i % 3 ? Op::add : Op::multiply, v, i % 5 ? y : x);
  b.store(v, {Stride::unit});
  return b.done();
}

struct Mapping {
  uintptr_t begin, end;
  std::string access;
};
std::vector<Mapping> mappings() {
  std::ifstream in("/proc/self/maps");
  std::vector<Mapping> all;
  for (std::string line; std::getline(in, line);) {
    Mapping m;
    char dash;
    std::istringstream s(line);
    s >> std::hex >> m.begin >> dash >> m.end >> m.access;
    all.push_back(m);
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_code)

BOOST_AUTO_TEST_CASE(never_writable_and_executable) {
  for (cpu_backend::Isa isa : levels()) {
    std::vector<cpu_backend::Code> all;
    for (int i = 1; i < 40; ++i) {
      const LoopKernel k = chain(i);
      const auto writer = cpu_backend::KernelWriter::of(k, isa);
      writer->write();
      all.push_back(cpu_backend::publish(*writer, "test", ""));
    }
    const auto map = mappings();
    for (const Mapping& m : map)
      BOOST_CHECK_MESSAGE(m.access[1] != 'w' || m.access[2] != 'x',
                          "writable and executable memory: " << m.access);
    for (const cpu_backend::Code& c : all) {
      const auto at = reinterpret_cast<uintptr_t>(c.entry());
      bool found = false;
      for (const Mapping& m : map)
        if (m.begin <= at && at + c.size() <= m.end) {
          found = true;
          BOOST_CHECK_EQUAL(m.access.substr(0, 3), "r-x");
        }
      BOOST_CHECK(found);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_kernel_gives_the_same_bytes) {
  for (cpu_backend::Isa isa : levels()) {
    const auto one = backend_of(isa).compile(chain(50)), two = backend_of(isa).compile(chain(50));
    BOOST_CHECK(one->disassembly() == two->disassembly());
    BOOST_CHECK(one->disassembly().find("vaddps") != std::string::npos);
    BOOST_CHECK(one->schedule().find(cpu_backend::name_of(isa)) == 0);
    BOOST_CHECK(one->code_bytes() > 200);
  }
}

/// Time is proportional to the length: a body of 20,000 instructions must not take the square of what one of
/// 2,000 does.
BOOST_AUTO_TEST_CASE(long_bodies) {
  for (int length : {2000, 20000}) compare(chain(length), {37});
  // A body of the same length with so many values alive that most are spilled.
  KernelBuilder b(Form::map, 1);
  std::vector<ValueId> v{b.input(float32, {Stride::unit}), b.input(float32, {Stride::unit})};
  for (int i = 0; i < 6000; ++i)
    v.push_back(b.op(i % 2 ? Op::add : Op::subtract, v[v.size() - 2],
                     v[static_cast<size_t>(random_below(static_cast<int64_t>(v.size())))]));
  ValueId sum = v[0];
  for (size_t i = 1; i < v.size(); i += 3) sum = b.op(Op::maximum, sum, v[i]);
  b.store(sum, {Stride::unit});
  compare(b.done(), {41});
}

/// Bodies of a length that is ordered anew, of several chains that meet here and there: divisions and masks
/// among them, operands with strides, one to three results.
BOOST_AUTO_TEST_CASE(chains_take_turns) {
  for (int round = 0; round < 12; ++round) {
    KernelBuilder b(Form::map, 1);
    const DType t = round % 3 == 0 ? float64 : float32;
    std::vector<ValueId> chains;
    for (int i = 0; i < 4; ++i)
      chains.push_back(i == 3 ? b.scalar(t) : b.input(t, {i % 2 ? Stride::unit : Stride::any}));
    for (int64_t left = 60 + random_below(140); left > 0; --left) {
      ValueId& v = chains[static_cast<size_t>(random_below(4))];
      const ValueId w = chains[static_cast<size_t>(random_below(4))];
      switch (random_below(8)) {
        case 0: v = b.op(Op::divide, v, w); break;
        case 1: v = b.op(Op::where, b.op(Op::less, v, w), w, v); break;
        case 2: v = b.op(Op::sqrt, b.op(Op::abs, v)); break;
        case 3: v = b.op(Op::maximum, v, w); break;
        case 4: v = b.op(Op::subtract, v, w); break;
        default: v = b.op(random_below(2) ? Op::multiply : Op::add, v, w);
      }
    }
    for (int i = 0; i <= round % 3; ++i) b.store(chains[static_cast<size_t>(i)], {Stride::unit});
    const LoopKernel k = b.done();
    for (int64_t n : {0, 1, 15, 64, 131, 1000}) compare(k, {n});
  }
}

BOOST_AUTO_TEST_CASE(long_bodies_of_masks_and_integers) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(int64, {Stride::unit}), y = b.input(int32, {Stride::unit}),
                z = b.input(float32, {Stride::unit});
  std::vector<ValueId> masks;
  for (int i = 0; i < 40; ++i) {
    const ValueId s = b.scalar(int64);
    masks.push_back(b.op(i % 2 ? Op::less : Op::greater_equal, x, s));
    masks.push_back(b.op(Op::less, z, b.cast(float32, s)));
  }
  ValueId all = masks[0];
  for (size_t i = 1; i < masks.size(); ++i)
    all = b.op(i % 3 == 0 ? Op::bitwise_and : i % 3 == 1 ? Op::bitwise_or : Op::bitwise_xor, all, masks[i]);
  ValueId v = b.op(Op::where, all, x, b.cast(int64, y));
  for (size_t i = 0; i < masks.size(); ++i)
    v = b.op(Op::where, masks[i], b.op(Op::multiply, v, x), b.op(Op::maximum, v, b.cast(int64, y)));
  b.store(v, {Stride::unit});
  b.store(all, {Stride::unit});
  compare(b.done(), {83});
}

BOOST_AUTO_TEST_CASE(rare_lanes_between_live_values) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(float32, {Stride::unit}), y = b.input(float32, {Stride::unit});
  std::vector<ValueId> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(b.op(Op::multiply, x, b.scalar(float32)));
  ValueId v = b.op(Op::remainder, x, y);
  v = b.op(Op::add, v, b.op(Op::floor_divide, y, x));
  for (ValueId k : kept) v = b.op(Op::subtract, v, b.op(Op::remainder, k, y));
  b.store(v, {Stride::unit});
  compare(b.done(), {500});
}

BOOST_AUTO_TEST_CASE(compiled_and_launched_by_many_threads) {
  const LoopKernel k = chain(30);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round)
        for (cpu_backend::Isa isa : levels()) {
          const auto backend = cpu_backend::make_backend(isa);
          const auto kernel = backend->compile(k);
          std::vector<float> x(100, 1), y(100, 0), out(100, 5);
          Launch l(k);
          l.extents({100}).operand(0, x.data(), {4}).operand(1, y.data(), {4}).operand(2, out.data(), {4});
          kernel->launch(l.data());
          for (float f : out) wrong += f != out[0];
        }
    });
  for (auto& t : threads) t.join();
  BOOST_CHECK_EQUAL(wrong, 0);
}

BOOST_AUTO_TEST_CASE(levels_by_name) {
  BOOST_CHECK(cpu_backend::isa_from("auto") == cpu_backend::best_isa());
  BOOST_CHECK(cpu_backend::isa_from("reference") == cpu_backend::Isa::reference);
  BOOST_CHECK_THROW(cpu_backend::isa_from("sse9"), ConfigError);
  if (cpu_backend::best_isa() < cpu_backend::Isa::avx512) {
    BOOST_CHECK_THROW(cpu_backend::isa_from("avx512"), DeviceError);
    BOOST_CHECK_THROW(cpu_backend::make_backend(cpu_backend::Isa::avx512), DeviceError);
  }
  BOOST_CHECK(cpu_backend::caches().l1d >= 8 << 10);
  BOOST_CHECK(cpu_backend::usable_processors() >= 1);
}

BOOST_AUTO_TEST_SUITE_END()
