// Tests the cache on disk: what is added is found in any process, and nothing else ever is.
#include "cache/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "cache/private_directory.hpp"
#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using cache::Store;
using test::Folder;

namespace {

Store::Options at(const std::string& directory, uint64_t bytes = uint64_t{64} << 20, bool writable = true) {
  return {directory, writable, bytes, true};
}
cache::KeyView view(const std::string& s) { return {s.data(), s.size()}; }

std::set<std::string> values(Store& s, const std::string& key) {
  std::set<std::string> all;
  for (const cache::Record& r : s.find(view(key))) all.emplace(r.value());
  return all;
}
using Strings = std::set<std::string>;

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  chmod(file.c_str(), 0600);
}

/// Makes a folder with one pack of one or more records, as a process leaves it.
void fill(const std::string& directory, const std::map<std::string, std::string>& records) {
  Store s(at(directory));
  for (const auto& [k, v] : records) BOOST_REQUIRE(s.add(view(k), 1, v));
}

std::string number(const char* text, int i) { return text + std::to_string(i); }

}  // namespace

BOOST_AUTO_TEST_SUITE(store)

BOOST_AUTO_TEST_CASE(what_one_process_adds_another_finds) {
  const Folder f;
  const std::string long_value(100000, 'x');
  {
    Store s(at(f / "c"));
    BOOST_TEST(values(s, "a").empty());
    BOOST_TEST(s.add(view("a"), 1, "one"));
    BOOST_TEST(s.add(view("a"), 2, "two"));
    BOOST_TEST(s.add(view("b"), 1, ""));
    BOOST_TEST(s.add(view("long"), 1, long_value));
    BOOST_TEST((values(s, "a") == Strings{"one", "two"}));
    BOOST_TEST(s.add(view("a"), 1, "of this label there is one"));
    BOOST_TEST((values(s, "a") == Strings{"one", "two"}));
  }
  Store s(at(f / "c"));
  BOOST_TEST((values(s, "a") == Strings{"one", "two"}));
  BOOST_TEST((values(s, "b") == Strings{""}));
  BOOST_TEST((values(s, "long") == Strings{long_value}));
  BOOST_TEST(values(s, "c").empty());
  struct stat d {
  }, file{};
  stat((f / "c").c_str(), &d);
  BOOST_TEST((d.st_mode & 0777) == 0700);
  stat((f / "c/" + f.files(".pack", "c").at(0)).c_str(), &file);
  BOOST_TEST((file.st_mode & 0777) == 0600);
}

BOOST_AUTO_TEST_CASE(a_process_that_runs_sees_what_others_add) {
  const Folder f;
  Store a(at(f / "c")), b(at(f / "c"));
  BOOST_TEST(values(a, "k").empty());
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(b.add(view(number("k", i)), 0, "v"));
    BOOST_TEST((values(a, number("k", i)) == Strings{"v"}));
  }
  // A record that another process has stored is not stored twice.
  BOOST_TEST(a.add(view("k0"), 0, "v"));
  BOOST_TEST(f.files(".pack", "c").size() == 1u);
}

BOOST_AUTO_TEST_CASE(equal_hashes_are_not_equal_keys) {
  const config::Override bits("LAZY_CACHE_HASH_BITS", "2");
  const Folder f;
  {
    Store s(at(f / "c"));
    for (int i = 0; i < 40; ++i) BOOST_REQUIRE(s.add(view(number("k", i)), 0, number("v", i)));
  }
  Store s(at(f / "c"));
  for (int i = 0; i < 40; ++i) BOOST_TEST((values(s, number("k", i)) == Strings{number("v", i)}));
  BOOST_TEST(values(s, "k40").empty());
  std::string why;
  BOOST_TEST(s.prune(~uint64_t{0}, why), why);
  for (int i = 0; i < 40; ++i) BOOST_TEST((values(s, number("k", i)) == Strings{number("v", i)}));
}

BOOST_AUTO_TEST_CASE(readonly_writes_nothing) {
  const Folder f;
  {
    Store s(at(f / "c", 1 << 20, false));
    BOOST_TEST(!s.add(view("a"), 0, "one"));
    BOOST_TEST(values(s, "a").empty());
  }
  BOOST_TEST(f.files().empty());
  fill(f / "c", {{"a", "one"}});
  const std::string before = bytes_of(f / "c/" + f.files(".pack", "c").at(0));
  {
    Store s(at(f / "c", 1 << 20, false));
    BOOST_TEST((values(s, "a") == Strings{"one"}));
    BOOST_TEST(!s.add(view("b"), 0, "two"));
  }
  BOOST_TEST(f.files("", "c").size() == 1u);
  BOOST_TEST((bytes_of(f / "c/" + f.files(".pack", "c").at(0)) == before));
}

