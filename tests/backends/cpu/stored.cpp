// Tests compiled kernels as bytes: they load as they were, and bytes that can't have been made here are
// refused.
#include <cstring>

#include "backends/cpu/backend.hpp"
#include "tests/backends/cpu/compare.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Builds a product over (k, m, n) with no epilogue.
LoopKernel product() {
  KernelBuilder b(Form::contract, 3, 0);
  const int r = b.contract(b.input(float32, {Stride::unit, Stride::any, Stride::zero}),
                           b.input(float32, {Stride::any, Stride::zero, Stride::unit}));
  b.begin_epilogue();
  b.store(b.result(r), {Stride::zero, Stride::any, Stride::unit});
  return b.done();
}

/// Offsets in the record (kernel.cpp): the schedule, if there is a form, the form; then code.
enum At : size_t {
  isa = 0,
  lanes = 1,
  has_form = 38,
  left_operand = 39,
  left_dtype = 43,
  right_operand = 44,
  right_dtype = 48,
  lane = 49,
  row_axis = 50,
  form_end = 71
};

template <class T>
std::string with(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stored_kernels)

BOOST_AUTO_TEST_CASE(bytes_that_cannot_have_been_made_here, *test::needs("AVX2", [] {
                       return cpu_backend::best_isa() > cpu_backend::Isa::reference;
                     })) {
  const auto backend = cpu_backend::make_backend(cpu_backend::best_isa());
  const LoopKernel k = product();
  const std::string good = backend->compile(k)->stored();
  const auto loads = [&](const std::string& bytes) { return backend->load(k, bytes) != nullptr; };
  BOOST_REQUIRE(loads(good));
  BOOST_REQUIRE(good[has_form] == 1);
  int axis = 0;
  std::memcpy(&axis, good.data() + row_axis, sizeof axis);
  BOOST_REQUIRE(axis == 1);

  BOOST_TEST(!loads(with(good, isa, cpu_backend::Isa::reference)));
  BOOST_TEST(!loads(with(good, isa, uint8_t{200})));
  for (const int n : {-1, 0, 65}) BOOST_TEST(!loads(with(good, lanes, n)));
  for (const At operand : {left_operand, right_operand})
    for (const int o : {-1, 3, 1000}) BOOST_TEST(!loads(with(good, operand, o)));
  for (const At dtype : {left_dtype, right_dtype})
    BOOST_TEST(!loads(with(good, dtype, uint8_t{kDTypeCount})));
  BOOST_TEST(!loads(with(good, lane, uint8_t{200})));
  for (const int a : {-2, 3, 50}) BOOST_TEST(!loads(with(good, row_axis, a)));
  // Records that end before there is any code are refused.
  for (size_t n = 0; n <= form_end; ++n) BOOST_TEST(!loads(good.substr(0, n)));

  // So is a form for a kernel that sums nothing.
  KernelBuilder b(Form::map, 3);
  b.store(b.op(Op::add, b.input(float32), b.input(float32)));
  const LoopKernel map = b.done();
  BOOST_TEST(backend->load(map, good) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
