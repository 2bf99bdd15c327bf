// Tests that errors say which function was called, and where: every public function of lazy/ is called
// wrongly. A test of the headers sees that none is missing.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/common/check.hpp"
#include "tests/common/names_itself.hpp"

using namespace lazy;

namespace {

#define NAMES(function, ...) \
  names_itself(              \
      #function, #function, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)
// Other spellings use the first name of what they call.
#define CALLS(function, name, ...) \
  names_itself(                    \
      #function, #name, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)
#define SAYS(name, ...) \
  names_itself(         \
      #name, #name, [&] { (void)(__VA_ARGS__); }, __LINE__)

const Tensor nothing;
/// Holds operands that don't fit: uint64 and int64 have no common dtype, and [5] does not broadcast to [2,
/// 3].
struct Operands {
  Tensor x = ones({2, 3}), five = ones({5}), i = ones({2, 3}, int64), u = ones({2, 3}, uint64), b = x > 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(messages, Operands)

BOOST_AUTO_TEST_CASE(of_one_empty_tensor) {
  NAMES(negative, nothing);
  NAMES(positive, nothing);
  NAMES(abs, nothing);
  NAMES(sign, nothing);
  NAMES(square, nothing);
  NAMES(reciprocal, nothing);
  NAMES(relu, nothing);
  NAMES(ceil, nothing);
  NAMES(floor, nothing);
  NAMES(trunc, nothing);
  NAMES(round, nothing);
  NAMES(sqrt, nothing);
  NAMES(rsqrt, nothing);
  NAMES(exp, nothing);
  NAMES(expm1, nothing);
  NAMES(log, nothing);
  NAMES(log1p, nothing);
  NAMES(log2, nothing);
  NAMES(log10, nothing);
  NAMES(sin, nothing);
  NAMES(cos, nothing);
  NAMES(tan, nothing);
  NAMES(sinh, nothing);
  NAMES(cosh, nothing);
  NAMES(tanh, nothing);
  NAMES(asin, nothing);
  NAMES(acos, nothing);
  NAMES(atan, nothing);
  NAMES(asinh, nothing);
  NAMES(acosh, nothing);
  NAMES(atanh, nothing);
  NAMES(erf, nothing);
  NAMES(erfc, nothing);
  NAMES(sigmoid, nothing);
  NAMES(gelu, nothing);
  NAMES(isnan, nothing);
  NAMES(isinf, nothing);
  NAMES(isfinite, nothing);
  NAMES(signbit, nothing);
  NAMES(logical_not, nothing);
  NAMES(bitwise_invert, nothing);
  NAMES(flatten, nothing);
  NAMES(squeeze, nothing);
  NAMES(expand_dims, nothing);
  NAMES(flip, nothing);
  NAMES(matrix_transpose, nothing);
  NAMES(transpose, nothing);
  NAMES(tril, nothing);
  NAMES(triu, nothing);
  NAMES(zeros_like, nothing);
  NAMES(ones_like, nothing);
  NAMES(empty_like, nothing);
  NAMES(asarray, nothing);
  NAMES(sum, nothing);
  NAMES(prod, nothing);
  NAMES(mean, nothing);
  NAMES(var, nothing);
  NAMES(stdev, nothing);
  NAMES(max, nothing);
  NAMES(min, nothing);
  NAMES(any, nothing);
  NAMES(all, nothing);
  NAMES(argmax, nothing);
  NAMES(sort, nothing);
  NAMES(argsort, nothing);
  NAMES(cholesky, nothing);
  NAMES(cholesky_inverse, nothing);
  NAMES(cond, nothing);
  NAMES(det, nothing);
  NAMES(eig, nothing);
  NAMES(eigh, nothing);
  NAMES(eigvals, nothing);
  NAMES(eigvalsh, nothing);
  NAMES(inv, nothing);
  NAMES(lu, nothing);
  NAMES(lu_factor, nothing);
  NAMES(matrix_exp, nothing);
  CALLS(expm, matrix_exp, nothing);
  NAMES(matrix_norm, nothing);
  NAMES(matrix_rank, nothing);
  NAMES(pinv, nothing);
  NAMES(qr, nothing);
  NAMES(slogdet, nothing);
  NAMES(svd, nothing);
  NAMES(svdvals, nothing);
  NAMES(tensorinv, nothing);
  NAMES(argmin, nothing);
  NAMES(logsumexp, nothing);
  NAMES(count_nonzero, nothing);
  NAMES(cumsum, nothing);
  NAMES(cumulative_sum, nothing);
  NAMES(cumulative_prod, nothing);
  CALLS(absolute, abs, nothing);
  CALLS(neg, negative, nothing);
  CALLS(arcsin, asin, nothing);
  CALLS(arccos, acos, nothing);
  CALLS(arctan, atan, nothing);
  CALLS(arcsinh, asinh, nothing);
  CALLS(arccosh, acosh, nothing);
  CALLS(arctanh, atanh, nothing);
  CALLS(rint, round, nothing);
  CALLS(fix, trunc, nothing);
  CALLS(invert, bitwise_invert, nothing);
  CALLS(bitwise_not, bitwise_invert, nothing);
  CALLS(ravel, flatten, nothing);
  SAYS(std, lazy::std(nothing));
  NAMES(full_like, nothing, 1);
  NAMES(astype, nothing, float32);
  NAMES(can_cast, nothing, float32);
  NAMES(finfo, nothing);
  NAMES(iinfo, nothing);
  NAMES(clip, nothing, 0, 1);
  CALLS(clamp, clip, nothing, 0, 1);
  NAMES(reshape, nothing, {1});
  NAMES(permute_dims, nothing, {0});
  CALLS(permute, permute_dims, nothing, {0});
  NAMES(swapaxes, nothing, 0, 0);
  NAMES(moveaxis, nothing, 0, 0);
  CALLS(unsqueeze, expand_dims, nothing, 0);
  NAMES(broadcast_to, nothing, {1});
  NAMES(broadcast_arrays, {nothing});
  NAMES(sliding_window_view, nothing, 1);
  NAMES(meshgrid, {nothing});
  NAMES(concat, {nothing});
  CALLS(cat, concat, {nothing});
  NAMES(stack, {nothing});
  NAMES(einsum, "i", nothing);
  NAMES(max_pool, nothing, 1);
  NAMES(avg_pool, nothing, 1);
  NAMES(adaptive_max_pool, nothing, 1);
  NAMES(adaptive_avg_pool, nothing, 1);
  NAMES(mark_static, nothing, 0);
  NAMES(mark_dynamic, nothing, 0);
  NAMES(eval, nothing);
  NAMES(eval, std::vector<Tensor>(1, nothing));
}

BOOST_AUTO_TEST_CASE(of_two_tensors) {
  NAMES(add, nothing, x);
  NAMES(add, x, nothing);
  NAMES(subtract, nothing, x);
  NAMES(subtract, x, nothing);
  NAMES(multiply, nothing, x);
  NAMES(multiply, x, nothing);
  NAMES(divide, nothing, x);
  NAMES(divide, x, nothing);
  NAMES(floor_divide, nothing, x);
  NAMES(floor_divide, x, nothing);
  NAMES(remainder, nothing, x);
  NAMES(remainder, x, nothing);
  NAMES(pow, nothing, x);
  NAMES(pow, x, nothing);
  NAMES(maximum, nothing, x);
  NAMES(maximum, x, nothing);
  NAMES(minimum, nothing, x);
  NAMES(minimum, x, nothing);
  NAMES(atan2, nothing, x);
  NAMES(atan2, x, nothing);
  NAMES(hypot, nothing, x);
  NAMES(hypot, x, nothing);
  NAMES(copysign, nothing, x);
  NAMES(copysign, x, nothing);
  NAMES(logaddexp, nothing, x);
  NAMES(logaddexp, x, nothing);
  NAMES(logical_and, nothing, x);
  NAMES(logical_and, x, nothing);
  NAMES(logical_or, nothing, x);
  NAMES(logical_or, x, nothing);
  NAMES(logical_xor, nothing, x);
  NAMES(logical_xor, x, nothing);
  NAMES(bitwise_and, nothing, x);
  NAMES(bitwise_and, x, nothing);
  NAMES(bitwise_or, nothing, x);
  NAMES(bitwise_or, x, nothing);
  NAMES(bitwise_xor, nothing, x);
  NAMES(bitwise_xor, x, nothing);
  NAMES(bitwise_left_shift, nothing, x);
  NAMES(bitwise_left_shift, x, nothing);
  NAMES(bitwise_right_shift, nothing, x);
  NAMES(bitwise_right_shift, x, nothing);
  NAMES(equal, nothing, x);
  NAMES(equal, x, nothing);
  NAMES(not_equal, nothing, x);
  NAMES(not_equal, x, nothing);
  NAMES(less, nothing, x);
  NAMES(less, x, nothing);
  NAMES(less_equal, nothing, x);
  NAMES(less_equal, x, nothing);
  NAMES(greater, nothing, x);
  NAMES(greater, x, nothing);
  NAMES(greater_equal, nothing, x);
  NAMES(greater_equal, x, nothing);
  NAMES(matmul, nothing, x);
  NAMES(matmul, x, nothing);
  NAMES(dot, nothing, x);
  NAMES(dot, x, nothing);
  NAMES(outer, nothing, x);
  NAMES(outer, x, nothing);
  NAMES(vecdot, nothing, x);
  NAMES(vecdot, x, nothing);
  NAMES(tensordot, nothing, x);
  NAMES(tensordot, x, nothing);
  NAMES(conv, nothing, x);
  NAMES(conv, x, nothing);
  NAMES(conv1d, nothing, x);
  NAMES(conv1d, x, nothing);
  NAMES(conv2d, nothing, x);
  NAMES(conv2d, x, nothing);
  NAMES(conv3d, nothing, x);
  NAMES(conv3d, x, nothing);
  NAMES(conv_transpose, nothing, x);
  NAMES(conv_transpose, x, nothing);
  NAMES(result_type, nothing, x);
  NAMES(result_type, x, nothing);
  CALLS(sub, subtract, nothing, x);
  CALLS(mul, multiply, nothing, x);
  CALLS(true_divide, divide, nothing, x);
  CALLS(mod, remainder, nothing, x);
  CALLS(power, pow, nothing, x);
  CALLS(arctan2, atan2, nothing, x);
  CALLS(left_shift, bitwise_left_shift, nothing, x);
  CALLS(right_shift, bitwise_right_shift, nothing, x);
  CALLS(eq, equal, nothing, x);
  CALLS(ne, not_equal, nothing, x);
  CALLS(lt, less, nothing, x);
  CALLS(le, less_equal, nothing, x);
  CALLS(gt, greater, nothing, x);
  CALLS(ge, greater_equal, nothing, x);
  NAMES(add, x, five);
  NAMES(subtract, x, five);
  NAMES(multiply, x, five);
  NAMES(divide, x, five);
  NAMES(floor_divide, x, five);
  NAMES(remainder, x, five);
  NAMES(pow, x, five);
  NAMES(maximum, x, five);
  NAMES(minimum, x, five);
  NAMES(atan2, x, five);
  NAMES(hypot, x, five);
  NAMES(copysign, x, five);
  NAMES(logaddexp, x, five);
  NAMES(logical_and, x, five);
  NAMES(logical_or, x, five);
  NAMES(logical_xor, x, five);
  NAMES(equal, x, five);
  NAMES(not_equal, x, five);
  NAMES(less, x, five);
  NAMES(less_equal, x, five);
  NAMES(greater, x, five);
  NAMES(greater_equal, x, five);
  NAMES(matmul, x, five);
  NAMES(dot, x, five);
  NAMES(vecdot, x, five);
  NAMES(bitwise_and, i, ones({5}, int64));
  NAMES(bitwise_or, i, ones({5}, int64));
  NAMES(bitwise_xor, i, ones({5}, int64));
  NAMES(bitwise_left_shift, i, ones({5}, int64));
  NAMES(bitwise_right_shift, i, ones({5}, int64));
  NAMES(add, i, u);
  NAMES(subtract, i, u);
  NAMES(multiply, i, u);
  NAMES(divide, i, u);
  NAMES(floor_divide, i, u);
  NAMES(remainder, i, u);
  NAMES(pow, i, u);
  NAMES(maximum, i, u);
  NAMES(minimum, i, u);
  NAMES(atan2, i, u);
  NAMES(hypot, i, u);
  NAMES(copysign, i, u);
  NAMES(logaddexp, i, u);
  NAMES(bitwise_and, i, u);
  NAMES(bitwise_or, i, u);
  NAMES(bitwise_xor, i, u);
  NAMES(bitwise_left_shift, i, u);
  NAMES(bitwise_right_shift, i, u);
  NAMES(equal, i, u);
  NAMES(not_equal, i, u);
  NAMES(less, i, u);
  NAMES(less_equal, i, u);
  NAMES(greater, i, u);
  NAMES(greater_equal, i, u);
  NAMES(matmul, i, u);
  NAMES(dot, i, u);
  NAMES(outer, i, u);
  NAMES(vecdot, i, u);
  NAMES(tensordot, i, u);
  NAMES(result_type, i, u);
  NAMES(subtract, b, b);
  NAMES(bitwise_and, x, x);
  NAMES(bitwise_left_shift, b, b);
  NAMES(dot, ones({}, int64), u);
  NAMES(matmul, ones({}), x);
  NAMES(tensordot, x, five, 1);
  NAMES(tensordot, x, five, {0}, {0});
  NAMES(vecdot, x, x, 1);
}

BOOST_AUTO_TEST_CASE(of_more_operands) {
  NAMES(where, nothing, x, x);
  NAMES(where, b, nothing, x);
  NAMES(where, b, x, five);
  NAMES(where, b, i, u);
  NAMES(where, ones({5}) > 0, x, x);
  NAMES(fma, nothing, x, x);
  NAMES(fma, x, x, five);
  NAMES(fma, i, u, x);
  NAMES(clip, x, nothing, 1);
  NAMES(clip, x, five, 1);
  NAMES(clip, x, none, five);
  NAMES(clip, i, u, none);
  NAMES(take, x, x, 0);
  NAMES(take, x, i, 2);
  NAMES(take, nothing, i, 0);
  NAMES(take, x, nothing, 0);
  NAMES(take, zeros({0}), i, 0);
  NAMES(take_along_axis, x, x, 0);
  NAMES(take_along_axis, x, i, 5);
  NAMES(take_along_axis, five, i, 0);
  NAMES(put_along_axis, x, i, nothing, 0);
  NAMES(put_along_axis, five, i, x, 0);
  NAMES(put_along_axis, i, i, x, 0);
  NAMES(scatter, x, 0, x, x);
  NAMES(scatter, x, 4, i, x);
  NAMES(scatter, nothing, 0, i, x);
  NAMES(scatter_add, x, 0, i, five);
  NAMES(scatter_add, b, 0, i, b);
  NAMES(index_add, x, 0, i, x);
  NAMES(index_add, x, 7, i, x);
  NAMES(index_add, nothing, 0, i, x);
  NAMES(concat, {i, u});
  NAMES(concat, {x, five});
  NAMES(concat, {ones({})});
  NAMES(concat, {});
  NAMES(concat, {x}, 2);
  NAMES(stack, {i, u});
  NAMES(stack, {x, five});
  NAMES(stack, {});
  NAMES(stack, {x}, 3);
  NAMES(broadcast_arrays, {x, five});
  NAMES(einsum, "ij,jk->ik", x, x);
  NAMES(einsum, "ij,ij->", {i, u});
  NAMES(einsum, "i.", x);
  NAMES(meshgrid, {x});
  NAMES(meshgrid, {five}, "no");
  NAMES(result_type, i, u, x);
  NAMES(result_type, int64, uint64);
  NAMES(tensor, {{1, 2}, {3}});
  NAMES(tensor, {int64_t{1}, uint64_t{2}});
  NAMES(from_span, std::vector<float>(3), {2});
  NAMES(asarray, nothing, float32);
  const Tensor q = ones({2, 4, 3}), three = ones({3, 4, 3});
  NAMES(scaled_dot_product_attention, nothing, q, q);
  NAMES(scaled_dot_product_attention, q, three, three);
  NAMES(scaled_dot_product_attention, q, q, three);
  NAMES(scaled_dot_product_attention, q, q, ones({2, 5, 3}));
  NAMES(scaled_dot_product_attention, i, i, i);
  NAMES(scaled_dot_product_attention, q, q, q, ones({7}));
}

BOOST_AUTO_TEST_CASE(of_numbers) {
  NAMES(zeros, {-1});
  NAMES(ones, {-1});
  NAMES(empty, {-1});
  NAMES(full, {-1}, 0);
  NAMES(full, {1}, 300, int8);
  NAMES(full_like, ones({1}, int8), 300);
  NAMES(arange, 0, 1, 0);
  NAMES(linspace, 0, 1, -1);
  NAMES(eye, -1);
  float data[1] = {};
  NAMES(from_blob, data, {-1});
  NAMES(from_blob, data, {1}, float32, {1, 1});
  NAMES(from_blob, data, {1}, std::vector<int64_t>{1, 1});
  NAMES(from_blob, std::span(data), {2});
  NAMES(set_printoptions, {.precision = -1});
  NAMES(finfo, int32);
  NAMES(iinfo, float32);
}

BOOST_AUTO_TEST_CASE(of_axes) {
  NAMES(sum, x, 7);
  NAMES(prod, x, 7);
  NAMES(mean, x, 7);
  NAMES(var, x, 7);
  NAMES(stdev, x, 7);
  NAMES(max, x, 7);
  NAMES(min, x, 7);
  NAMES(any, x, 7);
  NAMES(all, x, 7);
  NAMES(logsumexp, x, 7);
  NAMES(count_nonzero, x, 7);
  NAMES(argmax, x, 7);
  NAMES(sort, x, 7);
  NAMES(argsort, x, 7);
  NAMES(argmin, x, 7);
  NAMES(cumsum, x, 7);
  NAMES(cumulative_sum, x, 7);
  NAMES(cumulative_prod, x, 7);
  NAMES(squeeze, x, 7);
  NAMES(flip, x, 7);
  NAMES(expand_dims, x, 7);
  for (const Tensor& e : {zeros({0, 3})}) {
    NAMES(max, e, 0);
    NAMES(min, e, 0);
    NAMES(argmax, e, 0);
    NAMES(argmin, e, 0);
  }
  NAMES(argmax, x, {0, 1});
  NAMES(cumsum, x, {0, 1});
  NAMES(cumulative_sum, x);
  NAMES(cumulative_prod, x);
  NAMES(cumulative_prod, x, 0, bool_);
  NAMES(sum, x, {}, dropdims, bool_);
  NAMES(cumsum, b, 0, bool_);
  NAMES(squeeze, x, 0);
  NAMES(tril, five);
  NAMES(triu, five);
  NAMES(matrix_transpose, five);
  NAMES(transpose, x, {0});
  NAMES(transpose, x, {0, 0});
  NAMES(permute_dims, x, {0, 2});
  NAMES(swapaxes, x, 0, 2);
  NAMES(moveaxis, x, {0, 1}, 0);
  NAMES(moveaxis, x, 2, 0);
  NAMES(reshape, x, {4});
  NAMES(reshape, x, {-2, 3});
  NAMES(broadcast_to, x, {2, 4});
  NAMES(sliding_window_view, x, 9);
  NAMES(sliding_window_view, x, 1, 2);
  NAMES(sliding_window_view, x, {1, 1, 1});
  NAMES(expand_dims, ones({1, 1, 1, 1, 1, 1, 1, 1}), 0);
  NAMES(mark_static, x, 2);
  NAMES(mark_dynamic, x, 0, 5, 9);
}

BOOST_AUTO_TEST_CASE(of_images) {
  const Tensor image = ones({1, 2, 8, 8}), w = ones({3, 2, 3, 3}), flat = ones({1, 2, 8}),
               deep = ones({1, 2, 8, 8, 8});
  NAMES(conv, image, flat);
  NAMES(conv1d, image, w);
  NAMES(conv1d, flat, ones({3, 3, 3}));
  NAMES(conv2d, flat, w);
  NAMES(conv2d, image, ones({3, 4, 3, 3}));
  NAMES(conv2d, image, ones({3, 2, 9, 9}));
  NAMES(conv2d, image, w, {.stride = 0});
  NAMES(conv2d, image, w, {.padding = -1});
  NAMES(conv2d, image, w, {.dilation = 0});
  NAMES(conv2d, image, w, {.groups = 0});
  NAMES(conv2d, image, w, {.groups = 2});
  NAMES(conv2d, image > 0, w > 0);
  NAMES(conv2d, astype(image, int64), astype(w, uint64));
  NAMES(conv3d, deep, w);
  NAMES(conv3d, deep, ones({3, 3, 3, 3, 3}));
  NAMES(conv_transpose, image, w);
  NAMES(conv_transpose, image, ones({2, 2, 3, 3}), {.output_padding = -1});
  NAMES(max_pool, image, 9);
  NAMES(max_pool, image, 2, {.padding = 2});
  NAMES(max_pool, image > 0, 2);
  NAMES(avg_pool, five, 2);
  NAMES(avg_pool, image, 2, {.stride = 0});
  NAMES(adaptive_max_pool, image, 0);
  NAMES(adaptive_max_pool, image > 0, 2);
  NAMES(adaptive_avg_pool, image, {1, 2, 3});
  NAMES(max_pool1d, image, 2);
  NAMES(max_pool2d, flat, 2);
  NAMES(max_pool3d, image, 2);
  NAMES(avg_pool1d, image, 2);
  NAMES(avg_pool2d, flat, 2);
  NAMES(avg_pool3d, image, 2);
  NAMES(adaptive_max_pool1d, image, 2);
  NAMES(adaptive_max_pool2d, flat, 2);
  NAMES(adaptive_max_pool3d, image, 2);
  NAMES(adaptive_avg_pool1d, image, 2);
  NAMES(adaptive_avg_pool2d, flat, 2);
  NAMES(adaptive_avg_pool3d, image, 2);
  const Tensor at = ones({1, 2, 8, 8}, int64);
  NAMES(max_pool_with_indices, nothing, 2);
  NAMES(max_pool_with_indices, image, 9);
  NAMES(max_pool_with_indices, image > 0, 2);
  NAMES(max_unpool, image, image, 2);
  NAMES(max_unpool, image, ones({1, 2, 8, 7}, int64), 2);
  NAMES(max_unpool, five, at, 2);
  NAMES(max_unpool, image, at, 2, {}, {1, 2, 3});
  NAMES(lp_pool, image, 0, 2);
  NAMES(lp_pool, image, 2, 2, {.padding = 1});
  NAMES(lp_pool, five, 2, 2);
  NAMES(adaptive_max_pool_with_indices, image, 0);
  NAMES(adaptive_max_pool_with_indices, five, 2);
  NAMES(adaptive_max_pool_with_indices, image > 0, 2);
  NAMES(avg_pool_backward, image, image, 2);
  NAMES(avg_pool_backward, nothing, image, 2);
  NAMES(adaptive_avg_pool_backward, five, image);
  NAMES(adaptive_avg_pool_backward, image, ones({2, 2, 3, 3}));
  NAMES(max_pool_backward, five, image, at);
  NAMES(max_pool_backward, image, image, image);
  NAMES(max_pool_backward, ones({1, 2, 4, 4}), image, at);
  NAMES(adaptive_avg_pool, five, 2);
}

BOOST_AUTO_TEST_CASE(of_loops_and_short_forms) {
  NAMES(begin, nothing);
  NAMES(begin, full({}, 1));
  NAMES(end, nothing);
  NAMES(end, full({}, 1));
  NAMES(flatten, nothing, 0, 1);
  NAMES(flatten, x, 1, 0);
  NAMES(flatten, x, 0, 2);
  NAMES(transpose, x, 0, 2);
  NAMES(transpose, nothing, 0, 1);
  NAMES(round, nothing, 1);
  NAMES(round, i, -1);
  NAMES(round, x, 39);
  CALLS(concatenate, concat, {x, five});
  CALLS(concatenate, concat, {x, nothing}, none);
  CALLS(where, nonzero, full({}, 1));
  NAMES(one_hot, x);
  NAMES(one_hot, nothing);
  NAMES(one_hot, zeros({0}, int64));
  NAMES(one_hot, -ones({2}, int64));
}

BOOST_AUTO_TEST_CASE(of_what_values_tell) {
  const Tensor w = ones({4, 2}), far = tensor({1, 7}), logits = ones({2, 3});
  const auto says = [](const char* text, auto&& f) {
    try {
      f();
      BOOST_ERROR("nothing was thrown");
    } catch (const IndexError& error) {
      BOOST_TEST(std::string(error.what()).starts_with(text), error.what());
    }
  };
  says("embedding: index 7 is out of range for an axis of 4 elements", [&] { embedding(far, w).eval(); });
  says("cross_entropy: index 7 is out of range for an axis of 3 elements",
       [&] { cross_entropy(logits, far).eval(); });
  says("nll_loss: index 7 is out of range for an axis of 3 elements",
       [&] { nll_loss(log_softmax(logits, 1), far).eval(); });
  says("take: index 7 is out of range for an axis of 4 elements", [&] { take(w, far, 0).eval(); });
  says("gather: index 7 ", [&] { gather(w, 0, far.reshape({1, 2})).eval(); });
}

BOOST_AUTO_TEST_CASE(of_indices_and_members) {
  Tensor y = ones({2, 3});
  SAYS(index, y(2));
  SAYS(index, y(0, 0, 0));
  SAYS(index, y(slice(0, 1, 0)));
  SAYS(index, y(ellipsis, ellipsis));
  SAYS(index, y(five));
  SAYS(index, y(ones({3}) > 0));
  SAYS(index, nothing(0));
  SAYS(assign, y(0) = five);
  SAYS(assign, y(0) = nothing);
  SAYS(add, y(0) += five);
  SAYS(assign, y(b) = five);
  Tensor k = ones({2}, int64);
  SAYS(assign, k(0) = 1.5);
  SAYS(add, k += 1.5);
  SAYS(add, y += five);
  SAYS(add, nothing + 1);
  SAYS(multiply, x * five);
  SAYS(shape, nothing.shape());
  SAYS(dtype, nothing.dtype());
  SAYS(ndim, nothing.ndim());
  SAYS(size, nothing.size());
  SAYS(size, x.size(2));
  SAYS(device, nothing.device());
  SAYS(nbytes, nothing.nbytes());
  SAYS(eval, nothing.eval());
  SAYS(to, nothing.to(cpu));
  SAYS(item, nothing.item<float>());
  SAYS(item, x.item<float>());
  SAYS(to_vector, nothing.to_vector<float>());
  SAYS(to_vector, nothing.to_vector<bool>());
  SAYS(data, nothing.data<float>());
  SAYS(data, x.data<double>());
  SAYS(index, y[2]);
  SAYS(index, y[five]);
  SAYS(index, nothing[0]);
  SAYS(assign, y[0] = five);
  SAYS(numel, nothing.numel());
  SAYS(dim, nothing.dim());
  SAYS(astype, nothing.to(float64));
  SAYS(copy, nothing.copy());
  SAYS(clone, nothing.clone());
  SAYS(contiguous, nothing.contiguous());
  SAYS(reshape, x.view({4}));
  SAYS(expand, x.expand({5}));
  SAYS(tile, x.tile({-1}));
  SAYS(flip, x.flip(2));
  SAYS(flatten, x.flatten(2));
  SAYS(transpose, x.transpose(0, 2));
  SAYS(round, x.round(400));
  SAYS(cumprod, x.cumprod(2));
  SAYS(ptp, x.ptp(2));
  SAYS(vector_norm, nothing.norm());
  SAYS(trace, five.trace());
  SAYS(diagonal, five.diagonal());
  SAYS(sort, x.sort(2));
  SAYS(topk, x.topk(4));
  SAYS(argsort, x.argsort(2));
  SAYS(nonzero, full({}, 1).nonzero());
  SAYS(t, ones({1, 2, 3}).t());
  SAYS(t, nothing.t());
  SAYS(matmul, x.matmul(five));
  SAYS(mm, x.mm(five));
  SAYS(pow, x.pow(five));
  SAYS(clip, x.clamp(0, five));
  SAYS(abs, nothing.abs());
  SAYS(square, nothing.square());
  SAYS(sqrt, nothing.sqrt());
  SAYS(exp, nothing.exp());
  SAYS(log, nothing.log());
  SAYS(tanh, nothing.tanh());
  SAYS(sigmoid, nothing.sigmoid());
  SAYS(relu, nothing.relu());
  SAYS(softmax, x.softmax(2));
  SAYS(log_softmax, x.log_softmax(2));
  SAYS(take, x.take(x, 0));
  SAYS(gather, x.gather(0, x));
  SAYS(masked_fill, x.masked_fill(x, 0));
  SAYS(sum, x.sum(2));
  SAYS(stdev, x.stdev(2));
  SAYS(std, x.std(2));
  SAYS(flatten, nothing.flatten());
  SAYS(transpose, nothing.T());
  SAYS(matrix_transpose, five.mT());
  SAYS(shape, zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  SAYS(axes, sum(x, {0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(of_random_numbers) {
  NAMES(random_bits, {-1});
  NAMES(rand, {-1});
  NAMES(uniform, 0, 1, {2}, int32);
  NAMES(randn, {2}, int32);
  NAMES(normal, 0, 1, {2}, int32);
  NAMES(randint, 5, 5, {2});
  NAMES(exponential, 1, {-2});
  NAMES(bernoulli, i);
  NAMES(bernoulli, nothing);
  NAMES(permutation, -1);
  NAMES(shuffle, x, 2);
  NAMES(shuffle, nothing);
  NAMES(multinomial, x, 4);
  NAMES(multinomial, i, 1);
  NAMES(multinomial, nothing, 1);
  NAMES(dropout, x, 2);
  NAMES(dropout, nothing);
  NAMES(truncated_normal, 0, 0, -1, 1, {2});
  NAMES(truncated_normal, 0, 1, 1, -1, {2});
  NAMES(truncated_normal, 0, 1, -1, 1, {2}, int32);
  NAMES(laplace, 0, -1, {2});
  NAMES(cauchy, 0, 1, {-2});
  NAMES(gumbel, 0, 0, {2});
  NAMES(log_normal, 0, 1, {2}, int32);
  NAMES(geometric, 0, {2});
  NAMES(geometric, 0.5, {2}, bool_);
  NAMES(standard_gamma, nothing);
  NAMES(gamma, 0, 1, {2});
  NAMES(beta, x, five);
  NAMES(chi2, nothing);
  NAMES(student_t, nothing);
  NAMES(dirichlet, ones({}));
  NAMES(poisson, nothing);
  CALLS(rand_like, rand, i);
  NAMES(rand_like, nothing);
  CALLS(randn_like, randn, i);
  CALLS(randint_like, randint, x, 0, 2);
}

BOOST_AUTO_TEST_CASE(of_array_names) {
  const Tensor point = ones({}), k = ones({3}, int64), m = ones({3, 3}), none_of = zeros({0, 3}),
               row = ones({2}, int64);
  NAMES(div, x, five);
  NAMES(div, x, x, "ceil");
  NAMES(div, b, b, "trunc");
  NAMES(divmod, b, b);
  NAMES(divmod, i, u);
  NAMES(rsub, x, five);
  NAMES(rsub, i, i, 0.5);
  NAMES(rsub, b, b);
  NAMES(gcd, x, i);
  NAMES(gcd, i, ones({5}, int64));
  NAMES(lcm, i, u);
  NAMES(lcm, i, ones({5}, int64));
  NAMES(float_power, i, u);
  NAMES(float_power, x, five);
  NAMES(frac, nothing);
  NAMES(modf, nothing);
  NAMES(frexp, nothing);
  NAMES(ldexp, x, x);
  NAMES(ldexp, x, ones({5}, int64));
  NAMES(nextafter, x, five);
  NAMES(spacing, nothing);
  NAMES(round, x, 301);
  NAMES(round, i, -1);
  NAMES(flatten, x, 2);
  NAMES(flatten, x, 1, 0);
  CALLS(concatenate, concat, {x, five});
  NAMES(isposinf, nothing);
  NAMES(isneginf, nothing);
  NAMES(i0e, nothing);
  NAMES(i1, nothing);
  NAMES(i1e, nothing);
  NAMES(erfcx, nothing);
  NAMES(ndtr, nothing);
  NAMES(log_ndtr, nothing);
  NAMES(ndtri, nothing);
  NAMES(zeta, x, five);
  NAMES(polygamma, -1, x);
  NAMES(polygamma, 171, x);
  NAMES(polygamma, 1, nothing);
  NAMES(mvlgamma, x, 0);
  NAMES(mvlgamma, nothing, 1);
  NAMES(entr, nothing);
  CALLS(gammaln, lgamma, nothing);
  CALLS(multigammaln, mvlgamma, nothing, 1);
  CALLS(psi, digamma, nothing);
  NAMES(mm, x, five);
  NAMES(mm, x, x);
  NAMES(mv, x, five);
  NAMES(bmm, x, x);
  NAMES(bmm, ones({2, 2, 3}), ones({3, 3, 2}));
  NAMES(addmm, x, x, x);
  NAMES(addmm, five, x, m);
  NAMES(addmm, i, i, ones({3, 3}, int64), 0.5);
  NAMES(addmm, b, b, m > 0);
  NAMES(addmv, x, x, five);
  NAMES(addr, x, x, five);
  NAMES(addbmm, x, x, x);
  NAMES(baddbmm, x, nothing, x);
  NAMES(convolve, x, five);
  NAMES(convolve, five, zeros({0}));
  NAMES(convolve, five, five, "all");
  NAMES(correlate, point, five);
  NAMES(correlate, k, ones({3}, uint64));
  NAMES(polyval, x, five);
  NAMES(polyval, k, u);
  NAMES(var_mean, x, 7);
  NAMES(std_mean, x, 7);
  NAMES(aminmax, none_of, 0);
  CALLS(amax, max, x, 7);
  CALLS(amin, min, x, 7);
  NAMES(nanargmax, x, 7);
  NAMES(nanargmax, x, {0, 1});
  NAMES(nanargmin, none_of, 0);
  NAMES(nancumsum, x, {0, 1});
  NAMES(nancumprod, x, 7);
  NAMES(dist, x, five);
  NAMES(renorm, five, 2, 0, 1);
  NAMES(renorm, x, 0, 0, 1);
  NAMES(renorm, x, 2, 0, -1);
  NAMES(renorm, x, 2, 2, 1);
  NAMES(ediff1d, b);
  NAMES(ediff1d, k, x);
  NAMES(gradient, x, {1, 2, 3});
  NAMES(gradient, x, {}, 2);
  NAMES(gradient, x, {}, 0, 2);
  NAMES(gradient, x, {}, 0, 3);
  NAMES(gradient, x, five, 1);
  NAMES(cumulative_trapezoid, point);
  NAMES(cumulative_trapezoid, x, five);
  CALLS(trapz, trapezoid, point);
  NAMES(logspace, 0, 1, -1);
  NAMES(geomspace, 0, 1);
  NAMES(geomspace, -1, 1);
  NAMES(geomspace, 1, 2, -1);
  NAMES(indices, {-1});
  NAMES(indices, {1, 1, 1, 1, 1, 1, 1, 1});
  NAMES(tril_indices, -1);
  NAMES(triu_indices, -2);
  NAMES(cartesian_prod, {});
  NAMES(cartesian_prod, {x});
  NAMES(cartesian_prod, {k, ones({3}, uint64)});
  NAMES(block_diag, {});
  NAMES(block_diag, {ones({1, 1, 1})});
  NAMES(block_diag, {x, nothing});
  NAMES(new_zeros, nothing, 2);
  NAMES(new_ones, x, {-1});
  NAMES(new_empty, x, {-1});
  NAMES(new_full, ones({1}, int8), 2, 300);
  NAMES(hsplit, point, 1);
  CALLS(hsplit, split, x, 2);
  NAMES(vsplit, point, 1);
  NAMES(vsplit, five, 1);
  NAMES(dsplit, x, {1});
  CALLS(tensor_split, array_split, x, 0);
  CALLS(broadcast_tensors, broadcast_arrays, {x, five});
  NAMES(concat, {x, nothing}, none);
  NAMES(concat, {i, u}, none);
  NAMES(mode, nothing);
  NAMES(mode, point);
  NAMES(mode, none_of, 0);
  NAMES(mode, x, 2);
  NAMES(nanmedian, none_of);
  NAMES(nanmedian, x, 7);
  NAMES(nanquantile, x, 1.5);
  NAMES(nanquantile, x, std::vector<double>());
  NAMES(nanpercentile, x, 101);
  NAMES(nanpercentile, nothing, std::vector<double>{1});
  NAMES(repeat, x, k);
  NAMES(repeat, x, x, 0);
  NAMES(repeat, x, row, {0, 1});
  NAMES(repeat, x, -row, 0);
  CALLS(repeat_interleave, repeat, x, k, 2);
  NAMES(combinations, x);
  NAMES(combinations, five, -1);
  NAMES(combinations, ones({1000}), 500);
  NAMES(isdtype, float32, "complex");
  NAMES(result_type, {});
  NAMES(result_type, {i, u, x, x});
}

BOOST_AUTO_TEST_CASE(of_array_functions) {
  const Tensor point = ones({}), eight = ones({1, 1, 1, 1, 1, 1, 1, 1}), no_rows = zeros({0, 3});
  NAMES(split, nothing, 1);
  NAMES(split, x, 4);
  NAMES(split, x, 0);
  NAMES(split, x, {1}, 2);
  NAMES(split, x, std::vector<int64_t>{1}, 2);
  NAMES(array_split, x, -1);
  NAMES(array_split, nothing, 1);
  NAMES(chunk, x, 0);
  NAMES(chunk, x, 1, 2);
  NAMES(unstack, point);
  CALLS(unbind, unstack, x, 2);
  NAMES(narrow, x, 1, 2, 2);
  NAMES(narrow, x, 1, -4, 1);
  NAMES(hstack, {});
  NAMES(hstack, {x, nothing});
  NAMES(hstack, {i, u});
  NAMES(vstack, {x, five});
  NAMES(dstack, {x, five});
  NAMES(column_stack, {x, five});
  NAMES(tile, nothing, 2);
  NAMES(tile, x, -1);
  NAMES(tile, x, INT64_MAX);
  NAMES(repeat, x, -1);
  NAMES(repeat, x, 2, {0, 1});
  NAMES(repeat, x, INT64_MAX, 0);
  CALLS(repeat_interleave, repeat, nothing, 2);
  NAMES(expand, x, {5, 3});
  NAMES(expand, x, {-1, 2, 3});
  NAMES(expand_as, x, five);
  NAMES(expand_as, x, nothing);
  NAMES(roll, nothing, 1);
  NAMES(roll, x, {1, 2});
  NAMES(roll, x, {1, 2, 3}, {0, 1});
  NAMES(roll, x, 1, 2);
  NAMES(rot90, five);
  NAMES(rot90, x, 1, {0, -2});
  NAMES(rot90, x, 1, 0);
  NAMES(flipud, point);
  NAMES(fliplr, five);
  NAMES(atleast_1d, nothing);
  NAMES(atleast_2d, nothing);
  NAMES(atleast_3d, nothing);
  NAMES(unflatten, x, 1, {2, -1});
  NAMES(unflatten, x, 1, {-1, -1});
  NAMES(unflatten, x, 2, {3});
  NAMES(unflatten, x, 1, {1, 1, 1, 1, 1, 1, 1, 3});
  CALLS(movedim, moveaxis, x, 2, 0);
  CALLS(swapdims, swapaxes, x, 2, 0);
  NAMES(pad, nothing, {{1, 1}});
  NAMES(pad, x, {{1, 1}, {1, 1}, {1, 1}});
  NAMES(pad, x, {{1, -1}});
  NAMES(pad, x, {{INT64_MAX, 1}});
  NAMES(pad, x, {{1, 1}}, "empty");
  NAMES(pad, ones({2}, int8), {{1, 1}}, "constant", 300);
  NAMES(pad, no_rows, {{1, 1}}, "edge");
  NAMES(diff, point);
  NAMES(diff, x, -1);
  NAMES(diff, x, 1, 2);
  NAMES(diagonal, five);
  NAMES(diagonal, x, 0, 1, -1);
  NAMES(trace, five);
  NAMES(trace, x, 0, 0, 1, bool_);
  NAMES(diag, point);
  NAMES(diag, five, INT64_MAX);
  NAMES(diag_embed, point);
  NAMES(diag_embed, x, 0, 0, 3);
  NAMES(diag_embed, eight);
  NAMES(tri, -1);
  NAMES(tri, INT64_MAX);
  NAMES(vander, x);
  NAMES(kron, nothing, x);
  NAMES(kron, i, u);
  NAMES(kron, ones({1, 1, 1, 1, 1}), x);
  NAMES(cross, nothing, x);
  NAMES(cross, x, five);
  NAMES(cross, b, b);
  NAMES(cross, x, x, 0);
  NAMES(inner, x, five);
  NAMES(inner, i, u);
  NAMES(nansum, nothing);
  NAMES(nansum, x, 7);
  NAMES(nansum, x, {}, dropdims, bool_);
  NAMES(nanprod, x, 7);
  NAMES(nanmax, x, 7);
  NAMES(nanmax, no_rows, 0);
  NAMES(nanmin, no_rows, 0);
  NAMES(nanmean, x, 7);
  NAMES(nanvar, nothing);
  NAMES(nanstd, x, {0, 0});
  NAMES(ptp, b);
  NAMES(ptp, no_rows, 0);
  NAMES(average, x, five);
  NAMES(average, x, five, 1);
  NAMES(average, x, nothing);
  NAMES(vector_norm, x, 2, 7);
  NAMES(vector_norm, no_rows, check::inf, 0);
  CALLS(norm, vector_norm, nothing);
  NAMES(cov, eight);
  NAMES(corrcoef, point);
  NAMES(trapezoid, point);
  NAMES(trapezoid, x, five);
  NAMES(trapezoid, x, ones({4, 3}));
  NAMES(isclose, x, five);
  NAMES(allclose, nothing, x);
  NAMES(array_equal, i, u);
  NAMES(nan_to_num, nothing);
  NAMES(cumprod, x, {0, 1});
  NAMES(cumprod, x, 0, bool_);
  NAMES(cummax, x, 7);
  NAMES(cummin, nothing);
  NAMES(cummin, x, {0, 1});
  NAMES(logcumsumexp, x, 7);
  NAMES(topk, x, 4);
  NAMES(topk, x, 1, 7);
  NAMES(kthvalue, x, 0);
  NAMES(kthvalue, point, 1);
  NAMES(median, no_rows);
  NAMES(median, x, 7);
  NAMES(quantile, x, 1.5);
  NAMES(quantile, x, {0.5, -1});
  NAMES(quantile, x, std::vector<double>());
  NAMES(quantile, no_rows, 0.5);
  NAMES(percentile, x, 101);
  NAMES(percentile, x, {0, 101});
  NAMES(percentile, nothing, std::vector<double>{1});
  NAMES(exp2, nothing);
  NAMES(cbrt, nothing);
  NAMES(sinc, nothing);
  NAMES(deg2rad, nothing);
  NAMES(rad2deg, nothing);
  NAMES(logit, nothing);
  NAMES(erfinv, nothing);
  NAMES(lgamma, nothing);
  NAMES(digamma, nothing);
  NAMES(i0, nothing);
  CALLS(radians, deg2rad, nothing);
  CALLS(degrees, rad2deg, nothing);
  CALLS(expit, sigmoid, nothing);
  CALLS(clamp_min, clip, x, five);
  CALLS(clamp_max, clip, x, five);
  NAMES(xlogy, x, five);
  NAMES(xlog1py, i, u);
  NAMES(logaddexp2, nothing, x);
  NAMES(heaviside, x, five);
  NAMES(lerp, x, x, five);
  NAMES(fmod, b, b);
  NAMES(fmod, x, five);
  NAMES(fmax, i, u);
  NAMES(fmin, x, nothing);
  NAMES(addcmul, b, b, b);
  NAMES(addcmul, i, i, i, 0.5);
  NAMES(addcmul, x, x, five);
  NAMES(addcmul, ones({2}, int8), ones({2}, int8), ones({2}, int8), 300);
  NAMES(addcdiv, x, five, x);
  NAMES(masked_fill, x, x, 1);
  NAMES(masked_fill, i, b, 1.5);
  NAMES(masked_fill, five, b, 1);
  NAMES(masked_select, x, i);
  NAMES(masked_select, five, b);
  NAMES(index_select, x, 0, i);
  NAMES(index_select, x, 2, i);
  NAMES(index_select, x, 0, x);
  NAMES(index_select, no_rows, 0, ones({1}, int64));
  NAMES(gather, x, 0, x);
  NAMES(gather, x, 0, ones({2}, int64));
  NAMES(gather, x, 0, ones({2, 4}, int64));
  NAMES(gather, no_rows, 0, i);
  NAMES(take_or, x, x, 0, 1);
  NAMES(take_or, i, i, 0, 1.5);
  NAMES(take_or, eight, i, 0, 1);
  NAMES(nonzero, point);
  NAMES(nonzero, nothing);
  NAMES(argwhere, nothing);
  NAMES(flatnonzero, nothing);
  NAMES(unique, nothing);
  NAMES(unique_counts, nothing);
  NAMES(unique_inverse, nothing);
  NAMES(unique_values, nothing);
  NAMES(unique_all, nothing);
  NAMES(isin, i, u);
  NAMES(isin, nothing, x);
  NAMES(setdiff1d, i, u);
  NAMES(intersect1d, x, nothing);
  NAMES(union1d, u, i);
  NAMES(select, x, 7, 0);
  NAMES(select, x, 0, 5);
  NAMES(take, x, x);
  NAMES(take, no_rows, i);
  NAMES(choose, x, {x});
  NAMES(choose, i, {});
  NAMES(choose, i, {x, five});
  NAMES(choose, i, {nothing});
  NAMES(choose, i, {i, u});
  NAMES(compress, x, x, 0);
  NAMES(compress, five, x, 0);
  NAMES(compress, ones({2}), x, 7);
  NAMES(compress, ones({9}), x);
  NAMES(extract, five, x);
  NAMES(ravel_multi_index, {x, x}, {2, 3});
  NAMES(ravel_multi_index, {i}, {2, 3});
  NAMES(ravel_multi_index, {i, i}, {2, 3}, Bounds::mask);
  NAMES(ravel_multi_index, {i, i}, {-1, 3});
  NAMES(ravel_multi_index, {i, i}, {0, 3});
  NAMES(unravel_index, x, {2});
  NAMES(unravel_index, i, {-2});
  NAMES(unravel_index, i, {0});
  NAMES(ix_, {x});
  NAMES(ix_, {i});
  NAMES(ix_, {Index(_)});
  NAMES(ix_, {nothing});
  NAMES(searchsorted, x, five);
  NAMES(searchsorted, ones({3}, int64), u);
  NAMES(digitize, five, x);
  NAMES(bucketize, five, x);
  NAMES(interp, x, five, ones({4}));
  NAMES(interp, x, zeros({0}), zeros({0}));
  NAMES(bincount, x);
  NAMES(bincount, i);
  NAMES(bincount, zeros({2}, int64), -1);
  NAMES(bincount, full({2}, -1));
  NAMES(bincount, ones({2}, int64), five);
  NAMES(histogram, x, 0);
  NAMES(histogram, nothing, 2);
  NAMES(histogram, x, 2, 1, 0);
}

BOOST_AUTO_TEST_CASE(of_files) {
  const std::string none = "/nowhere/file";
  NAMES(save, none, x);
  NAMES(save, none, nothing);
  NAMES(load, none);
  NAMES(save_npz, none, {{"x", x}});
  NAMES(save_npz, none, {{"x", nothing}});
  NAMES(save_npz, none, {{"", x}});
  NAMES(load_npz, none);
  NAMES(save_safetensors, none, {{"x", x}});
  NAMES(save_safetensors, none, {{"x", nothing}});
  NAMES(save_safetensors, none, {{"\xff", x}});
  NAMES(load_safetensors, none);
  NAMES(load_safetensors_index, none);
  NAMES(read_csv, none);
  NAMES(read_csv, none, {.delimiter = '1'});
  NAMES(read_jpeg, none);
  NAMES(read_png, none);
  NAMES(write_png, none, x);
  NAMES(write_png, none, nothing);
  NAMES(write_png, none, zeros({2}, uint8));
  NAMES(read_pnm, none);
  NAMES(write_pnm, none, zeros({2, 2, 4}, uint8));
  NAMES(write_pnm, none, zeros({2, 2}, uint8));
  NAMES(to_dlpack, nothing);
  NAMES(from_dlpack, static_cast<DLManagedTensorVersioned*>(nullptr));
  NAMES(from_dlpack, static_cast<DLManagedTensor*>(nullptr));
  SAYS(NamedTensors, NamedTensors({{"x", x}, {"x", x}}));
  SAYS(at, NamedTensors().at("x"));
}

BOOST_AUTO_TEST_CASE(gradients) {
  const auto total = [](const Tensor& a) { return sum(a); };
  const auto list = [](const std::vector<Tensor>& a) { return sum(a[0]); };
  const std::vector<Tensor> integers{arange(3)};
  NAMES(vjp, list, integers);
  NAMES(stop_gradient, nothing);
  CALLS(value_and_grad_of, vjp, list, integers);
  const auto no_gradient = [&] { return grad(total)(arange(3)); };
  names_itself(
      "grad", "vjp", [&] { (void)value_and_grad(total)(nothing); }, __LINE__);
  BOOST_CHECK_THROW(no_gradient(), DtypeError);
  CALLS(jvp, vjp, list, integers, integers);
  NAMES(hessian_vector, list, {x}, integers);
  NAMES(checkpoint, list, {nothing});
  NAMES(custom_function, list, {}, {nothing});
  NAMES(register_hook, x, {});
}

BOOST_AUTO_TEST_CASE(of_writing) {
  const Tensor at = ones({2}, int64);
  NAMES(put, x, x, 1);
  NAMES(put, x, i, five);
  NAMES(put, i, i, 1.5);
  NAMES(put, b, i, b, true);
  NAMES(index_put, x, {i}, five);
  NAMES(index_put, x, {x}, 1);
  NAMES(index_put, x, {0, 0, 0}, 1);
  NAMES(index_put, x, {7}, 1);
  NAMES(index_put, x, {_, five > 0}, 1);
  NAMES(index_put, x, {at, ones({3}, int64)}, 1);
  NAMES(index_put, i, {at}, 1.5);
  NAMES(index_put, b, {at}, true, true);
  NAMES(index_copy, x, 0, i, x);
  NAMES(index_copy, x, 7, at, x);
  NAMES(index_copy, x, 0, at, five);
  NAMES(index_fill, x, 0, at, x);
  NAMES(index_fill, x, 0, x, 1);
  NAMES(index_fill, x, 2, at, 1);
  NAMES(masked_scatter, x, x, x);
  NAMES(masked_scatter, five, b, x);
  NAMES(masked_scatter, i, b, x);
  NAMES(masked_scatter, x, b, zeros({0}));
  NAMES(select_scatter, x, five, 0, 0);
  NAMES(select_scatter, x, x, 5, 0);
  NAMES(select_scatter, x, ones({3}), 0, 9);
  NAMES(slice_scatter, x, five);
  NAMES(slice_scatter, x, x, 3);
  NAMES(slice_scatter, x, x, 0, none, none, 0);
  NAMES(diagonal_scatter, five, five);
  NAMES(diagonal_scatter, x, five);
  NAMES(diagonal_scatter, x, x, 0, 1, 1);
  NAMES(scatter_reduce, x, 0, i, x, "median");
  NAMES(scatter_reduce, x, 0, x, x, "sum");
  NAMES(scatter_reduce, x, 0, i, five, "sum");
  NAMES(scatter_reduce, x, 2, i, x, "sum");
  NAMES(scatter_reduce, b, 0, i, b, "sum");
  SAYS(index, x(i, x));
  SAYS(index, x(_, five > 0));
  SAYS(index, x({0, 2}));
  SAYS(index, x(at, ones({3}, int64)));
  SAYS(index, x(std::vector<Index>{0, 0, 0}));
}

// Lists every function in namespace lazy of the headers that lazy.hpp includes.
BOOST_AUTO_TEST_CASE(of_matrices) {
  const Tensor square = eye(3), half = ones({2, 2}, float16), vector = ones({3}), wide = ones({2, 3});
#define OF_SQUARE(function) \
  NAMES(function, wide);    \
  NAMES(function, vector);  \
  NAMES(function, half);    \
  NAMES(function, stack({wide, wide}) > 0);
#define OF_ANY(function)     \
  NAMES(function, vector);   \
  NAMES(function, ones({})); \
  NAMES(function, half);
  OF_SQUARE(inv)
  OF_SQUARE(det)
  OF_SQUARE(slogdet)
  OF_SQUARE(eig)
  OF_SQUARE(eigvals)
  OF_SQUARE(eigh)
  OF_SQUARE(eigvalsh)
  OF_SQUARE(cholesky)
  OF_SQUARE(cholesky_inverse)
  OF_SQUARE(matrix_exp)
  OF_ANY(lu)
  OF_ANY(lu_factor)
  OF_ANY(qr)
  OF_ANY(svd)
  OF_ANY(svdvals)
  OF_ANY(pinv)
  OF_ANY(matrix_rank)
#undef OF_SQUARE
#undef OF_ANY
  NAMES(eigh, square, 'X');
  NAMES(eigvalsh, square, 'X');
  NAMES(qr, square, "raw");
  NAMES(pinv, wide, {}, true);
  NAMES(matrix_rank, wide, {}, true);
  NAMES(solve, nothing, square);
  NAMES(solve, square, nothing);
  NAMES(solve, square, u > 0);
  NAMES(solve, i, u);
  NAMES(solve, wide, square);
  NAMES(solve, square, ones({4, 2}));
  NAMES(solve, square, ones({4}));
  NAMES(solve, square, 1);
  NAMES(solve, half, half);
  NAMES(solve, ones({2, 3, 3}), ones({4, 3, 1}));
  NAMES(solve_triangular, nothing, square, true);
  NAMES(solve_triangular, square, nothing, true);
  NAMES(solve_triangular, square, vector, true);
  NAMES(solve_triangular, square, ones({2, 2}), true);
  NAMES(solve_triangular, square, ones({2, 2}), true, false);
  NAMES(solve_triangular, wide, square, true);
  NAMES(solve_triangular, ones({2, 3, 3}), ones({4, 3, 1}), true);
  NAMES(cholesky_solve, nothing, square);
  NAMES(cholesky_solve, square, nothing);
  NAMES(cholesky_solve, vector, square);
  NAMES(cholesky_solve, square, wide);
  NAMES(lu_solve, nothing, tensor({1, 2, 3}), square);
  NAMES(lu_solve, square, nothing, square);
  NAMES(lu_solve, square, tensor({1, 2, 3}), nothing);
  NAMES(lu_solve, square, tensor({1, 2}), square);
  NAMES(lu_solve, square, vector, square);
  NAMES(lu_solve, square, tensor({1, 2, 3}), vector);
  NAMES(lu_solve, wide, tensor({1, 2}), square);
  NAMES(lstsq, nothing, square);
  NAMES(lstsq, square, nothing);
  NAMES(lstsq, wide, vector);
  NAMES(lstsq, wide, ones({}));
  NAMES(lstsq, vector, vector);
  NAMES(lstsq, half, half);
  NAMES(tensorsolve, nothing, square);
  NAMES(tensorsolve, square, nothing);
  NAMES(tensorsolve, square, ones({2}));
  NAMES(tensorsolve, square, square);
  NAMES(tensorinv, square, 0);
  NAMES(tensorinv, square, 2);
  NAMES(tensorinv, half, 1);
  NAMES(matrix_norm, vector);
  NAMES(matrix_norm, square, 3);
  NAMES(matrix_norm, square, "max");
  NAMES(matrix_norm, square, 2, {0});
  NAMES(matrix_norm, square, 2, {0, 0});
  NAMES(matrix_norm, square, 1, {0, 2});
  NAMES(matrix_norm, half, "nuc");
  NAMES(matrix_norm, ones({0, 2}), 2);
  NAMES(matrix_norm, ones({0, 0}), 1);
  NAMES(cond, wide, 1);
  NAMES(cond, ones({0, 0}));
  NAMES(cond, square, "spectral");
  NAMES(cond, half);
  NAMES(matrix_power, nothing, 2);
  NAMES(matrix_power, wide, 2);
  NAMES(matrix_power, vector, 0);
  NAMES(matrix_power, square > 0, 2);
  NAMES(matrix_power, half, -1);
  NAMES(multi_dot, {square});
  NAMES(multi_dot, {nothing, square});
  NAMES(multi_dot, {square, wide});
  NAMES(multi_dot, {square, vector, square});
  NAMES(multi_dot, {square > 0, square > 0});
  NAMES(multi_dot, {ones({}), square});
  NAMES(multi_dot, {i, u});
}

BOOST_AUTO_TEST_CASE(none_is_left_out) {
  // These take nothing that could be wrong, or name the missing device.
  const std::set<std::string> exempt{"default_device",
                                     "set_default_device",
                                     "is_available",
                                     "cuda_device_count",
                                     "describe",
                                     "synchronize",
                                     "machine",
                                     "set_arena",
                                     "to_string",
                                     "explain",
                                     "get_printoptions",
                                     "format",
                                     "slice"};
  const std::filesystem::path folder = std::filesystem::path(LAZY_SOURCE_DIR) / "lazy";
  const std::regex include("#include \"lazy/(.*)\""),
      declaration(
          "^(?:inline |constexpr |template <.*> )*[A-Z][A-Za-z:<>]* ([a-z]\\w*)\\(.*|"
          "^(?:inline |constexpr )*(?:void|bool|int|std::\\w+(?:<\\w+>)?) ([a-z]\\w*)\\(.*|"
          "^LAZY_ALIAS[12]\\((\\w+),.*");
  std::ifstream all(folder / "lazy.hpp");
  BOOST_REQUIRE(all);
  size_t found = 0;
  for (std::string line; std::getline(all, line);) {
    std::smatch header;
    if (!std::regex_match(line, header, include)) continue;
    std::ifstream in(folder / header[1].str());
    BOOST_REQUIRE(in);
    std::string until;  // the end of something whose functions are not called by name
    for (std::string l; std::getline(in, l);) {
      if (l.starts_with("namespace detail {") || l.starts_with("namespace cache {"))
        until = "}  // namespace";
      else if (l.starts_with("class ") && l.ends_with("{")) until = "};";
      const bool inside = !until.empty();
      if (inside && l.starts_with(until)) until.clear();
      std::smatch m;
      if (inside || !std::regex_match(l, m, declaration)) continue;
      const std::string name = m[1].matched ? m[1] : m[2].matched ? m[2] : m[3];
      ++found;
      BOOST_TEST((called().contains(name) || exempt.contains(name)),
                 name << " of " << header[1] << " is not called here");
    }
  }
  BOOST_TEST(found > 150u);
}

BOOST_AUTO_TEST_SUITE_END()
