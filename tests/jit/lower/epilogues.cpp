// Pointwise ops after a matrix product are computed from its accumulators: one kernel, the same bits. After
// sums in lanes, of which one is left, only short ones are.
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;

namespace {

/// The same function, fused and op by op.
template <class F>
void same_bits_in(uint64_t launches, F&& f) {
  const uint64_t before = metrics().launches;
  const auto fused = f().template to_vector<float>();
  BOOST_TEST(metrics().launches - before == launches);
  const config::Override eager("LAZY_EAGER", "1");
  BOOST_TEST(fused == f().template to_vector<float>(), boost::test_tools::per_element());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(epilogues, fresh::Fixture)

BOOST_AUTO_TEST_CASE(linear_layers_are_one_kernel) {
  for (const int64_t m : {1, 3, 40})
    for (const int64_t n : {1, 5, 75}) {
      const Tensor x = numbers({m, 33}) * 0.01, w = numbers({33, n}) * 0.01, b = numbers({n}),
                   r = numbers({m, n});
      eval(x, w, b, r);
      const bool sums = n == 1 && m > 1;  // with a vector along the sum
      same_bits_in(sums ? 2 : 1, [&] { return gelu(matmul(x, w) + b); });
      same_bits_in(1, [&] { return maximum(matmul(x, w) + b, 0) * 0.5 + r; });
      same_bits_in(1, [&] { return astype(astype(matmul(x, w), bfloat16), float32); });
    }
}

BOOST_AUTO_TEST_CASE(long_epilogues_of_rows_are_kernels_of_their_own) {
  const Tensor x = numbers({37, 50}) * 0.1;
  x.eval();
  same_bits_in(2, [&] { return gelu(sum(x, {1})); });
  same_bits_in(1, [&] { return sqrt(sum(x * x, {1}) + 1); });
  same_bits_in(1, [&] { return gelu(sum(x, {0})); });  // lanes are columns
  same_bits_in(1, [&] { return gelu(sum(x)); });
}

BOOST_AUTO_TEST_CASE(batches_and_several_results) {
  const Tensor x = numbers({3, 7, 20}) * 0.1, w = numbers({20, 18}) * 0.1, b = numbers({3, 1, 18});
  eval(x, w, b);
  const uint64_t before = metrics().launches;
  const Tensor y = matmul(x, w), z = tanh(y + b), u = y * z;
  eval(y, z, u);
  BOOST_TEST(metrics().launches - before == 1u);
  const auto fused = u.to_vector<float>();
  const config::Override eager("LAZY_EAGER", "1");
  const Tensor again = matmul(x, w);
  BOOST_TEST(fused == (again * tanh(again + b)).to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(products_are_stored_inside_padding) {
  const uint64_t apart = default_device() == cpu ? 0 : 1;
  for (const int64_t n : {1, 2})
    for (const int64_t c : {1, 5, 33}) {
      const Tensor x = numbers({n, 24, 20, 7}) * 0.1, w = numbers({7, c}) * 0.1, b = numbers({c});
      eval(x, w, b);
      const auto padded = [&](const Tensor& y) {
        return pad(y, std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 1}, {1, 1}, {0, 0}});
      };
      const auto layer = [&] { return matmul(x, w) + b; };
      const Tensor image = maximum(layer(), 0), wanted = padded(image.copy());
      // Depthwise: the window of ones sums what is around each element, zeros beyond the edge among it.
      const Tensor ones_of = ones({c, 1, 3, 3});
      eval(image, wanted, ones_of);
      const auto around = [&](const Tensor& y) {
        return conv2d(permute(y, {0, 3, 1, 2}).to_memory_format(channels_last), ones_of,
                      {.padding = {1}, .groups = c});
      };
      const auto apart_from = around(image).to_vector<float>();
      const uint64_t before = metrics().launches;
      const Tensor together = around(maximum(layer(), 0));
      together.eval();
      // A product, four strips, weights, sums; one column is no product of this kind.
      if (apart == 0 && c > 1) BOOST_TEST(metrics().launches - before <= 7u);
      BOOST_TEST(together.to_vector<float>() == apart_from, boost::test_tools::per_element());
      // The product is a result as well.
      const Tensor y = maximum(layer(), 0), z = around(y);
      eval(y, z);
      BOOST_TEST(z.to_vector<float>() == apart_from, boost::test_tools::per_element());
      BOOST_TEST(y.to_vector<float>() == image.to_vector<float>(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(permutations_of_products) {
  const uint64_t apart = default_device() == cpu ? 0 : 1;  // a GPU's kernels store in one order
  for (const int64_t n : {1, 4, 37}) {
    // extents that are equal: what is read in another order must not pass for the same index
    const Tensor a = numbers({n, 4, 4, 9}) * 0.1, b = numbers({n, 4, 9, 4}) * 0.1, c = numbers({4}),
                 wide = numbers({n, 3, 9, 35}) * 0.1, rows = numbers({5, 9}) * 0.1;
    eval(a, b, c, wide, rows);
    const auto merged = [&](const Tensor& y) { return reshape(permute(y, {0, 2, 1, 3}), {n, 4, 16}); };
    same_bits_in(1 + apart, [&] { return merged(matmul(a, b)); });
    same_bits_in(1 + apart, [&] { return merged(relu(matmul(a, b) * 2 + c)); });
    same_bits_in(1 + apart, [&] { return reshape(permute(matmul(rows, wide), {0, 2, 1, 3}), {n, 5 * 105}); });
    same_bits_in(2 + apart, [&] { return tanh(merged(matmul(a, b))) * 3; });
    same_bits_in(2, [&] {  // lanes would be apart
      return reshape(permute(matmul(a, b), {0, 1, 3, 2}), {n, 64});
    });
    const auto values = [&] {
      const Tensor y = matmul(a, b), z = merged(y), again = reshape(z, {n, 4, 4, 4}),
                   u = softmax(again + y, {-1}), v = relu(again);
      return concat({reshape(u, {n, 64}), reshape(v, {n, 64}), reshape(z, {n, 64}), reshape(y, {n, 64})}, 0)
          .to_vector<float>();
    };
    const auto fused = values();
    const config::Override eager("LAZY_EAGER", "1");
    BOOST_TEST(fused == values(), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(products_of_products) {
  const Tensor x = numbers({9, 9}) * 0.1;
  x.eval();
  same_bits_in(2, [&] {
    const Tensor y = matmul(x, x);
    return matmul(maximum(y, 1), x) + y;  // the second product's epilogue reads the first's result
  });
  same_bits_in(3, [&] { return matmul(x, x) + permute_dims(matmul(x, x + 1), {1, 0}); });
}

BOOST_AUTO_TEST_CASE(wider_results_are_apart) {
  const Tensor x = numbers({9, 9}) * 0.1;
  x.eval();
  same_bits_in(2, [&] { return astype(astype(matmul(x, x), float64) * 0.1, float32) + 0; });
}

BOOST_AUTO_TEST_SUITE_END()
