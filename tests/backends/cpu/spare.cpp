// Tests the address space that is kept aside for scratch.
#include "backends/cpu/memory/spare.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace lazy::cpu_backend;

BOOST_AUTO_TEST_SUITE(spare_memory)

BOOST_AUTO_TEST_CASE(blocks_do_not_overlap) {
  spare::reserve();
  struct Block {
    unsigned char* at;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Block> live;
  std::mt19937 random(7);
  const auto give = [&](size_t i) {
    const Block b = live[i];
    for (size_t k = 0; k < b.bytes; k += 61) BOOST_REQUIRE(b.at[k] == b.mark);
    BOOST_TEST(spare::give(b.at));
    live.erase(live.begin() + static_cast<long>(i));
  };
  for (int i = 0; i < 3000; ++i) {
    if (!live.empty() && random() % 2) give(random() % live.size());
    const size_t bytes = random() % (i % 10 ? 5000 : 3'000'000);
    auto* const at = static_cast<unsigned char*>(spare::take(bytes));
    if (!at) continue;
    BOOST_TEST(reinterpret_cast<uintptr_t>(at) % 64 == 0u);
    const auto mark = static_cast<unsigned char>(i);
    std::memset(at, mark, bytes);
    live.push_back({at, bytes, mark});
  }
  BOOST_TEST(live.size() > 3u);
  while (!live.empty()) give(live.size() - 1);
}

BOOST_AUTO_TEST_CASE(it_has_an_end) {
  spare::reserve();
  std::vector<void*> all;
  while (void* const p = spare::take(1 << 20)) all.push_back(p);
  BOOST_TEST(all.size() == 32u);
  BOOST_TEST((spare::take(size_t{1} << 40) == nullptr));
  for (void* const p : all) BOOST_TEST(spare::give(p));
  void* const whole = spare::take(32 << 20);
  BOOST_TEST((whole != nullptr));
  BOOST_TEST(spare::give(whole));
  int other = 0;
  BOOST_TEST(!spare::give(&other));
  BOOST_TEST(!spare::give(nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