BOOST_AUTO_TEST_CASE(folders_that_others_could_write_to_are_refused) {
  const Folder f;
  const auto refused = [&](const std::string& path, const std::string& text) {
    Store s(at(path));
    BOOST_TEST(!s.add(view("b"), 0, "two"));
    BOOST_TEST(values(s, "a").empty());
    BOOST_TEST(s.problem().find(text) != std::string::npos, s.problem());
  };
  fill(f / "c", {{"a", "one"}});
  chmod((f / "c").c_str(), 0770);
  refused(f / "c", "may be written to by others (mode 0770; wanted 0700)");
  chmod((f / "c").c_str(), 0702);
  refused(f / "c", "may be written to by others");
  chmod((f / "c").c_str(), 0700);
  BOOST_REQUIRE(symlink("c", (f / "link").c_str()) == 0);
  refused(f / "link", "is a symbolic link");
  refused(f / "link/", "is a symbolic link");
  write(f / "file", "x");
  refused(f / "file", "is not a folder");
  refused("", "neither LAZY_CACHE_DIR nor HOME is set");
  if (geteuid() == 0) {
    BOOST_REQUIRE(chown((f / "c").c_str(), 1, 1) == 0);
    refused(f / "c", "belongs to user 1, not to 0");
    BOOST_REQUIRE(chown((f / "c").c_str(), 0, 0) == 0);
  }
  Store good(at(f / "c"));
  BOOST_TEST((values(good, "a") == Strings{"one"}));
}

BOOST_AUTO_TEST_CASE(files_that_others_could_write_to_are_not_used) {
  const Folder f;
  fill(f / "c", {{"a", "one"}});
  const std::string pack = f / "c/" + f.files(".pack", "c").at(0), elsewhere = f / "elsewhere.pack";
  const auto found = [&] {
    Store s(at(f / "c"));
    return !values(s, "a").empty();
  };
  BOOST_TEST(found());
  chmod(pack.c_str(), 0620);
  BOOST_TEST(!found());
  chmod(pack.c_str(), 0602);
  BOOST_TEST(!found());
  chmod(pack.c_str(), 0600);
  if (geteuid() == 0) {
    BOOST_REQUIRE(chown(pack.c_str(), 1, 1) == 0);
    BOOST_TEST(!found());
    BOOST_REQUIRE(chown(pack.c_str(), 0, 0) == 0);
  }
  BOOST_REQUIRE(rename(pack.c_str(), elsewhere.c_str()) == 0);
  BOOST_REQUIRE(symlink(elsewhere.c_str(), pack.c_str()) == 0);
  BOOST_TEST(!found());
  unlink(pack.c_str());
  BOOST_REQUIRE(mkfifo(pack.c_str(), 0600) == 0);
  BOOST_TEST(!found());  // nor does it wait for a writer
  unlink(pack.c_str());
  BOOST_REQUIRE(rename(elsewhere.c_str(), pack.c_str()) == 0);
  BOOST_TEST(found());
}

// Changes any single byte: a record is found as it was, or not at all.
BOOST_AUTO_TEST_CASE(a_changed_byte_is_never_believed) {
  const Folder f;
  const std::map<std::string, std::string> records = {
      {"alpha", "first value"}, {"beta", "second"}, {"gamma", "3"}};
  for (const bool sealed : {true, false}) {
    const std::string dir = f / (sealed ? "s" : "u");
    fill(dir, records);
    const std::string pack = dir + "/" + f.files(".pack", sealed ? "s" : "u").at(0);
    std::string good = bytes_of(pack);
    if (!sealed) good.resize(good.size() - 3 * sizeof(cache::IndexEntry) - 32);  // its owner was killed
    size_t lost = 0, kept = 0;
    for (size_t i = 0; i < good.size(); ++i)
      for (const int flip : {1, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ flip);
        write(pack, bad);
        Store s(at(dir, 1 << 20, false));
        for (const auto& [k, v] : records) {
          const Strings got = values(s, k);
          BOOST_REQUIRE_MESSAGE(got.empty() || got == Strings{v}, "byte " << i << ": key " << k);
          (got.empty() ? lost : kept) += 1;
        }
      }
    BOOST_TEST(lost > 0u);
    BOOST_TEST(kept > lost);  // one changed byte is in one record, unless in a header
    for (size_t n = 0; n < good.size(); ++n) {
      write(pack, good.substr(0, n));
      Store s(at(dir, 1 << 20, false));
      for (const auto& [k, v] : records) {
        const Strings got = values(s, k);
        BOOST_REQUIRE_MESSAGE(got.empty() || got == Strings{v}, "cut at " << n);
      }
    }
  }
}

