// Tests checks of indices: each lane inside the box counts, no other; in every kind of kernel. (Loads and
// stores at computed indices are compared in tests/differential.)
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Runs the kernel on every level and the reference, on inputs that `fill` sets; returns the final value of
/// the flag.
struct Flags {
  LoopKernel kernel;
  int flag;  // number of the scalar argument
  std::vector<int64_t> extents;
  std::function<void(float*)> fill;  // fills operand 0
  size_t inputs, outputs;            // elements of operands 0 and 1, float32, packed
  float number = 0;                  // value of scalar 0

  void expect(bool set) const {
    static const auto reference = reference::make_backend();
    std::vector<jit::Backend*> backends = {reference.get()};
    for (const cpu_backend::Isa isa : levels()) backends.push_back(&backend_of(isa));
    for (jit::Backend* b : backends) {
      Fenced in(inputs * 4), out(outputs * 4);
      fill(reinterpret_cast<float*>(in.data()));
      int32_t raised = 0;
      Launch launch(kernel);
      launch.extents(extents).scalar(0, number).scalar(flag, reinterpret_cast<int64_t>(&raised));
      const auto rank = static_cast<int64_t>(extents.size());
      launch.operand(0, in.data(),
                     rank == 1 ? std::vector<int64_t>{4} : std::vector<int64_t>{extents[1] * 4, 4});
      if (kernel.operands.size() > 1) launch.operand(1, out.data(), std::vector<int64_t>(extents.size(), 0));
      b->compile(kernel)->launch(launch.data());
      BOOST_TEST(raised == set, b->name() << " with extents " << extents[0] << "\n" << print(kernel));
    }
  }
};

/// Builds a kernel with nothing but a check that no element is negative.
Flags only_checks(int64_t n) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(float32, {Stride::unit}), zero = b.scalar(float32), flag = b.scalar(int64);
  b.check(b.op(Op::less, x, zero), flag);
  Flags f{b.done(), 1, {n}, {}, static_cast<size_t>(n), 1};
  return f;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checks_of_indices)

BOOST_AUTO_TEST_CASE(every_lane_counts) {
  for (const int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 65, 200}) {
    Flags f = only_checks(n);
    f.fill = [&](float* x) { std::fill_n(x, n, 1.0f); };
    f.expect(false);
    for (int64_t at = 0; at < n; ++at) {
      f.fill = [&](float* x) {
        std::fill_n(x, n, 1.0f);
        x[at] = -1;
      };
      f.expect(true);
    }
  }
}

BOOST_AUTO_TEST_CASE(lanes_outside_of_the_box_do_not) {
  // A lane for which nothing was loaded has 0, which the check would reject here.
  for (const int64_t n : {1, 3, 9, 17, 100}) {
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.input(float32, {Stride::unit}), one = b.scalar(float32), flag = b.scalar(int64);
    b.check(b.op(Op::bitwise_invert, b.op(Op::greater_equal, x, one)), flag);
    Flags f{b.done(), 1, {n}, {}, static_cast<size_t>(n), 1, 1};
    f.fill = [&](float* p) { std::fill_n(p, n, 2.0f); };
    f.expect(false);
    f.fill = [&](float* p) { std::fill_n(p, n, 0.5f); };
    f.expect(true);
  }
}

BOOST_AUTO_TEST_CASE(in_lanes_of_64_bits) {
  for (const int64_t n : {1, 5, 8, 13, 40}) {
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.cast(int64, b.input(float32, {Stride::unit})), zero = b.scalar(int64),
                  flag = b.scalar(int64);
    b.check(b.op(Op::less, x, zero), flag);
    Flags f{b.done(), 1, {n}, {}, static_cast<size_t>(n), 1};
    for (int64_t at = -1; at < n; ++at) {
      f.fill = [&](float* p) {
        std::fill_n(p, n, 2.0f);
        if (at >= 0) p[at] = -2;
      };
      f.expect(at >= 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(in_reductions_and_their_epilogues) {
  for (const int sequential : {0, 1})
    for (const bool epilogue : {false, true})
      for (const int64_t columns : {1, 5, 16, 70}) {
        KernelBuilder b(Form::reduce, 2, sequential);
        const int64_t rows = 3;
        const ValueId x = b.input(float32, {Stride::any, Stride::unit}), zero = b.scalar(float32),
                      flag = b.scalar(int64);
        if (!epilogue) b.check(b.op(Op::less, x, zero), flag);
        const int r = b.reduce(Op::min, x);
        b.begin_epilogue();
        const ValueId least = b.result(r);
        if (epilogue) {
          const ValueId limit = b.scalar(float32);
          const ValueId again = b.scalar(int64);
          b.check(b.op(Op::less, least, limit), again);
        }
        std::vector<Stride> strides(2, Stride::zero);
        b.store(least, strides);
        Flags f{b.done(), epilogue ? 3 : 1, {rows, columns}, {}, static_cast<size_t>(rows * columns), 1};
        for (const int64_t at : {int64_t{-1}, int64_t{0}, rows * columns / 2, rows * columns - 1}) {
          f.fill = [&](float* p) {
            std::fill_n(p, rows * columns, 2.0f);
            if (at >= 0) p[at] = -2;
          };
          f.expect(at >= 0);
        }
      }
}

BOOST_AUTO_TEST_SUITE_END()
