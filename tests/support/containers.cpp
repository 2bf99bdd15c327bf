// Tests the small tables and work memory of the passes.
#include <boost/test/unit_test.hpp>

#include <random>
#include <unordered_map>

#include "support/flat_map.hpp"
#include "support/recycled.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(containers)

BOOST_AUTO_TEST_CASE(flat_map_agrees_with_the_standard_one) {
  std::mt19937_64 random(3);
  FlatMap<int> flat;
  std::unordered_map<uint64_t, int> standard;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t key = random() % 2000 << (i % 3 * 20);
    const auto [value, fresh] = flat.try_emplace(key, i);
    const auto [it, inserted] = standard.emplace(key, i);
    BOOST_TEST_REQUIRE(fresh == inserted);
    BOOST_TEST_REQUIRE(value == it->second);
  }
  for (uint64_t key = 0; key < 4000; ++key) {
    const int* found = flat.find(key);
    BOOST_TEST_REQUIRE((found != nullptr) == standard.contains(key));
    if (found) BOOST_TEST_REQUIRE(*found == standard[key]);
  }
  flat.clear();
  BOOST_TEST(!flat.contains(0));
  BOOST_TEST(!FlatMap<int>().contains(0));
}

BOOST_AUTO_TEST_CASE(interner_numbers_sequences_in_order) {
  Interner interner;
  const uint32_t words[] = {1, 2, 3};
  BOOST_TEST(interner.intern({words, 3}).first == 0u);
  BOOST_TEST(interner.intern({words, 2}).first == 1u);  // a prefix is another sequence
  BOOST_TEST(interner.intern({words, size_t{0}}).first == 2u);
  BOOST_TEST(!interner.intern({words, 3}).second);
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t more[] = {i % 500, 7};
    const auto [number, fresh] = interner.intern(more);
    BOOST_TEST_REQUIRE(number == 3 + i % 500);
    BOOST_TEST_REQUIRE(fresh == (i < 500));
  }
}

BOOST_AUTO_TEST_CASE(recycled_memory_comes_back_empty) {
  const int* memory = nullptr;
  {
    Recycled<int> first;
    first.assign(100, 5);
    memory = first.data();
  }
  Recycled<int> second;
  BOOST_TEST(second.empty());
  BOOST_TEST(second.capacity() >= 100u);
  BOOST_TEST(second.data() == memory);
  second.resize(3);
  BOOST_TEST(second[2] == 0);
  Recycled<int> moved = std::move(second);
  BOOST_TEST(moved.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
