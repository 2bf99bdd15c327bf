#include "cache/lru.hpp"

#include <boost/test/unit_test.hpp>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/config.hpp"

using namespace lazy;
using cache::Filled;
using cache::Key;
using cache::KeyView;
using Cache = cache::LruCache<std::string>;

namespace {

KeyView view(const std::string& s) { return KeyView(s.data(), s.size()); }
std::shared_ptr<std::string> text(std::string s) { return std::make_shared<std::string>(std::move(s)); }

std::vector<std::string> keys_in_order(const Cache& c) {
  std::vector<std::string> out;
  c.for_each([&](const Key& k, const Cache::Ptr&) {
    out.emplace_back(reinterpret_cast<const char*>(k.bytes().data()), k.size());
  });
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(keys)

BOOST_AUTO_TEST_CASE(equality_is_on_bytes) {
  std::string a = "abc";
  const Key owned(view(a));
  BOOST_TEST(bool(KeyView(owned) == view("abc")));
  a[0] = 'X';  // the key has a copy of the bytes
  BOOST_TEST(bool(KeyView(owned) == view("abc")));
  BOOST_TEST(!(KeyView(owned) == view("abd")));
  BOOST_TEST(!(KeyView(owned) == view("ab")));
  const Key copy = owned;
  BOOST_TEST(copy.bytes().data() == owned.bytes().data());
  // Keys of the same hash are not equal.
  const std::string x = "left", y = "rite";
  const Hash128 h{1, 2};
  BOOST_TEST(!(KeyView(std::as_bytes(std::span(x)), h) == KeyView(std::as_bytes(std::span(y)), h)));
  const Key empty(KeyView(nullptr, 0));
  BOOST_TEST(bool(empty.view() == view("")));
  BOOST_TEST(empty.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lru)

BOOST_AUTO_TEST_CASE(find_insert_erase) {
  Cache c(10, 1000);
  BOOST_TEST(!c.find(view("a")));
  c.insert(view("a"), text("1"), 5);
  c.insert(view(""), text("empty"), 1);
  BOOST_TEST(*c.find(view("a")) == "1");
  BOOST_TEST(*c.find(view("")) == "empty");
  c.insert(view("a"), text("2"), 7);
  BOOST_TEST(*c.find(view("a")) == "2");
  auto s = c.stats();
  BOOST_TEST(s.entries == 2u);
  BOOST_TEST(s.bytes == 8u);
  BOOST_TEST(s.hits == 3u);
  BOOST_TEST(s.misses == 1u);
  BOOST_TEST(s.evictions == 0u);
  BOOST_TEST(s.collisions == 0u);
  BOOST_TEST(c.erase(view("a")));
  BOOST_TEST(!c.erase(view("a")));
  BOOST_TEST(!c.find(view("a")));
  c.clear();
  BOOST_TEST(c.stats().entries == 0u);
  BOOST_TEST(c.stats().bytes == 0u);
  BOOST_TEST(c.stats().evictions == 0u);
}

BOOST_AUTO_TEST_CASE(least_recently_used_goes_first) {
  Cache c(3, 1000);
  for (const char* k : {"a", "b", "c"}) c.insert(view(k), text(k), 1);
  c.find(view("a"));
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"a", "c", "b"}));
  c.insert(view("d"), text("d"), 1);
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"d", "a", "c"}));
  BOOST_TEST(!c.find(view("b")));
  BOOST_TEST(c.stats().evictions == 1u);
}

BOOST_AUTO_TEST_CASE(bounded_by_bytes) {
  Cache c(100, 10);
  c.insert(view("a"), text("a"), 4);
  c.insert(view("b"), text("b"), 4);
  c.insert(view("c"), text("c"), 2);
  BOOST_TEST(c.stats().entries == 3u);  // full to the last entry
  c.insert(view("d"), text("d"), 5);    // needs 5: a's 4 and b's 4 are evicted
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"d", "c"}));
  BOOST_TEST(c.stats().bytes == 7u);
  c.insert(view("e"), text("e"), 10);
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"e"}));
}

