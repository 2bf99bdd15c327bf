// Compares attentions whose mask is in memory, which leave out the keys that it hides from whole blocks of
// queries, with those whose mask is added to the scores, which go through all keys.
#include <cmath>
#include <limits>

#include "tests/common/check.hpp"

using namespace lazy;

namespace {

constexpr int64_t kBatch = 3, kHeads = 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sizes {
  int64_t length, keys, width;
};

struct Masked {
  const char* name;
  Tensor mask;  // true for keys that are seen
};

Tensor row(int64_t n) { return arange(0, n, 1, int64); }

std::vector<Masked> masks(const Sizes& s) {
  const Tensor query = reshape(row(s.length), {s.length, 1}), key = reshape(row(s.keys), {1, s.keys});
  const Tensor lengths = reshape(tensor<int64_t>({0, s.keys / 3, s.keys}), {kBatch, 1, 1, 1});
  const Tensor larger =
      reshape(row(s.length + 40), {s.length + 40, 1}) >= reshape(row(s.keys + 40), {1, s.keys + 40});
  const Tensor turned = (reshape(row(s.keys), {s.keys, 1}) <= reshape(row(s.length), {1, s.length})).eval();
  return {
      {"padded at the end", (key < lengths).eval()},
      {"padded at the begin", (key >= lengths).eval()},
      {"inverted in the program", ~(key >= lengths).eval()},
      {"causal", (key <= query).eval()},
      {"causal and padded", ((key <= query) & (key < lengths)).eval()},
      {"a window", ((key <= query) & (key + 20 > query)).eval()},
      {"documents", (floor_divide(key, 50) == floor_divide(query, 50)).eval()},
      {"holes", (key % 7 != 0).eval()},
      {"by chance", (rand({kBatch, kHeads, s.length, s.keys}) > 0.9).eval()},
      {"one head sees nothing", (reshape(row(kHeads), {kHeads, 1, 1}) > 0).eval() | full({1, s.keys}, false)},
      {"a part of a larger one", larger.eval().index({slice(0, s.length), slice(0, s.keys)})},
      {"transposed", matrix_transpose(turned)},
      {"all", full({s.length, s.keys}, true).eval()},
      {"none", full({s.length, s.keys}, false).eval()},
  };
}

Tensor numbers(Shape shape, DType t) { return astype(rand(shape) * 2 - 1, t).eval(); }

/// Returns an attention's result and the gradients of queries, keys and values.
std::vector<Tensor> all_of(const Sizes& s, DType t, const Tensor& mask, bool causal) {
  manual_seed(11);
  Tensor q = numbers({kBatch, kHeads, s.length, s.width}, t),
         k = numbers({kBatch, kHeads, s.keys, s.width}, t), v = numbers({kBatch, kHeads, s.keys, s.width}, t);
  q.requires_grad_(), k.requires_grad_(), v.requires_grad_();
  const Tensor y = scaled_dot_product_attention(q, k, v, mask, causal);
  sum(y * y).backward();
  return {y, q.grad(), k.grad(), v.grad()};
}

void compare(const Sizes& s, DType t, const Masked& m, bool causal) {
  const auto got = all_of(s, t, m.mask, causal);
  const DType work = is_half(t) ? float32 : t;
  const auto want =
      all_of(s, t, where(m.mask, astype(tensor(0.0), work), astype(tensor(-kInfinity), work)), causal);
  const char* const names[] = {"result", "gradient of queries", "gradient of keys", "gradient of values"};
  for (size_t i = 0; i < got.size(); ++i) {
    const auto a = astype(got[i], float64).to_vector<double>(),
               b = astype(want[i], float64).to_vector<double>();
    BOOST_REQUIRE(a.size() == b.size());
    size_t differ = 0;
    for (size_t j = 0; j < a.size(); ++j) differ += a[j] != b[j] && !(std::isnan(a[j]) && std::isnan(b[j]));
    BOOST_TEST(differ == 0u, m.name << (causal ? ", causal too, " : ", ") << name_of(t) << " " << s.length
                                    << "x" << s.keys << "x" << s.width << ", " << names[i] << ": " << differ
                                    << " of " << a.size() << " differ");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(keys_that_a_mask_hides_from_blocks_change_no_bit) {
  for (const Sizes& s : {Sizes{64, 64, 32}, {97, 131, 33}, {200, 257, 40}, {5, 70, 8}})
    for (const Masked& m : masks(s)) {
      compare(s, float32, m, false);
      compare(s, float32, m, true);
      compare(s, float64, m, false);
      compare(s, bfloat16, m, false);
    }
}
