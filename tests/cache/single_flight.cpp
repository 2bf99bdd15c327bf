#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cache/lru.hpp"
#include "support/config.hpp"

using namespace lazy;
using cache::Filled;
using cache::KeyView;
using Cache = cache::LruCache<int>;

namespace {

KeyView view(const std::string& s) { return KeyView(s.data(), s.size()); }
Filled<int> filled(int v) { return {std::make_shared<int>(v), 1}; }

void in_threads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (auto& t : threads) t.join();
}

/// Waits until `n` threads wait for a fill of `c`.
void until_waiting(const Cache& c, uint64_t n) {
  while (c.stats().waits < n) std::this_thread::yield();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(single_flight)

BOOST_AUTO_TEST_CASE(one_fill_for_all_who_miss_at_once) {
  Cache c(10, 100);
  std::atomic<int> fills{0}, sum{0};
  in_threads(8, [&](int) {
    const auto p = c.get_or_fill(view("k"), [&] {
      until_waiting(c, 7);  // the seven others wait before this ends
      return filled(100 + fills++);
    });
    sum += *p;
  });
  BOOST_TEST(fills == 1);
  BOOST_TEST(sum == 800);
  BOOST_TEST(c.stats().misses == 1u);
  BOOST_TEST(c.stats().waits == 7u);
  BOOST_TEST(c.stats().hits == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_fill_throws_reaches_all_and_the_next_tries_again) {
  Cache c(10, 100);
  std::atomic<int> fills{0}, caught{0};
  in_threads(8, [&](int) {
    try {
      c.get_or_fill(view("k"), [&]() -> Filled<int> {
        ++fills;
        until_waiting(c, 7);
        throw std::runtime_error("no room");
      });
    } catch (const std::runtime_error& e) { caught += std::string(e.what()) == "no room"; }
  });
  BOOST_TEST(fills == 1);
  BOOST_TEST(caught == 8);
  BOOST_TEST(c.stats().entries == 0u);
  BOOST_TEST(*c.get_or_fill(view("k"), [] { return filled(5); }) == 5);
  BOOST_TEST(*c.find(view("k")) == 5);
}

BOOST_AUTO_TEST_CASE(an_unkept_value_still_reaches_all_who_waited) {
  Cache c(10, 100);
  std::atomic<int> fills{0}, sum{0};
  in_threads(4, [&](int) {
    sum += *c.get_or_fill(view("k"), [&] {
      ++fills;
      until_waiting(c, 3);
      return Filled<int>{std::make_shared<int>(3), 101};
    });
  });
  BOOST_TEST(fills == 1);
  BOOST_TEST(sum == 12);
  BOOST_TEST(c.stats().entries == 0u);
  BOOST_TEST(!c.get_or_fill(view("none"), [] { return Filled<int>{}; }));
  BOOST_TEST(c.stats().entries == 0u);
}

BOOST_AUTO_TEST_CASE(a_fill_may_use_the_cache) {
  Cache c(10, 100);
  const auto p = c.get_or_fill(view("outer"), [&] {
    const auto inner = c.get_or_fill(view("inner"), [] { return filled(20); });
    c.insert(view("other"), std::make_shared<int>(1), 1);
    return filled(*inner + 1);
  });
  BOOST_TEST(*p == 21);
  BOOST_TEST(c.stats().entries == 3u);
}

BOOST_AUTO_TEST_CASE(a_fill_that_asks_for_its_own_key_is_told) {
  Cache c(10, 100);
  BOOST_CHECK_THROW(
      c.get_or_fill(view("k"), [&] { return filled(*c.get_or_fill(view("k"), [] { return filled(1); })); }),
      std::logic_error);
  // Also when another key lies between.
  BOOST_CHECK_THROW(c.get_or_fill(view("a"),
                                  [&] {
                                    c.get_or_fill(view("b"), [&] {
                                      c.get_or_fill(view("a"), [] { return filled(1); });
                                      return filled(2);
                                    });
                                    return filled(3);
                                  }),
                    std::logic_error);
  BOOST_TEST(*c.get_or_fill(view("k"), [] { return filled(2); }) == 2);
}

BOOST_AUTO_TEST_CASE(a_key_filled_by_insert_meanwhile_stays) {
  Cache c(10, 100);
  const auto p = c.get_or_fill(view("k"), [&] {
    c.insert(view("k"), std::make_shared<int>(1), 1);
    return filled(2);
  });
  BOOST_TEST(*p == 1);
  BOOST_TEST(c.find(view("k")) == p);
}

BOOST_AUTO_TEST_CASE(fills_that_need_each_other_do_not_wait_for_ever) {
  for (int round = 0; round < 50; ++round) {
    for (int n : {2, 3, 5}) {
      Cache c(100, 100);
      std::latch all_filling(n);
      std::atomic<int> sum{0};
      // Thread i fills key i, and needs key i+1 for it: a circle.
      in_threads(n, [&](int i) {
        const std::string mine = std::to_string(i), next = std::to_string((i + 1) % n);
        sum += *c.get_or_fill(view(mine), [&] {
          all_filling.arrive_and_wait();
          c.get_or_fill(view(next), [] { return filled(1); });
          return filled(1);
        });
      });
      BOOST_REQUIRE(sum == n);
      BOOST_REQUIRE(c.stats().entries == size_t(n));
    }
  }
}

BOOST_AUTO_TEST_CASE(distinct_keys_fill_at_the_same_time) {
  Cache c(100, 100);
  std::latch all_filling(8);
  std::atomic<int> wrong{0};  // Boost.Test's checks are for the main thread only
  // Each fill waits until all eight run: under one lock this would never end.
  in_threads(8, [&](int i) {
    const std::string k = std::to_string(i);
    wrong += *c.get_or_fill(view(k), [&] {
      all_filling.arrive_and_wait();
      return filled(i);
    }) != i;
  });
  BOOST_TEST(wrong == 0);
  BOOST_TEST(c.stats().misses == 8u);
}

BOOST_AUTO_TEST_CASE(colliding_keys_in_flight_stay_apart) {
  const config::Override one("LAZY_CACHE_HASH_BITS", "1");
  Cache c(100, 100);
  std::latch all_filling(8);
  std::atomic<int> wrong{0};
  in_threads(8, [&](int i) {
    const std::string k = std::to_string(i);
    wrong += *c.get_or_fill(view(k), [&] {
      all_filling.arrive_and_wait();
      return filled(i);
    }) != i;
  });
  BOOST_TEST(wrong == 0);
  BOOST_TEST(c.stats().entries == 8u);
}

// Does everything at once from eight threads; a value always belongs to its key, and the limits hold.
BOOST_AUTO_TEST_CASE(storm) {
  for (const char* bits : {"128", "4"}) {
    const config::Override o("LAZY_CACHE_HASH_BITS", bits);
    Cache c(20, 30);
    std::atomic<int> wrong{0};
    in_threads(8, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t) + 1);
      for (int step = 0; step < 3000; ++step) {
        const int id = static_cast<int>(random() % 60);
        const std::string k = "k" + std::to_string(id);
        switch (random() % 16) {
          case 0: c.erase(view(k)); break;
          case 1: c.set_weight(view(k), random() % 5); break;
          case 2: c.insert(view(k), std::make_shared<int>(id), random() % 4); break;
          case 3:
            if (random() % 20 == 0) c.clear();
            break;
          case 4: {
            c.for_each([&](const cache::Key& key, const Cache::Ptr& v) {
              const std::string want = "k" + std::to_string(*v);
              wrong += !(key.view() == view(want));
            });
            break;
          }
          case 5:
          case 6:
          case 7:
            if (const auto p = c.find(view(k))) wrong += *p != id;
            break;
          default:
            try {
              const auto p = c.get_or_fill(view(k), [&]() -> Filled<int> {
                if (random() % 10 == 0) throw std::runtime_error("x");
                if (random() % 4 == 0) {
                  const int other = static_cast<int>(random() % 60);
                  const std::string ok = "k" + std::to_string(other);
                  if (other != id) wrong += *c.get_or_fill(view(ok), [&] { return filled(other); }) != other;
                }
                return {std::make_shared<int>(id), random() % 4};
              });
              wrong += *p != id;
            } catch (const std::runtime_error&) {}
        }
        if (const auto s = c.stats(); s.entries > 20 || s.bytes > 30) ++wrong;
      }
    });
    BOOST_TEST(wrong == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