// Makes a million random changes in all kinds of places (LAZY_TEST_CASES of them), several at a time.
BOOST_AUTO_TEST_CASE(a_damaged_store_gives_right_values_or_none) {
  const uint64_t seed = lazy::test::asked_seed();
  const int cases = static_cast<int>(lazy::test::asked_cases(5000));
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const Folder f;
  std::map<std::string, std::string> records;
  for (int i = 0; i < 12; ++i) {
    std::string v(below(300), ' ');
    for (char& c : v) c = static_cast<char>(random());
    records[number("key", i)] = v;
  }
  fill(f / "c", records);
  const std::string pack = f / "c/" + f.files(".pack", "c").at(0), good = bytes_of(pack);
  // Offsets of records: exchanging complete ones, or their values, is damage too.
  std::vector<size_t> starts;
  for (size_t p = sizeof(cache::PackHeader); p + sizeof(cache::RecordHeader) < good.size();) {
    cache::RecordHeader h;
    std::memcpy(&h, good.data() + p, sizeof h);
    if (h.magic != cache::RecordHeader::kMagic) break;
    starts.push_back(p);
    p += h.bytes();
  }
  BOOST_REQUIRE(starts.size() == records.size());
  for (int n = 0; n < cases; ++n) {
    std::string bad = good;
    for (size_t changes = 1 + below(4); changes > 0 && !bad.empty(); --changes) {
      switch (below(6)) {
        case 0: bad[below(bad.size())] ^= static_cast<char>(1 << below(8)); break;
        case 1: bad.resize(below(bad.size())); break;
        case 2: {
          const size_t to = below(bad.size()), length = below(bad.size() - to),
                       from = below(bad.size() - length);
          std::memmove(bad.data() + to, bad.data() + from, length);
          break;
        }
        case 3: {  // one record over another
          const size_t a = starts[below(starts.size())], b = starts[below(starts.size())];
          const size_t length =
              std::min<size_t>(56 + below(64), bad.size() - std::min(bad.size(), std::max(a, b)));
          if (length > 0 && std::max(a, b) < bad.size()) std::memmove(bad.data() + a, bad.data() + b, length);
          break;
        }
        case 4: bad.insert(below(bad.size()), std::string(below(20), static_cast<char>(random()))); break;
        default: {
          const size_t at8 = below(bad.size()) / 8 * 8;
          const uint64_t word = below(2) ? random() : ~uint64_t{0} >> below(64);
          std::memcpy(bad.data() + at8, &word, std::min<size_t>(8, bad.size() - at8));
        }
      }
    }
    write(pack, bad);
    Store s(at(f / "c", 1 << 20, false));
    for (const auto& [k, v] : records) {
      const Strings got = values(s, k);
      BOOST_REQUIRE_MESSAGE(got.empty() || got == Strings{v}, "case " << n << ", key " << k);
    }
    s.for_each([&](const Store::Listed& l) {
      const auto at_key = records.find(std::string(l.key));
      BOOST_REQUIRE_MESSAGE(at_key != records.end() && at_key->second == l.value, "case " << n);
    });
  }
}

