// Tests the cache of keys and values in blocks: step by step it gives what attention over the whole gives,
// whatever sequences share.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/ops/float8.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;

namespace {

constexpr int64_t kHeads = 4, kGroups = 2, kWidth = 8, kLayers = 2;

/// Returns what token t of a text with this number is, in a layer: (1, heads, width).
Tensor token(int64_t text, int64_t t, int64_t heads, double frequency) {
  const double at = static_cast<double>(text * 1000 + t);
  return sin(arange(1, heads * kWidth + 1, 1, float32) * (frequency + 0.001 * at) + at)
      .reshape({1, heads, kWidth});
}
/// Holds which text each token of a sequence is of.
using Text = std::vector<int64_t>;
Tensor tokens(const Text& text, int64_t first, int64_t heads, double frequency) {
  std::vector<Tensor> all;
  for (size_t t = static_cast<size_t>(first); t < text.size(); ++t)
    all.push_back(token(text[t], static_cast<int64_t>(t), heads, frequency));
  return concat(all, 0).eval();
}
/// Returns causal attention over all of a text, for its tokens from `first` on.
std::vector<float> whole(const Text& text, int64_t first) {
  const auto heads_first = [&](const Tensor& x) { return permute(x, {1, 0, 2}); };
  const auto shared = [&](const Tensor& x) { return repeat_interleave(heads_first(x), kHeads / kGroups, 0); };
  const Tensor y = scaled_dot_product_attention(heads_first(tokens(text, 0, kHeads, 0.3)),
                                                shared(tokens(text, 0, kGroups, 0.5)),
                                                shared(tokens(text, 0, kGroups, 0.7)), {}, true);
  return permute(y, {1, 0, 2})(slice(first, static_cast<int64_t>(text.size()))).to_vector<float>();
}
void close(const std::vector<float>& a, const std::vector<float>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (const float d = std::abs(a[i] - b[i]); !(d <= worst)) worst = d;
  BOOST_TEST(worst <= 3e-6f);
}
nn::PagedCacheOptions sizes(int64_t blocks, int64_t block = 4) {
  return {.layers = kLayers, .heads = kGroups, .width = kWidth, .block = block, .blocks = blocks};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(keys_and_values_in_blocks)

BOOST_AUTO_TEST_CASE(goes_on_where_it_was) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  for (const int64_t block : {1, 3, 16}) {
    nn::PagedCache cache(sizes(400 / block + 12, block));
    const int64_t blocks = cache.free_blocks();
    std::map<int64_t, Text> texts;
    int64_t next_text = 0;
    for (int round = 0; round < 60; ++round) {
      if (texts.size() < 2 || draw(5) == 0) texts[cache.add()] = {};
      if (draw(3) == 0) {  // one that begins like another
        const auto of = std::next(texts.begin(), draw(static_cast<int64_t>(texts.size()) - 1));
        const Text same = of->second;
        texts[cache.fork(of->first)] = same;
      }
      if (texts.size() > 5) {
        const auto gone = std::next(texts.begin(), draw(5));
        cache.remove(gone->first);
        texts.erase(gone);
      }
      std::vector<int64_t> ids, counts, firsts;
      std::vector<Tensor> q, k, v;
      for (auto& [id, text] : texts) {
        if (draw(3) == 0) continue;
        const int64_t count = draw(4), first = static_cast<int64_t>(text.size());
        text.insert(text.end(), static_cast<size_t>(count), next_text++);
        ids.push_back(id), counts.push_back(count), firsts.push_back(first);
        if (count == 0) continue;
        q.push_back(tokens(text, first, kHeads, 0.3));
        k.push_back(tokens(text, first, kGroups, 0.5));
        v.push_back(tokens(text, first, kGroups, 0.7));
      }
      if (q.empty()) continue;
      const nn::PagedStep step = cache.extend(ids, counts);
      std::vector<float> expected;
      for (size_t i = 0; i < ids.size(); ++i) {
        BOOST_TEST(cache.length(ids[i]) == static_cast<int64_t>(texts[ids[i]].size()));
        if (counts[i] == 0) continue;
        for (const float x : whole(texts[ids[i]], firsts[i])) expected.push_back(x);
      }
      for (int64_t layer = 0; layer < kLayers; ++layer)
        close(cache.attend(step, layer, concat(q, 0), concat(k, 0), concat(v, 0)).to_vector<float>(),
              expected);
    }
    for (const auto& [id, text] : texts) cache.remove(id);
    BOOST_TEST(cache.free_blocks() == blocks);
  }
}

BOOST_AUTO_TEST_CASE(what_is_shared_takes_no_memory) {
  nn::PagedCache cache(sizes(6));
  const int64_t a = cache.add();
  cache.extend({a}, {9});  // three blocks
  BOOST_TEST(cache.free_blocks() == 3);
  const int64_t b = cache.fork(a), c = cache.fork(a);
  BOOST_TEST(cache.free_blocks() == 3);
  cache.extend({b, c}, {1, 1});  // each copies the last one
  BOOST_TEST(cache.free_blocks() == 1);
  cache.extend({a}, {3});  // that is a's alone now
  BOOST_TEST(cache.free_blocks() == 1);
  BOOST_CHECK_THROW(cache.extend({a, b}, {1, 4}), Error);
  BOOST_TEST(cache.length(a) == 12);
  BOOST_TEST(cache.length(b) == 10);
  BOOST_TEST(cache.free_blocks() == 1);
  cache.remove(a);
  BOOST_TEST(cache.free_blocks() == 2);  // two are b's and c's still
}

BOOST_AUTO_TEST_CASE(each_step_is_in_place_and_one_program) {
  nn::PagedCache cache(sizes(512));  // large enough that what overwrites them pays
  const int64_t a = cache.add(), b = cache.add();
  const auto go_on = [&](const std::vector<int64_t>& counts) {
    const nn::PagedStep step = cache.extend({a, b}, counts);
    const int64_t total = counts[0] + counts[1];
    const auto some = [&](int64_t heads) { return full({total, heads, kWidth}, 0.5, float32); };
    Tensor y = cache.attend(step, 0, some(kHeads), some(kGroups), some(kGroups));
    y = cache.attend(step, 1, y, some(kGroups), some(kGroups));
    y.eval();
  };
  go_on({5, 3});
  go_on({1, 1});
  go_on({1, 1});
  reset_metrics();
  for (int i = 0; i < 60; ++i) go_on({1, 1});
  BOOST_TEST(metrics().program_misses <= 1u);  // more blocks in the table
  const uint64_t pool = 512 * 4 * kGroups * kWidth * 4;
  BOOST_TEST(metrics().bytes_donated >= 60 * 4 * pool);  // keys and values of two layers
}

BOOST_AUTO_TEST_CASE(messages) {
  nn::PagedCache cache(sizes(6));
  const int64_t a = cache.add();
  BOOST_CHECK_THROW(cache.extend({a, a}, {1, 1}), Error);
  BOOST_CHECK_THROW(cache.extend({a}, {1, 1}), Error);
  BOOST_CHECK_THROW(cache.extend({a + 1}, {1}), Error);
  BOOST_CHECK_THROW(cache.extend({a}, {-1}), Error);
  BOOST_CHECK_THROW(cache.fork(7), Error);
  BOOST_CHECK_THROW(cache.remove(7), Error);
  BOOST_CHECK_THROW((void)cache.length(7), Error);
  BOOST_CHECK_THROW(nn::PagedCache({.layers = 0}), Error);
  const nn::PagedStep step = cache.extend({a}, {2});
  const Tensor q = zeros({2, kHeads, kWidth}), k = zeros({2, kGroups, kWidth});
  BOOST_CHECK_THROW(cache.attend(step, 2, q, k, k), IndexError);
  BOOST_CHECK_THROW(cache.attend(step, 0, q, zeros({3, kGroups, kWidth}), k), ShapeError);
  BOOST_CHECK_THROW(cache.attend(step, 0, zeros({2, 3, kWidth}), k, k), ShapeError);
  BOOST_TEST(cache.attend(step, 0, q, k, k).shape() == (Shape{2, kHeads, kWidth}));
}

BOOST_AUTO_TEST_CASE(keys_stored_in_fewer_bits) {
  // Rows that are rounded as the cache rounds them, attended to in float32.
  const auto rounded = [](const Tensor& x, nn::CacheFormat format, DType dtype) -> Tensor {
    if (format == nn::CacheFormat::as_given) return x.astype(dtype).astype(float32);
    const double most = format == nn::CacheFormat::int8 ? 127 : 448;
    const Tensor scale = max(abs(x), 2, keepdims) / most, part = x / scale;
    return (format == nn::CacheFormat::int8 ? round(part) : from_float8(to_float8(part))) * scale;
  };
  struct Kind {
    const char* name;
    nn::CacheFormat format;
    DType dtype;
  };
  const Kind kinds[] = {{"int8", nn::CacheFormat::int8, float32},
                        {"float8", nn::CacheFormat::float8, float32},
                        {"bfloat16", nn::CacheFormat::as_given, bfloat16},
                        {"float16", nn::CacheFormat::as_given, float16}};
  for (const Kind& kind : kinds)
    for (const auto& [heads, width, value_width] :
         {std::tuple<int64_t, int64_t, int64_t>{2, 8, 8}, {1, 5, 19}, {60, 3, 2}, {4, 64, 64}})
      for (const int64_t queries : {1, 2, 40})
        BOOST_TEST_CONTEXT(kind.name << " " << heads << " " << queries) {
          nn::PagedCacheOptions o{.layers = 1,
                                  .heads = heads,
                                  .width = width,
                                  .value_width = value_width,
                                  .block = 7,
                                  .blocks = 120,
                                  .dtype = kind.dtype};
          o.format = kind.format;
          nn::PagedCache cache(o), exact({.layers = 1,
                                          .heads = heads,
                                          .width = width,
                                          .value_width = value_width,
                                          .block = 7,
                                          .blocks = 120});
          Generator g(9);
          for (nn::PagedCache* c : {&cache, &exact}) c->add();
          for (const int64_t count : {int64_t{300}, queries}) {
            const Tensor q = randn(g, {count, 2 * heads, width}).eval(),
                         k = (randn(g, {count, heads, width}) * 3).eval(),
                         v = randn(g, {count, heads, value_width}).eval();
            const Tensor y = cache.attend(cache.extend({0}, {count}), 0, q, k, v);
            const Tensor z =
                exact.attend(exact.extend({0}, {count}), 0, q, rounded(k, kind.format, kind.dtype),
                             rounded(v, kind.format, kind.dtype));
            close(y.to_vector<float>(), z.to_vector<float>());
          }
          if (width == 64) {
            const double share = static_cast<double>(cache.nbytes()) / static_cast<double>(exact.nbytes());
            BOOST_TEST(share == (kind.format == nn::CacheFormat::as_given ? 0.5 : 17.0 / 64));
          }
        }
}

BOOST_AUTO_TEST_CASE(copies_of_shared_blocks_have_their_scales) {
  nn::PagedCache cache(
      {.layers = 1, .heads = 1, .width = 4, .block = 4, .blocks = 8, .format = nn::CacheFormat::int8});
  const int64_t a = cache.add();
  const Tensor x = (arange(1, 13, 1, float32) / 7).reshape({3, 1, 4}).eval();
  (void)cache.attend(cache.extend({a}, {3}), 0, x, x, x).eval();
  const int64_t b = cache.fork(a);
  const Tensor more = full({1, 1, 4}, 50.0f);
  const auto before =
      cache.attend(cache.extend({b}, {1}), 0, full({1, 1, 4}, 0.0f), more, more).to_vector<float>();
  const auto own =
      cache.attend(cache.extend({a}, {1}), 0, full({1, 1, 4}, 0.0f), -more, -more).to_vector<float>();
  BOOST_TEST(before[0] > 12);
  BOOST_TEST(own[0] < -11);
}

BOOST_AUTO_TEST_SUITE_END()