BOOST_AUTO_TEST_CASE(too_heavy_is_returned_but_not_kept) {
  Cache c(100, 10);
  c.insert(view("a"), text("a"), 4);
  const auto p = c.get_or_fill(view("big"), [] { return Filled{text("big"), 11}; });
  BOOST_TEST(*p == "big");
  BOOST_TEST(!c.find(view("big")));
  BOOST_TEST(c.find(view("a")) != nullptr);  // and it evicted nothing
  c.insert(view("a"), text("heavier"), 11);  // replaced by nothing
  BOOST_TEST(!c.find(view("a")));
  BOOST_TEST(c.stats().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(no_entries_allowed) {
  Cache c(0, 100);
  BOOST_TEST(*c.get_or_fill(view("a"), [] { return Filled{text("a"), 1}; }) == "a");
  BOOST_TEST(c.stats().entries == 0u);
  Cache d(10, 0);
  d.insert(view("a"), text("a"), 0);
  BOOST_TEST(d.find(view("a")) != nullptr);  // weighs nothing
}

BOOST_AUTO_TEST_CASE(limits_and_weights_change) {
  Cache c(10, 100);
  for (int i = 0; i < 10; ++i) c.insert(view(std::to_string(i)), text("v"), 10);
  c.set_limits(5, 100);
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"9", "8", "7", "6", "5"}));
  c.set_limits(5, 25);
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"9", "8"}));
  BOOST_TEST(c.set_weight(view("9"), 20));
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"9"}));
  BOOST_TEST(c.stats().bytes == 20u);
  BOOST_TEST(c.set_weight(view("9"), 3));
  BOOST_TEST(c.stats().bytes == 3u);
  BOOST_TEST(!c.set_weight(view("nobody"), 3));
  c.insert(view("x"), text("x"), 3);
  BOOST_TEST(c.set_weight(view("x"), 26));  // over the limit by itself: it is evicted, the other stays
  BOOST_TEST((keys_in_order(c) == std::vector<std::string>{"9"}));
  BOOST_TEST(c.stats().evictions == 5u + 3 + 1 + 1);
}

BOOST_AUTO_TEST_CASE(an_evicted_value_in_use_lives_on) {
  Cache c(1, 100);
  c.insert(view("a"), text("alive"), 1);
  const auto held = c.find(view("a"));
  std::weak_ptr<std::string> watch = held;
  c.insert(view("b"), text("b"), 1);
  BOOST_TEST(!c.find(view("a")));
  BOOST_TEST(*held == "alive");
  c.clear();
  BOOST_TEST(!watch.expired());
}

namespace {
/// A value whose destructor uses the cache it was in.
struct Restless {
  cache::LruCache<Restless>* home;
  size_t* seen;
  ~Restless() { *seen = home->stats().entries; }
};
}  // namespace

BOOST_AUTO_TEST_CASE(values_die_outside_the_lock) {
  cache::LruCache<Restless> c(1, 100);
  size_t seen = 99;
  const auto put = [&](const char* k) {
    c.insert(view(k), std::shared_ptr<Restless>(new Restless{&c, &seen}), 1);
  };
  put("a");
  put("b");  // evicts a
  BOOST_TEST(seen == 1u);
  put("b");  // replaces b
  BOOST_TEST(c.stats().entries == 1u);
  BOOST_TEST(c.erase(view("b")));
  BOOST_TEST(seen == 0u);
  put("c");
  c.set_limits(0, 0);
  put("d");  // too heavy to be cached
  BOOST_TEST(c.stats().entries == 0u);
  c.set_limits(1, 100);
  put("e");
  c.clear();
  BOOST_TEST(seen == 0u);
}

BOOST_AUTO_TEST_CASE(evictions_reach_the_metrics) {
  reset_metrics();
  Cache c(2, 100, MetricCounter::programs_evicted);
  for (int i = 0; i < 7; ++i) c.insert(view(std::to_string(i)), text("v"), 1);
  BOOST_TEST(c.stats().evictions == 5u);
  BOOST_TEST(metrics().programs_evicted == 5u);
}

BOOST_AUTO_TEST_CASE(visiting_can_stop_after_the_latest) {
  Cache c(10, 100);
  for (const char* k : {"a", "b", "c", "d"}) c.insert(view(k), text(k), 1);
  std::string seen;
  c.for_each([&](const Key&, const Cache::Ptr& v) { seen += *v; }, 2);
  BOOST_TEST(seen == "dc");
}