BOOST_AUTO_TEST_CASE(packs_are_merged) {
  const Folder f;
  for (int i = 0; i < 40; ++i) fill(f / "c", {{number("k", i), number("v", i)}, {"same", "for all"}});
  BOOST_TEST(f.files(".pack", "c").size() <= 10u);
  Store s(at(f / "c"));
  for (int i = 0; i < 40; ++i) BOOST_TEST((values(s, number("k", i)) == Strings{number("v", i)}));
  BOOST_TEST((values(s, "same") == Strings{"for all"}));
  const auto totals = s.for_each([](const Store::Listed&) {});
  BOOST_TEST(totals.records == 41u);
  BOOST_TEST(totals.damaged == 0u);
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_go) {
  const Folder f;
  const std::string value(1000, 'v');
  constexpr uint64_t kLimit = 100'000;  // some 90 records
  {
    Store s(at(f / "c", kLimit));
    for (int i = 0; i < 20; ++i) BOOST_REQUIRE(s.add(view(number("old", i)), 0, value));
  }
  for (int round = 0; round < 12; ++round) {
    Store s(at(f / "c", kLimit));
    BOOST_TEST(!values(s, "old3").empty());
    for (int i = 0; i < 10; ++i) BOOST_REQUIRE(s.add(view(number("new", 10 * round + i)), 0, value));
  }
  Store s(at(f / "c", kLimit));
  uint64_t bytes = 0;
  for (const std::string& name : f.files(".pack", "c")) bytes += bytes_of(f / "c/" + name).size();
  BOOST_TEST(bytes <= kLimit * 11 / 10);
  BOOST_TEST(bytes >= kLimit / 2);
  BOOST_TEST(values(s, "old0").empty());
  BOOST_TEST(values(s, "old19").empty());
  BOOST_TEST(!values(s, "new119").empty());
  BOOST_TEST(!values(s, "old3").empty());
}

