#include "tests/backends/cuda/representative.hpp"

#include <stdexcept>

#include "tests/common/kernel_builder.hpp"

namespace lazy::test {
namespace {
constexpr Stride Z = Stride::zero, U = Stride::unit, A = Stride::any;

/// Builds y = op(x...) on packed operands.
LoopKernel pointwise(Op op, DType t) {
  KernelBuilder b(Form::map, 1);
  ValueId v[3] = {kNoValue, kNoValue, kNoValue};
  for (int i = 0; i < jit::row_of(op).arity; ++i) v[i] = b.input(t, {U});
  b.store(b.op(op, v[0], v[1], v[2]), {U});
  return b.done();
}

/// Builds a kernel of 16-bit floats, computed in float32.
LoopKernel half(DType t) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.cast(float32, b.input(t, {U})), y = b.cast(float32, b.input(t, {U}));
  b.store(b.cast(t, b.op(Op::fma, x, y, b.scalar(float32))), {U});
  return b.done();
}

LoopKernel chain() {
  KernelBuilder b(Form::map, 1);
  ValueId x = b.input(float32, {U});
  for (int i = 0; i < 6; ++i) x = b.op(Op::add, b.op(Op::multiply, x, b.scalar(float32)), b.scalar(float32));
  b.store(x, {U});
  return b.done();
}

LoopKernel bias_gelu() {
  KernelBuilder b(Form::map, 2);
  const ValueId x = b.input(float32, {A, U}), bias = b.input(float32, {Z, U});
  b.store(b.op(Op::gelu, b.op(Op::add, x, bias)), {A, U});
  return b.done();
}

LoopKernel strided() {
  KernelBuilder b(Form::map, 3);
  const ValueId x = b.input(float32, {A, A, A}), y = b.input(float32, {Z, A, U}),
                z = b.input(int32, {A, Z, Z});
  b.store(b.op(Op::where, b.op(Op::less, x, y), x, b.cast(float32, z)), {A, A, U});
  return b.done();
}

LoopKernel transposed() {
  KernelBuilder b(Form::map, 3);
  const ValueId x = b.input(float32, {A, U, A}), y = b.input(float32, {A, A, U});
  b.store(b.op(Op::add, x, y), {A, A, U});
  return b.done();
}

LoopKernel indices() {
  KernelBuilder b(Form::map, 2);
  const ValueId i = b.iota(0), j = b.iota(1);
  b.store(b.op(Op::where, b.op(Op::greater_equal, i, j), b.input(float32, {A, U}), b.scalar(float32)),
          {A, U});
  b.store(b.op(Op::bitwise_xor, i, j), {A, U});
  return b.done();
}

LoopKernel mixed_widths() {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(uint8, {U}), y = b.input(float64, {U});
  const ValueId is_large = b.op(Op::greater, y, b.scalar(float64));
  b.store(b.op(Op::where, is_large, x, b.cast(uint8, y)), {U});
  b.store(is_large, {U});
  return b.done();
}

LoopKernel repeated() {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(float32, {U}), trips = b.scalar(int64);
  b.begin_rolled_loop(trips, 1);
  const ValueId v = b.carried(x), factor = b.scalar(float32);
  const ValueId next = b.op(Op::fma, v, factor, x);
  b.next(v, next);
  b.k.scalars = 8;  // each of seven iterations has a factor
  b.end_rolled_loop();
  b.store(next, {U});
  return b.done();
}

LoopKernel rows(Op op, DType t) {
  KernelBuilder b(Form::reduce, 2, 1);
  const int r = b.reduce(op, b.input(t, {A, U}));
  b.begin_epilogue();
  b.store(b.result(r), {U, Z});
  return b.done();
}

LoopKernel whole_sum() {
  KernelBuilder b(Form::reduce, 1, 0);
  const int r = b.reduce(Op::sum, b.input(float32, {U}));
  b.begin_epilogue();
  b.store(b.result(r), {Z});
  return b.done();
}

LoopKernel softmax_rows() {
  KernelBuilder b(Form::reduce, 2, 1);
  const ValueId x = b.input(float32, {A, U}), most = b.input(float32, {U, Z});
  const ValueId e = b.op(Op::exp, b.op(Op::subtract, x, most));
  const int r = b.reduce(Op::sum, e);
  b.store(e, {A, U});
  b.begin_epilogue();
  b.store(b.result(r), {U, Z});
  return b.done();
}

LoopKernel moments(int sequential) {
  KernelBuilder b(Form::reduce, 2, sequential);
  const ValueId x = b.cast(float32, b.input(float16, {A, U}));
  const int sum = b.reduce(Op::sum, x), squares = b.reduce(Op::sum, b.op(Op::multiply, x, x));
  b.begin_epilogue();
  const ValueId mean = b.op(Op::multiply, b.result(sum), b.scalar(float32));
  const std::vector<Stride> out = sequential == 1 ? std::vector{U, Z} : std::vector{Z, U};
  b.store(mean, out);
  b.store(b.op(Op::sqrt, b.op(Op::subtract, b.result(squares), b.op(Op::multiply, mean, mean))), out);
  return b.done();
}

LoopKernel several_rows() {
  KernelBuilder b(Form::reduce, 2, 1);
  const ValueId x = b.input(float32, {A, U}), n = b.input(int16, {A, U});
  const int at = b.reduce(Op::argmin, x), most = b.reduce(Op::max, x), total = b.reduce(Op::prod, n);
  const int any = b.reduce(Op::any, b.op(Op::isnan, x));
  b.begin_epilogue();
  for (const int r : {at, most, total, any}) b.store(b.result(r), {U, Z});
  return b.done();
}

LoopKernel columns(Op op, DType t) {
  KernelBuilder b(Form::reduce, 2, 0);
  const int r = b.reduce(op, b.input(t, {A, U}));
  b.begin_epilogue();
  b.store(b.result(r), {Z, U});
  return b.done();
}

LoopKernel middle_axis() {
  KernelBuilder b(Form::reduce, 3, 1);
  const ValueId x = b.input(float32, {A, A, U}), y = b.input(float32, {A, Z, U});
  const int r = b.reduce(Op::sum, b.op(Op::multiply, x, y));
  b.begin_epilogue();
  b.store(b.op(Op::add, b.result(r), b.input(float32, {A, Z, U})), {A, Z, U});
  return b.done();
}

LoopKernel product(DType stored, DType t, bool activate) {
  KernelBuilder b(Form::contract, 3, 1);
  ValueId x = b.input(stored, {A, U, Z}), y = b.input(stored, {Z, A, U});
  if (stored != t) x = b.cast(t, x), y = b.cast(t, y);
  const int r = b.contract(x, y);
  b.begin_epilogue();
  ValueId v = b.result(r);
  if (activate) v = b.op(Op::gelu, b.op(Op::add, v, b.input(t, {Z, Z, U})));
  b.store(v, {A, Z, U});
  return b.done();
}

LoopKernel batch_product() {
  KernelBuilder b(Form::contract, 4, 0);  // k, b, m, n; the right side lies transposed
  const int r = b.contract(b.input(float32, {U, A, A, Z}), b.input(float32, {U, A, Z, A}));
  b.begin_epilogue();
  b.store(b.result(r), {Z, A, A, U});
  return b.done();
}

/// Builds a product with transposed sides, batches of the left one, a residual of the output's type, two
/// results.
LoopKernel turned_product() {
  KernelBuilder b(Form::contract, 4, 0);  // k, b, m, n
  const int r = b.contract(b.cast(float32, b.input(bfloat16, {A, A, U, Z})),
                           b.cast(float32, b.input(bfloat16, {U, Z, Z, A})));
  b.begin_epilogue();
  const ValueId v = b.op(Op::add, b.result(r), b.cast(float32, b.input(bfloat16, {Z, A, A, U})));
  b.store(b.cast(bfloat16, v), {Z, A, A, U});
  b.store(b.op(Op::multiply, v, b.scalar(float32)), {Z, A, A, U});
  return b.done();
}

/// Builds a product as lowering does: the summed axis first, only the last axis known to be contiguous.
LoopKernel lowered_product() {
  KernelBuilder b(Form::contract, 3, 0);  // k, m, n
  const int r = b.contract(b.cast(float32, b.input(bfloat16, {A, A, Z})),
                           b.cast(float32, b.input(bfloat16, {A, Z, U})));
  b.begin_epilogue();
  b.store(b.cast(bfloat16, b.result(r)), {Z, A, U});
  return b.done();
}

LoopKernel computed_product() {
  KernelBuilder b(Form::contract, 3, 1);
  const ValueId x = b.op(Op::abs, b.input(float32, {A, U, Z}));
  const int r = b.contract(x, b.input(float32, {Z, A, U}));
  b.begin_epilogue();
  b.store(b.result(r), {A, Z, U});
  return b.done();
}

LoopKernel scan(DType t, Op op = Op::cumsum) {
  KernelBuilder b(Form::scan, 2, 0);
  const ValueId x = b.input(t, {A, U});
  b.store(b.result(b.reduce(op, x)), {A, U});
  return b.done();
}

std::vector<Representative> make() {
  return {
      {"add", pointwise(Op::add, float32)},
      {"chain", chain()},
      {"exp", pointwise(Op::exp, float32)},
      {"sin", pointwise(Op::sin, float32)},
      {"power", pointwise(Op::power, float32)},
      {"tanh_f64", pointwise(Op::tanh, float64)},
      {"remainder", pointwise(Op::remainder, float32)},
      {"floor_divide_i32", pointwise(Op::floor_divide, int32)},
      {"power_i64", pointwise(Op::power, int64)},
      {"add_u8", pointwise(Op::add, uint8)},
      {"float16", half(float16)},
      {"bfloat16", half(bfloat16)},
      {"bias_gelu", bias_gelu()},
      {"strided", strided()},
      {"transposed", transposed()},
      {"indices", indices()},
      {"mixed_widths", mixed_widths()},
      {"repeated", repeated()},
      {"row_sums", rows(Op::sum, float32)},
      {"row_sums_f64", rows(Op::sum, float64)},
      {"row_argmax", rows(Op::argmax, float32)},
      {"row_max_i8", rows(Op::max, int8)},
      {"whole_sum", whole_sum()},
      {"softmax_rows", softmax_rows()},
      {"row_moments", moments(1)},
      {"several_rows", several_rows()},
      {"column_sums", columns(Op::sum, float32)},
      {"column_argmin", columns(Op::argmin, float64)},
      {"column_moments", moments(0)},
      {"middle_axis", middle_axis()},
      {"product", product(float32, float32, false)},
      {"product_f16_gelu", product(float16, float32, true)},
      {"product_i8", product(int8, int8, false)},
      {"batch_product", batch_product()},
      {"turned_product", turned_product()},
      {"lowered_product", lowered_product()},
      {"computed_product", computed_product()},
      {"scan", scan(float32)},
      {"scan_i64", scan(int64)},
      {"running_product", scan(float64, Op::cumprod)},
      {"running_max", scan(float32, Op::cummax)},
      {"running_max_u8", scan(uint8, Op::cummax)},
      {"running_min", scan(float64, Op::cummin)},
      {"running_min_i32", scan(int32, Op::cummin)},
  };
}

}  // namespace

const std::vector<Representative>& representatives() {
  static const std::vector<Representative> all = make();
  return all;
}

const LoopKernel& representative(const std::string& name) {
  for (const Representative& r : representatives())
    if (r.name == name) return r.kernel;
  throw std::out_of_range(name);
}

}  // namespace lazy::test