BOOST_AUTO_TEST_CASE(visiting_may_use_the_cache) {
  Cache c(10, 100);
  for (const char* k : {"a", "b", "c"}) c.insert(view(k), text(k), 1);
  int seen = 0;
  c.for_each([&](const Key& k, const Cache::Ptr& v) {
    BOOST_TEST(c.find(k) == v);
    c.erase(k);
    ++seen;
  });
  BOOST_TEST(seen == 3);
  BOOST_TEST(c.stats().entries == 0u);
}

BOOST_AUTO_TEST_CASE(truncated_hashes_never_give_another_value) {
  for (int bits : {1, 4}) {
    const config::Override few("LAZY_CACHE_HASH_BITS", std::to_string(bits));
    Cache c(1000, 1 << 20);
    for (int i = 0; i < 700; ++i) {
      const std::string k = "key " + std::to_string(i);
      BOOST_REQUIRE(!c.find(view(k)));
      BOOST_REQUIRE(*c.get_or_fill(view(k), [&] { return Filled{text(k), 1}; }) == k);
    }
    for (int i = 0; i < 700; ++i) {
      const std::string k = "key " + std::to_string(i);
      BOOST_REQUIRE(*c.find(view(k)) == k);
    }
    BOOST_TEST(c.stats().collisions > 700u * 700 / 2 / 32);
    BOOST_TEST(c.stats().entries == 700u);
    for (int i = 0; i < 700; i += 2) BOOST_REQUIRE(c.erase(view("key " + std::to_string(i))));
    for (int i = 0; i < 700; ++i)
      BOOST_REQUIRE(bool(c.find(view("key " + std::to_string(i)))) == (i % 2 == 1));
  }
}