BOOST_AUTO_TEST_CASE(one_process_stays_within_the_limit) {
  const Folder f;
  const std::string value(1000, 'v');
  Store s(at(f / "c", 50'000));
  for (int i = 0; i < 500; ++i) BOOST_REQUIRE(s.add(view(number("k", i)), 0, value));
  uint64_t bytes = 0;
  for (const std::string& name : f.files(".pack", "c")) bytes += bytes_of(f / "c/" + name).size();
  BOOST_TEST(bytes <= 75'000u);
  BOOST_TEST(!values(s, "k499").empty());
  BOOST_TEST(!s.add(view("huge"), 0, std::string(20'000, 'h')));  // it would evict too much else
}

// Records with a stamp in the future are from before the clock was set back: they are dropped first.
BOOST_AUTO_TEST_CASE(the_clock_may_be_set_back) {
  const Folder f;
  BOOST_REQUIRE(mkdir((f / "c").c_str(), 0700) == 0);
  const std::string value(1000, 'v');
  {
    Fd fd(open((f / "c/w-1.pack").c_str(), O_RDWR | O_CREAT, 0600));
    const auto pack = cache::Pack::create(std::move(fd), "w-1.pack");
    const uint64_t years = 300'000'000'000'000'000;
    for (int i = 0; i < 20; ++i) {
      const std::string key = number("future", i);
      const Hash128 hash = view(key).hash();
      const std::string record = cache::make_record(hash, key, 0, value, cache::now() + years);
      BOOST_REQUIRE(pack->append(record, {hash, 0, 0, record.size()}));
    }
  }
  fill(f / "c", {{"now", value}});
  Store s(at(f / "c"));
  std::string why;
  BOOST_TEST(s.prune(1200, why), why);
  BOOST_TEST(!values(s, "now").empty());
  BOOST_TEST(values(s, "future1").empty());
}

BOOST_AUTO_TEST_CASE(what_killed_processes_leave_is_removed) {
  const Folder f;
  fill(f / "c", {{"a", "one"}});
  write(f / "c/tmp-0123456789abcdef", "half a merge");
  write(f / "c/w-0123456789abcdef.pack", "");  // killed before its header was written
  fill(f / "c", {{"b", "two"}});
  BOOST_TEST(f.files("", "c").size() == 3u);  // two packs and the lock's file
  Store s(at(f / "c"));
  BOOST_TEST((values(s, "a") == Strings{"one"}));
  BOOST_TEST((values(s, "b") == Strings{"two"}));
}

BOOST_AUTO_TEST_CASE(the_folder_may_vanish_while_it_is_used) {
  const Folder f;
  Store s(at(f / "c"));
  BOOST_TEST(s.add(view("a"), 0, "one"));
  std::filesystem::remove_all(f / "c");
  BOOST_TEST((values(s, "a") == Strings{"one"}));  // the open file is still there
  BOOST_TEST(s.add(view("b"), 0, "two"));
  Store other(at(f / "c"));
  BOOST_TEST(other.add(view("c"), 0, "three"));  // makes the folder again
  BOOST_TEST(values(s, "d").empty());
  Store third(at(f / "c"));
  BOOST_TEST((values(third, "c") == Strings{"three"}));
}

BOOST_AUTO_TEST_CASE(a_child_has_a_pack_of_its_own) {
  const Folder f;
  Store s(at(f / "c"));
  BOOST_TEST(s.add(view("parent"), 0, "p"));
  const pid_t child = lazy::test::fork_child();
  if (child == 0) {
    const bool good = s.add(view("child"), 0, "c") && s.find(view("parent")).size() == 1;
    s.close();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  BOOST_TEST(s.add(view("after"), 0, "a"));
  BOOST_TEST((values(s, "child") == Strings{"c"}));
  s.close();
  Store again(at(f / "c"));
  for (const char* k : {"parent", "child", "after"}) BOOST_TEST(values(again, k).size() == 1u, k);
}

BOOST_AUTO_TEST_CASE(threads_share_a_store) {
  const Folder f;
  Store a(at(f / "c", 200'000)), b(at(f / "c", 200'000));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Store& s = t % 2 ? a : b;
      for (int i = 0; i < 100; ++i) {
        const std::string key = number("k", i * 7 % 50 + t % 3),
                          value(static_cast<size_t>(500 + i * 7 % 50), 'v');
        s.add(view(key), 0, key + value.substr(key.size()));
        for (const cache::Record& r : s.find(view(key))) wrong += !r.value().starts_with(key);
      }
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(!values(a, "k3").empty());
}

BOOST_AUTO_TEST_CASE(clear_and_prune) {
  const Folder f;
  Store s(at(f / "c"));
  BOOST_TEST(s.add(view("a"), 0, "one"));
  std::string why;
  BOOST_TEST(s.clear(why), why);
  BOOST_TEST(values(s, "a").empty());
  BOOST_TEST(f.files(".pack", "c").empty());
  BOOST_TEST(s.add(view("b"), 0, "two"));
  BOOST_TEST(s.prune(0, why), why);
  BOOST_TEST((values(s, "b") == Strings{"two"}));  // in a pack that is being written
  s.close();
  BOOST_TEST(s.prune(0, why), why);
  BOOST_TEST(values(s, "b").empty());
}

BOOST_AUTO_TEST_CASE(from_one_store_to_another) {
  const Folder f;
  fill(f / "a", {{"k1", "v1"}, {"k2", "v2"}, {"no", "thanks"}});
  uint64_t n = 0;
  std::string why;
  {
    Store a(at(f / "a"));
    BOOST_TEST(a.export_to(f / "file", n, why), why);
    BOOST_TEST(n == 3u);
    BOOST_TEST(!a.export_to(f / "nowhere/file", n, why));
    BOOST_TEST(why.find("No such file") != std::string::npos, why);
  }
  const auto accept = [](const Store::Listed& l) { return l.key != "no"; };
  {
    Store b(at(f / "b"));
    BOOST_TEST(b.import_from(f / "file", accept, n, why), why);
    BOOST_TEST(n == 2u);
    BOOST_TEST((values(b, "k1") == Strings{"v1"}));
  }
  Store b(at(f / "b"));
  BOOST_TEST((values(b, "k2") == Strings{"v2"}));
  BOOST_TEST(values(b, "no").empty());
  // A damaged file is refused altogether.
  const std::string good = bytes_of(f / "file");
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(f / "bad", bad);
    Store c(at(f / "c"));
    const bool taken = c.import_from(f / "bad", accept, n, why);
    if (taken) {  // a byte without a meaning: padding, or a time of use
      BOOST_TEST((values(c, "k1") == Strings{"v1"}));
      BOOST_TEST((values(c, "k2") == Strings{"v2"}));
      std::filesystem::remove_all(f / "c");
    } else {
      BOOST_TEST(values(c, "k1").empty());
      BOOST_TEST(!why.empty());
    }
  }
  write(f / "bad", good.substr(0, good.size() - 1));
  Store c(at(f / "c"));
  BOOST_TEST(!c.import_from(f / "bad", accept, n, why));
  BOOST_TEST(!c.import_from(f / "nothing", accept, n, why));
}

BOOST_AUTO_TEST_SUITE_END()
