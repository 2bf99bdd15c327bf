#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/config.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(texts)

BOOST_AUTO_TEST_CASE(edit_distances) {
  BOOST_TEST(text::edit_distance("", "") == 0);
  BOOST_TEST(text::edit_distance("", "abc") == 3);
  BOOST_TEST(text::edit_distance("abc", "") == 3);
  BOOST_TEST(text::edit_distance("kitten", "sitting") == 3);
  BOOST_TEST(text::edit_distance("log", "lgo") == 1);
  BOOST_TEST(text::edit_distance("LOG", "log") == 0);
  BOOST_TEST(text::edit_distance("ca", "abc") == 3);
}

BOOST_AUTO_TEST_CASE(sizes) {
  BOOST_TEST(text::exact_size(0) == "0");
  BOOST_TEST(text::exact_size(1000) == "1000");
  BOOST_TEST(text::exact_size(1024) == "1KiB");
  BOOST_TEST(text::exact_size(1025) == "1025");
  BOOST_TEST(text::exact_size(uint64_t{3} << 40) == "3TiB");
  BOOST_TEST(text::exact_size(uint64_t{3} << 50) == "3072TiB");
  BOOST_TEST(text::human_size(1023) == "1023 B");
  BOOST_TEST(text::human_size(1536) == "1.5 KiB");
  BOOST_TEST(text::human_size((uint64_t{1} << 20) - 1) == "1.0 MiB");
  BOOST_TEST(text::human_size(uint64_t{5} << 30) == "5.0 GiB");
}

BOOST_AUTO_TEST_CASE(pieces) {
  BOOST_TEST(text::trimmed("  a b\t\n") == "a b");
  BOOST_TEST(text::trimmed(" \t ") == "");
  BOOST_TEST(text::lower_case("AbC_1") == "abc_1");
  BOOST_TEST(text::one_line("a\nb\tc\x01") == "a\\nb\\tc\\x01");
  BOOST_TEST(text::one_line("abcdef", 3) == "abc...");
  BOOST_TEST(text::one_line("abc", 3) == "abc");
  BOOST_TEST(text::one_line("\x1b[31m\x7f") == "\\x1b[31m\\x7f");
  BOOST_TEST(text::one_line("\xc2\x9b"
                            "1m\xc3\xbc") == "\\xc2\\x9b1m\xc3\xbc");  // CSI as one character; u umlaut
  BOOST_TEST(text::one_line("ab\xc3\xbc"
                            "d",
                            3) == "ab...");
  BOOST_TEST(text::quoted(std::string(1000, 'x')) == "'" + std::string(80, 'x') + "...'");
  BOOST_TEST(text::printable("a\n\tb\x1b") == "a\n\tb\\x1b");
  BOOST_TEST(text::join(std::vector<std::string>{}, ",") == "");
  BOOST_TEST(text::join(std::vector<std::string>{"a", "b"}, ", ") == "a, b");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(hashing)

BOOST_AUTO_TEST_CASE(known_values) {
  // XXH3-128 of the empty string and of "a", as the reference implementation prints them.
  BOOST_TEST(hash128("", 0).hi == 0x99aa06d3014798d8u);
  BOOST_TEST(hash128("", 0).lo == 0x6001c324468d497fu);
  BOOST_TEST(hash128(nullptr, 0).lo == hash128("", 0).lo);
}

BOOST_AUTO_TEST_CASE(every_bit_counts) {
  // One bit changed anywhere changes the hash, at every size class of the algorithm.
  for (size_t size : {1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1000, 5000}) {
    std::string s(size, 'x');
    const Hash128 h = hash128(s.data(), size);
    for (size_t i = 0; i < size; i += 1 + size / 50) {
      s[i] ^= 4;
      BOOST_REQUIRE(!(hash128(s.data(), size) == h));
      s[i] ^= 4;
    }
    BOOST_REQUIRE(hash128(s.data(), size) == h);
  }
}

BOOST_AUTO_TEST_CASE(truncation) {
  constexpr Hash128 ones{~uint64_t{0}, ~uint64_t{0}};
  static_assert(truncated(ones, 128) == ones);
  static_assert(truncated(ones, 64) == Hash128{~uint64_t{0}, 0});
  static_assert(truncated(ones, 65) == Hash128{~uint64_t{0}, 1});
  static_assert(truncated(ones, 127) == Hash128{~uint64_t{0}, ~uint64_t{0} >> 1});
  static_assert(truncated(ones, 1) == Hash128{1, 0});
  const config::Override four("LAZY_CACHE_HASH_BITS", "4");
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const Hash128 h = hash128(&i, sizeof i);
    BOOST_REQUIRE(h.hi == 0u);
    seen.insert(h.lo);
  }
  BOOST_TEST(seen.size() == 16u);
  BOOST_TEST(*seen.rbegin() == 15u);
}

BOOST_AUTO_TEST_CASE(mixing) {
  std::set<uint64_t> seen;
  for (uint64_t s = 0; s < 100; ++s)
    for (uint64_t w = 0; w < 100; ++w) seen.insert(mix(s, w));
  BOOST_TEST(seen.size() == 10000u);
}

BOOST_AUTO_TEST_SUITE_END()
