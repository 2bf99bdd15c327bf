// Holds, for forty expressions of everyday use, the number of kernels that one flush of each takes. Fewer are
// better: then change the table. More mean that something is no longer fused.
//
// The kernels of a softmax or of a norm go along the same rows: on a GPU they are launched as one, on a CPU
// they run block by block where that pays (tile groups, docs/architecture/fusion.md). Here each counts.
#include <functional>

#include "tests/common/check.hpp"

using namespace lazy;

namespace {

Tensor wave(const Shape& shape, double frequency = 0.37) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

struct Row {
  const char* what;
  uint64_t kernels;
  std::function<Tensor()> expression;
};

void hold(const std::vector<Row>& rows) {
  for (const Row& r : rows) {
    const Explanation e = explain([&] { r.expression().eval(); });
    BOOST_REQUIRE_MESSAGE(e.flushes.size() == 1, r.what << " takes " << e.flushes.size() << " flushes");
    const uint64_t n = e.flushes[0].kernels;
    BOOST_TEST(n == r.kernels, r.what << " takes " << n << " kernels");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_counts)

BOOST_AUTO_TEST_CASE(pointwise_and_views) {
  const Tensor x = wave({64, 96}), y = wave({64, 96}, 0.7), v = wave({96}, 0.11), column = wave({64, 1}, 0.3),
               image = wave({8, 8, 3}, 0.2);
  hold({
      {"a chain", 1, [&] { return tanh(x * 2 + y) / (1 + exp(-x)); }},
      {"broadcasts", 1, [&] { return (x - v) * column; }},
      {"transposed", 1, [&] { return x.T() + y.T() * 2; }},
      {"a slice", 1, [&] { return sqrt(abs(x(slice(1, 60, 2), _))) + 1; }},
      {"differences", 1, [&] { return x(slice(1, none), _) - x(slice(none, -1), _); }},
      {"five-point stencil", 1,
       [&] {
         const Slice inner = slice(1, -1);
         return (x(slice(2, none), inner) + x(slice(none, -2), inner) + x(inner, slice(2, none)) +
                 x(inner, slice(none, -2))) *
                0.25;
       }},
      {"where", 1, [&] { return where(x > y, x, -y) + where(y > 0, 1.0f, v); }},
      {"clip and cast", 1, [&] { return (clip(x, 0, 1) * 255).astype(uint8); }},
      {"a picture normalised", 1,
       [&] { return (image(slice(1, 7), slice(1, 7), _) - v(slice(0, 3))) / (v(slice(3, 6)) + 2); }},
      {"outer", 1, [&] { return outer(v, v) + 1; }},
      {"tril", 1, [&] { return tril(x) * 2; }},
      {"flipped", 1, [&] { return flip(x, {1}) + x; }},
      {"repeated", 1,
       [&] {
         return broadcast_to(v, {64, 96}) * x;
       }},
      {"meshgrid", 1, [&] { return sqrt(square(arange(64)(_, newaxis)) + square(arange(96))); }},
      {"isclose", 1, [&] { return isclose(x, y) | isnan(x); }},
      {"rolled neighbours", 5, [&] { return roll(x, 1, {0}) + roll(x, -1, {0}) + x; }},
      {"joined", 2,
       [&] {
         return concat({x * 2, y + 1}, 0);
       }},
      {"stacked", 2,
       [&] {
         return stack({x * 2, y + 1}, 0);
       }},
  });
}

BOOST_AUTO_TEST_CASE(reductions) {
  const Tensor x = wave({64, 96}), y = wave({64, 96}, 0.7), v = wave({96}, 0.11);
  hold({
      {"mean squared error", 1, [&] { return mean(square(x - y)); }},
      {"a norm", 1, [&] { return vector_norm(x * 2); }},
      {"sums of columns", 1, [&] { return sum(x * y, {0}); }},
      {"largest of a sum", 1, [&] { return max(x + y, {1}) * 2; }},
      {"argmax", 1, [&] { return argmax(x * y, 1); }},
      {"all close", 1, [&] { return allclose(x, y); }},
      {"counted", 1, [&] { return count_nonzero(x > 0.5); }},
      {"running sum", 1, [&] { return cumsum(x * 2, 1); }},
      {"standard deviation", 2, [&] { return lazy::std(x); }},
      {"standardised", 4, [&] { return (x - mean(x)) / (lazy::std(x) + 1e-6); }},
      {"standardised by a mean", 2, [&] { return (x(slice(2, 60), _) - mean(v)) / 2; }},
      {"normalised rows", 2, [&] { return x / vector_norm(x, 2, {-1}, keepdims); }},
      {"distances", 1, [&] { return sum(square(x(_, newaxis, _) - y(newaxis, slice(0, 8), _)), {-1}); }},
      {"softmax", 3, [&] { return softmax(x + v, -1) * y; }},
      {"logsumexp", 2, [&] { return logsumexp(x, {-1}); }},
      {"layer norm", 3, [&] { return layer_norm(x, {96}, v, v); }},
  });
}

BOOST_AUTO_TEST_CASE(indices_products_and_random_numbers) {
  const Tensor table = wave({64, 96}), positions = wave({10, 96}, 0.3), ids = (arange(10) * 7 % 64).eval(),
               x = wave({10, 96}, 0.21), w = wave({96, 32}, 0.17), b = wave({32}, 0.13),
               heads = wave({2, 3, 5, 4}, 0.11), keys = wave({2, 3, 4, 7}, 0.19);
  manual_seed(7);
  hold({
      {"embedding", 1, [&] { return embedding(ids, table) + positions; }},
      {"rows at computed places", 1, [&] { return take(table, (ids * 3 + 1) % 64, 0) * 2; }},
      {"one of each row", 1, [&] { return take_along_axis(x, ids(_, newaxis), 1) - 1; }},
      {"one_hot", 1, [&] { return one_hot(ids, 64).astype(float32) * 2; }},
      {"a dense layer", 1, [&] { return relu(matmul(x, w) + b); }},
      {"a dense layer with dropout", 1, [&] { return dropout(relu(matmul(x, w) + b), 0.5); }},
      {"gelu of a slice's product", 1, [&] { return gelu(matmul(x(slice(2, 8), _), w)); }},
      {"a product's heads merged", default_device() == cpu ? 1u : 2u,  // a GPU's kernels store in one order
       [&] {
         return reshape(permute(matmul(heads, keys) * 2, {0, 2, 1, 3}), {2, 5, 3 * 7});
       }},
      {"noise", 1,
       [&] {
         return x + 0.1 * randn({10, 96});
       }},
      {"cross entropy", 4, [&] { return cross_entropy(matmul(x, w), ids % 32); }},
      {"scattered sums", 2,  // zeros; sums
       [&] { return scatter_add(zeros({64}, float32), 0, ids, positions(_, 0)); }},
  });
}

BOOST_AUTO_TEST_SUITE_END()
