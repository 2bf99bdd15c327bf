// Tests datasets and samplers.
#include <map>
#include <numeric>
#include <set>

#include "lazy/data/loader.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using namespace lazy::data;

namespace {

struct Numbers {
  int64_t begin, n;
  int64_t size() const { return n; }
  int64_t get(int64_t i) const { return begin + i; }
};

template <class D>
std::vector<int64_t> all_of(const D& d) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < d.size(); ++i) all.push_back(d.get(i));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(datasets)

BOOST_AUTO_TEST_CASE(of_tensors) {
  const Tensor x = reshape(arange(0, 12, 1, float32), {2, 6}).T();  // strided
  const TensorDataset d(x, arange(6));
  BOOST_TEST(d.size() == 6);
  const Example e = d.get(4);
  check::equal(e.x.tensor(), float32, {2}, {4, 10});
  check::equal(e.y.tensor(), int64, {}, {4});
  BOOST_TEST(!TensorDataset(x).get(0).y.defined());
  BOOST_CHECK_THROW((void)d.get(6), IndexError);
  BOOST_CHECK_THROW((void)d.get(-1), IndexError);
  THROWS(ShapeError, TensorDataset(x, arange(5)),
         "TensorDataset: x is [6, 2], y [5]: the first axes have to be equal");
  THROWS(ShapeError, TensorDataset(tensor(1.0f)),
         "TensorDataset: x has no axis of examples: its shape is []");
  THROWS(Error, TensorDataset(Tensor()),
         "Array: the tensor is empty (default-constructed): assign to it first");
}

