// Tests the small tables and work memory of the passes.
#include <boost/test/unit_test.hpp>

#include <random>
#include <unordered_map>

#include "support/flat_map.hpp"
#include "support/recycled.hpp"
#include "support/spare_memory.hpp"
#include "support/unset.hpp"

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

BOOST_AUTO_TEST_CASE(unset_vectors_keep_what_they_have) {
  UnsetVector<uint32_t> v;
  BOOST_TEST(v.empty());
  for (uint32_t i = 0; i < 1000; ++i) v.push_back(i);
  v.resize(5000);
  v.resize(1000);
  v.resize(1000);
  for (uint32_t i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(v[i] == i);
  v.assign(size_t{3}, 7);
  BOOST_TEST((v.size() == 3 && v[0] == 7 && v[2] == 7));
  const uint32_t few[] = {4, 5};
  v.assign(std::begin(few), std::end(few));
  BOOST_TEST((v.size() == 2 && v[0] == 4 && v[1] == 5));
}

BOOST_AUTO_TEST_CASE(spare_memory_is_never_in_use_twice) {
  struct Thing {
    uint64_t bytes[5];
  };
  std::mt19937_64 random(4);
  std::vector<Thing*> alive;
  for (uint64_t i = 0; i < 10000; ++i) {
    if (alive.empty() || random() % 2) {
      alive.push_back(new (SpareMemory<Thing>::take()) Thing{{i, i, i, i, i}});
    } else {
      std::swap(alive[random() % alive.size()], alive.back());
      Thing* const t = alive.back();
      for (const uint64_t b : t->bytes) BOOST_TEST_REQUIRE(b == t->bytes[0]);
      SpareMemory<Thing>::put(t);
      alive.pop_back();
    }
  }
  for (Thing* t : alive) SpareMemory<Thing>::put(t);
  SpareMemory<Thing>::release();
}

BOOST_AUTO_TEST_SUITE_END()