// Compares with a simple model: a list in the order of use and a map, for full and for cut hashes.
BOOST_AUTO_TEST_CASE(random_against_a_model) {
  for (const char* bits : {"128", "4"}) {
    const config::Override o("LAZY_CACHE_HASH_BITS", bits);
    const unsigned seed = 4242;
    BOOST_TEST_CONTEXT("seed " << seed << ", hash bits " << bits) {
      std::mt19937 random(seed);
      size_t max_entries = 40, max_bytes = 600;
      Cache c(max_entries, max_bytes);
      struct Item {
        std::string key, value;
        size_t weight;
      };
      std::list<Item> model;  // newest first
      const auto at = [&](const std::string& k) {
        auto it = model.begin();
        while (it != model.end() && it->key != k) ++it;
        return it;
      };
      const auto bytes = [&] {
        size_t n = 0;
        for (const auto& i : model) n += i.weight;
        return n;
      };
      const auto trim = [&] {
        while (model.size() > max_entries || bytes() > max_bytes) model.pop_back();
      };
      for (int step = 0; step < 20000; ++step) {
        const std::string k(1 + random() % 3, static_cast<char>('a' + random() % 26));
        const size_t weight = random() % 50;
        const std::string v = std::to_string(step);
        auto it = at(k);
        switch (random() % 8) {
          case 0:
          case 1:
          case 2: {
            const auto p = c.find(view(k));
            BOOST_REQUIRE(bool(p) == (it != model.end()));
            if (p) {
              BOOST_REQUIRE(*p == it->value);
              model.splice(model.begin(), model, it);
            }
            break;
          }
          case 3:
          case 4: {
            bool filled = false;
            const auto p = c.get_or_fill(view(k), [&] {
              filled = true;
              return Filled{text(v), weight};
            });
            BOOST_REQUIRE(filled == (it == model.end()));
            if (filled) model.push_front({k, v, weight});
            else model.splice(model.begin(), model, it);
            BOOST_REQUIRE(*p == model.front().value);
            trim();
            break;
          }
          case 5:
            c.insert(view(k), text(v), weight);
            if (it != model.end()) model.erase(it);
            model.push_front({k, v, weight});
            trim();
            break;
          case 6:
            BOOST_REQUIRE(c.set_weight(view(k), weight) == (it != model.end()));
            if (it != model.end()) it->weight = weight;
            trim();
            break;
          case 7:
            if (random() % 50 == 0) {
              max_entries = 1 + random() % 60;
              max_bytes = 50 + random() % 900;
              c.set_limits(max_entries, max_bytes);
              trim();
            } else {
              BOOST_REQUIRE(c.erase(view(k)) == (it != model.end()));
              if (it != model.end()) model.erase(it);
            }
        }
        BOOST_REQUIRE(c.stats().entries == model.size());
        BOOST_REQUIRE(c.stats().bytes == bytes());
      }
      std::vector<std::string> order;
      for (const auto& i : model) order.push_back(i.key);
      BOOST_TEST((keys_in_order(c) == order));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_was_found_is_fresh_until_another_is_used_or_goes) {
  Cache c(1000, 1 << 20);
  Cache::Moment when;
  BOOST_TEST(!c.is_fresh(when));
  for (const char* k : {"a", "b", "c"}) c.insert(view(k), text(k), 1);
  BOOST_TEST(c.find(view("a"), &when) != nullptr);
  BOOST_TEST(c.is_fresh(when));
  c.find(view("a"));
  BOOST_TEST(c.is_fresh(when));
  c.count_hit();
  BOOST_TEST(c.stats().hits == 3u);
  c.find(view("b"));  // now "a" is not the first
  BOOST_TEST(!c.is_fresh(when));
  c.find(view("a"), &when);
  c.insert(view("d"), text("d"), 1);
  BOOST_TEST(!c.is_fresh(when));
  c.find(view("a"), &when);
  BOOST_TEST(c.erase(view("b")));
  BOOST_TEST(!c.is_fresh(when));
  c.find(view("a"), &when);
  c.clear();
  BOOST_TEST(!c.is_fresh(when));
}

BOOST_AUTO_TEST_CASE(with_many_entries_a_few_in_turn_stay_fresh) {
  Cache c(1000, 1 << 20);
  for (int i = 0; i < 256; ++i) c.insert(view(std::to_string(i)), text("x"), 1);
  Cache::Moment first, other;
  c.find(view("7"), &first);
  for (const char* k : {"8", "9", "10", "11"}) c.find(view(k), &other);
  BOOST_TEST(c.is_fresh(first));  // four were put before it: 256 / 64
  c.find(view("12"));
  BOOST_TEST(!c.is_fresh(first));
  BOOST_TEST(c.is_fresh(other));
  c.set_limits(1, 1 << 20);
  BOOST_TEST(!c.is_fresh(other));
  BOOST_TEST(keys_in_order(c) == std::vector<std::string>{"12"}, boost::test_tools::per_element());
}

// All of many that take turns count as found again; the order of use is kept once some may have to go.
BOOST_AUTO_TEST_CASE(a_large_cache_with_room_keeps_no_order) {
  constexpr size_t kMost = 2048, kFirst = 1000;
  Cache c(kMost, 1 << 20);
  for (size_t i = 0; i < kFirst; ++i) c.insert(view(std::to_string(i)), text("x"), 1);
  std::vector<Cache::Moment> moments(kFirst);
  for (size_t i = 0; i < kFirst; ++i) BOOST_REQUIRE(c.find(view(std::to_string(i)), &moments[i]) != nullptr);
  for (size_t i = 0; i < kFirst; ++i) BOOST_REQUIRE(c.is_fresh(moments[i]));
  for (size_t i = kFirst; i < kMost / 4 * 3; ++i) c.insert(view(std::to_string(i)), text("x"), 1);
  for (size_t i = 0; i < kFirst; ++i) BOOST_REQUIRE(!c.is_fresh(moments[i]));
  for (size_t i = 0; i < 100; ++i) c.find(view(std::to_string(i)));  // in use: they stay
  for (size_t i = kMost / 4 * 3; i < kMost + 800; ++i) c.insert(view(std::to_string(i)), text("x"), 1);
  BOOST_TEST(c.stats().evictions == 800u);
  for (size_t i = 0; i < 100; ++i) BOOST_REQUIRE(c.find(view(std::to_string(i))) != nullptr);
  for (size_t i = 100; i < 900; ++i) BOOST_REQUIRE(c.find(view(std::to_string(i))) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