BOOST_AUTO_TEST_CASE(of_datasets) {
  const Subset part(Numbers{10, 5}, {4, 0, 0});
  BOOST_TEST(all_of(part) == (std::vector<int64_t>{14, 10, 10}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(Subset(Numbers{10, 5}, {5}), IndexError);
  BOOST_CHECK_THROW((void)part.get(3), IndexError);
  const ConcatDataset joined(std::vector<Numbers>{{0, 2}, {50, 0}, {100, 3}});
  BOOST_TEST(all_of(joined) == (std::vector<int64_t>{0, 1, 100, 101, 102}), boost::test_tools::per_element());
  BOOST_CHECK_THROW((void)joined.get(5), IndexError);
  const MapDataset doubled(Numbers{1, 3}, [](int64_t v) { return 2 * v; });
  BOOST_TEST(all_of(doubled) == (std::vector<int64_t>{2, 4, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(split_at_random) {
  Generator g(5), same(5);
  const auto parts = random_split(Numbers{0, 20}, {15, 5, 0}, g);
  BOOST_TEST(parts.size() == 3u);
  std::vector<int64_t> all = all_of(parts[0]);
  BOOST_TEST((all != all_of(Numbers{0, 15})));
  BOOST_TEST((all == all_of(random_split(Numbers{0, 20}, {15, 5, 0}, same)[0])));
  BOOST_TEST(g.position() == 1u);
  for (const int64_t v : all_of(parts[1])) all.push_back(v);
  std::sort(all.begin(), all.end());
  BOOST_TEST((all == all_of(Numbers{0, 20})));
  THROWS(ShapeError, random_split(Numbers{0, 20}, {15, 4}, g),
         "random_split: parts of 15 + 4 examples, the dataset has 20");
  THROWS(ShapeError, random_split(Numbers{0, 20}, {25, -5}, g),
         "random_split: parts of 25 examples, the dataset has 20");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(samplers)

/// Returns Pearson's statistic of counts against expected ones.
double chi_squared(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  return sum;
}

BOOST_AUTO_TEST_CASE(permutations_are_uniform) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  RandomSampler sampler(4, g);
  std::map<std::vector<int64_t>, double> seen;
  constexpr int kDraws = 24000;
  for (int i = 0; i < kDraws; ++i) ++seen[sampler.order(sampler.draw())];
  BOOST_TEST(seen.size() == 24u);
  std::vector<double> counts;
  for (const auto& [order, n] : seen) counts.push_back(n);
  // 23 degrees of freedom: exceeded once in ten million seeds.
  BOOST_TEST(chi_squared(counts, std::vector<double>(24, kDraws / 24.0)) < 75.0, "LAZY_TEST_SEED=" << seed);
}

BOOST_AUTO_TEST_CASE(with_replacement_and_fewer) {
  Generator g(1);
  RandomSampler some(100, g, false, 7);
  const auto few = some.order(some.draw());
  BOOST_TEST(std::set<int64_t>(few.begin(), few.end()).size() == 7u);
  RandomSampler often(3, g, true, 50);
  BOOST_TEST(often.size() == 50);
  std::set<int64_t> drawn;
  for (const int64_t i : often.order(often.draw())) drawn.insert(i);
  BOOST_TEST((drawn == std::set<int64_t>{0, 1, 2}));
  THROWS(ShapeError, RandomSampler(3, g, false, 4), "RandomSampler: 4 samples of 3 without replacement");
  THROWS(ShapeError, RandomSampler(-1, g), "RandomSampler: a size can't be negative: -1");
  THROWS(ShapeError, SequentialSampler(-1), "SequentialSampler: a size can't be negative: -1");
}

BOOST_AUTO_TEST_CASE(by_weights) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  const std::vector<double> weights{1, 0, 3, 4, 0};
  WeightedRandomSampler sampler(weights, 16000, g);
  std::vector<double> counts(5);
  for (const int64_t i : sampler.order(sampler.draw())) ++counts[static_cast<size_t>(i)];
  BOOST_TEST(counts[1] + counts[4] == 0.0);
  BOOST_TEST(chi_squared({counts[0], counts[2], counts[3]}, {2000, 6000, 8000}) < 35.0,
             "LAZY_TEST_SEED=" << seed);
  WeightedRandomSampler once(weights, 3, g, false);
  std::vector<double> first(3);
  for (int i = 0; i < 8000; ++i) {
    const auto order = once.order(once.draw());
    BOOST_REQUIRE((std::set<int64_t>(order.begin(), order.end()) == std::set<int64_t>{0, 2, 3}));
    ++first[order[0] == 0 ? 0 : static_cast<size_t>(order[0] - 1)];
  }
  BOOST_TEST(chi_squared(first, {1000, 3000, 4000}) < 35.0, "LAZY_TEST_SEED=" << seed);
  THROWS(ShapeError, WeightedRandomSampler(weights, 4, g, false),
         "WeightedRandomSampler: 4 samples without replacement of 3 weights above 0");
  THROWS(Error, WeightedRandomSampler({1, -1}, 1, g), "WeightedRandomSampler: weight 1 is -1.000000");
  THROWS(Error, WeightedRandomSampler({0, 0}, 1, g), "WeightedRandomSampler: the weights add up to 0.000000");
}

BOOST_AUTO_TEST_CASE(among_processes) {
  for (const bool drop : {false, true})
    for (const int64_t n : {1, 7, 12, 13}) BOOST_TEST_CONTEXT(n << " examples, drop_last " << drop) {
        std::vector<int64_t> all;
        for (int64_t rank = 0; rank < 3; ++rank) {
          DistributedSampler s(n, rank, 3, {.drop_last = drop, .seed = 9});
          s.set_epoch(4);
          const auto mine = s.order(s.draw());
          BOOST_TEST(static_cast<int64_t>(mine.size()) == (drop ? n / 3 : (n + 2) / 3));
          all.insert(all.end(), mine.begin(), mine.end());
        }
        const size_t distinct = std::set<int64_t>(all.begin(), all.end()).size();
        BOOST_TEST(distinct == static_cast<size_t>(drop ? n / 3 * 3 : n));
      }
  DistributedSampler s(12, 0, 3, {.seed = 9});
  const auto first = s.order(s.draw()), second = s.order(s.draw());
  BOOST_TEST((first != second));
  THROWS(IndexError, DistributedSampler(5, 2, 2), "DistributedSampler: rank 2 of 2 processes");
}

BOOST_AUTO_TEST_CASE(in_a_loader) {
  Generator g(2);
  const auto weighted = std::make_shared<WeightedRandomSampler>(std::vector<double>{0, 1, 0}, 5, g);
  DataLoader loader(Numbers{10, 3}, {.batch_size = 2, .sampler = weighted});
  std::vector<int64_t> all;
  for (const Tensor& x : loader)
    for (const int64_t v : x.to_vector<int64_t>()) all.push_back(v);
  BOOST_TEST(all == std::vector<int64_t>(5, 11), boost::test_tools::per_element());
  const auto pairs = std::make_shared<BatchSampler>(std::make_shared<SequentialSampler>(5), 2, true);
  DataLoader other(Numbers{0, 5}, {.batch_sampler = pairs});
  BOOST_TEST(other.size() == 2);
  THROWS(ShapeError, BatchSampler(weighted, 0), "BatchSampler: a batch has at least one example, not 0");
  THROWS(Error, BatchSampler(nullptr, 1), "BatchSampler: there is no sampler");
}

BOOST_AUTO_TEST_SUITE_END()
