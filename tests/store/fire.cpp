// Runs many processes on one cache, killed at any moment, on disks that are full, broken or gone: no wrong
// result, no crash, and no leftovers that stay.
#include <sys/mount.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <list>
#include <random>
#include <thread>

#include "tests/common/asked.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/processes.hpp"

using namespace lazy::test;

namespace {

struct Counts {
  unsigned long compiled = 0, loaded = 0;
};
Counts counts(const Ended& e) {
  Counts c;
  const size_t at = e.said.rfind("compiled ");
  BOOST_REQUIRE_MESSAGE(e.good() && at != std::string::npos, "status " << e.status << ": " << e.said);
  BOOST_REQUIRE(std::sscanf(e.said.c_str() + at, "compiled %lu loaded %lu", &c.compiled, &c.loaded) == 2);
  return c;
}
bool warns(const Ended& e) { return e.said.find("lazy: ") != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(fire)

BOOST_AUTO_TEST_CASE(a_second_process_compiles_nothing) {
  const Folder f;
  const Environment on = cached_in(f / "c");
  const Ended cold = run({LAZY_VICTIM}, on), warm = run({LAZY_VICTIM, "3", "7"}, on);
  BOOST_TEST(counts(cold).compiled > 10u);
  BOOST_TEST(counts(cold).loaded == 0u);
  BOOST_TEST(counts(warm).compiled == 0u);
  BOOST_TEST(counts(warm).loaded >= counts(cold).compiled);
  BOOST_TEST(!warns(cold), cold.said);
  BOOST_TEST(!warns(warm), warm.said);
  // Compiled again and compared byte by byte, the code is the same; other instructions have other programs.
  const Ended verified = run({LAZY_VICTIM}, with(on, {{"LAZY_CACHE_VERIFY", "1"}}));
  BOOST_TEST(counts(verified).compiled == 0u);
  BOOST_TEST(!warns(verified), verified.said);
  BOOST_TEST(counts(run({LAZY_VICTIM}, with(on, {{"LAZY_EXACT_CASTS", "1"}}))).compiled > 0u);
  BOOST_TEST(counts(run({LAZY_VICTIM}, with(on, {{"LAZY_CACHE", "off"}}))).loaded == 0u);
  BOOST_TEST(counts(run({LAZY_VICTIM}, with(on, {{"LAZY_CACHE", "readonly"}}))).compiled == 0u);
}

BOOST_AUTO_TEST_CASE(another_instruction_set_has_its_own_programs) {
  const Folder f;
  const Environment on = cached_in(f / "c");
  const Ended first = run({LAZY_VICTIM}, with(on, {{"LAZY_CPU_ISA", "avx2"}}));
  if (!first.good()) return;  // the machine lacks that instruction set
  BOOST_TEST(counts(run({LAZY_VICTIM}, with(on, {{"LAZY_CPU_ISA", "avx2"}}))).compiled == 0u);
  const Ended other = run({LAZY_VICTIM}, with(on, {{"LAZY_CPU_ISA", "avx512"}}));
  if (other.good()) BOOST_TEST(counts(other).loaded == 0u);
  BOOST_TEST(counts(run({LAZY_VICTIM}, with(on, {{"LAZY_CPU_ISA", "reference"}}))).loaded == 0u);
}

// LAZY_TEST_KILLS is the number of processes that are killed.
BOOST_AUTO_TEST_CASE(processes_that_are_killed_at_any_moment) {
  const uint64_t seed = asked_seed();
  const auto kills = static_cast<int>(number_from("LAZY_TEST_KILLS", 300));
  std::cout << "processes_that_are_killed: LAZY_TEST_SEED=" << seed << " LAZY_TEST_KILLS=" << kills
            << std::endl;
  std::mt19937_64 random(seed);
  const Folder f;
  // The cache is so small that merging and evicting happen all the time.
  const Environment on = with(cached_in(f / "c"), {{"LAZY_CACHE_SIZE", "60000"}});
  struct Victim {
    Victim(const std::vector<std::string>& command, const Environment& e, std::chrono::microseconds life)
        : process(command, e), end(std::chrono::steady_clock::now() + life) {}
    Process process;
    std::chrono::steady_clock::time_point end;
  };
  std::list<Victim> running;
  int started = 0, survived = 0;
  size_t most_strays = 0;
  const auto reap = [&](Victim& v) {
    v.process.kill();
    const Ended e = v.process.wait();
    const bool by_us = WIFSIGNALED(e.status) && WTERMSIG(e.status) == SIGKILL;
    BOOST_REQUIRE_MESSAGE(by_us || e.good(), "status " << e.status << ": " << e.said);
    BOOST_REQUIRE_MESSAGE(e.said.find("lazy: ") == std::string::npos, e.said);
    survived += !by_us;
  };
  while (started < kills || !running.empty()) {
    while (started < kills && running.size() < 16) {
      const auto life = std::chrono::microseconds(random() % 120'000);
      const std::vector<std::string> command = {LAZY_VICTIM, "100000000", std::to_string(random())};
      running.emplace_back(command, on, life);
      ++started;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (auto v = running.begin(); v != running.end();) {
      if (std::chrono::steady_clock::now() < v->end) {
        ++v;
        continue;
      }
      reap(*v);
      v = running.erase(v);
    }
    if (started % 50 == 0 && std::filesystem::exists(f / "c")) {
      size_t strays = 0;
      for (const std::string& name : f.files("", "c")) strays += name.starts_with("tmp-");
      most_strays = std::max(most_strays, strays);
    }
  }
  BOOST_TEST(most_strays <= 2u);  // one merges at a time
  BOOST_TEST(survived == 0);
  // The next processes that run to their end remove leftovers, and find a cache that works.
  run({LAZY_VICTIM}, on);
  const Ended last = run({LAZY_VICTIM}, with(on, {{"LAZY_CACHE_SIZE", "1M"}})),
              warm = run({LAZY_VICTIM}, with(on, {{"LAZY_CACHE_SIZE", "1M"}}));
  BOOST_TEST(counts(last).compiled + counts(last).loaded > 0u);
  BOOST_TEST(counts(warm).compiled == 0u);
  size_t packs = 0;
  for (const std::string& name : f.files("", "c")) {
    BOOST_TEST(!name.starts_with("tmp-"), name);
    packs += name.ends_with(".pack");
  }
  BOOST_TEST(packs <= 16u);
}

BOOST_AUTO_TEST_CASE(sixteen_at_once_on_a_cold_cache) {
  const Folder f;
  const Environment on = cached_in(f / "c");
  std::list<Process> all;
  for (int i = 0; i < 16; ++i) {
    const std::vector<std::string> command = {LAZY_VICTIM, "2", std::to_string(i)};
    all.emplace_back(command, on);
  }
  for (Process& p : all) {
    const Ended e = p.wait();
    BOOST_TEST(e.good(), e.said);
    BOOST_TEST(!warns(e), e.said);
  }
  BOOST_TEST(counts(run({LAZY_VICTIM}, on)).compiled == 0u);
}

// Calls fail, each in its turn: results stay right, and stored records are right.
BOOST_AUTO_TEST_CASE(io_errors) {
  const char* const faults[] = {"pwrite=28/1",
                                "pwrite=28/2",
                                "pwrite=28/7",
                                "pwrite=5/3",
                                "pwrite=0/2",
                                "pread=5/1",
                                "pread=5/2",
                                "pread=5/7",
                                "pread=0/2",
                                "pread=116/3",
                                "openat=5/1",
                                "openat=5/2",
                                "openat=5/3",
                                "openat=24/4",
                                "openat=116/5",
                                "openat=30/1",
                                "flock=37/1",
                                "flock=37/2",
                                "flock=5/3",
                                "ftruncate=5/1,pwrite=28/3",
                                "renameat=116/1",
                                "renameat=0/1",
                                "unlinkat=13/1",
                                "unlinkat=116/2",
                                "fstat=5/2",
                                "fstat=5/5",
                                "pwrite=28/5,pread=5/5,openat=5/9,renameat=5/2,flock=37/6"};
  for (const char* fault : faults) {
    const Folder f;
    const Environment on = with(cached_in(f / "c"), {{"LAZY_CACHE_SIZE", "60000"}});
    for (int seed = 0; seed < 3; ++seed) {
      const Ended cold = run({LAZY_VICTIM, "20", std::to_string(seed)},
                             with(on, {{"LD_PRELOAD", LAZY_FAULTS_LIBRARY},
                                       {"CACHE_FAULTS", fault},
                                       {"CACHE_FAULTS_SEED", std::to_string(seed)}}));
      BOOST_TEST(cold.good(), fault << ": status " << cold.status << ": " << cold.said);
      const Ended after = run({LAZY_VICTIM, "2"}, with(on, {{"LAZY_CACHE_VERIFY", "1"}}));
      BOOST_TEST(after.good(), fault << ": " << after.said);
      BOOST_TEST(!warns(after), fault << ": " << after.said);
    }
    // An error deletes nothing: a complete cache that is only read with errors is complete after them.
    std::filesystem::remove_all(f / "c");
    const Environment roomy = cached_in(f / "c");
    run({LAZY_VICTIM}, roomy);
    for (int seed = 0; seed < 3; ++seed)
      run({LAZY_VICTIM, "2"}, with(roomy, {{"LD_PRELOAD", LAZY_FAULTS_LIBRARY},
                                           {"CACHE_FAULTS", fault},
                                           {"CACHE_FAULTS_SEED", std::to_string(seed)}}));
    BOOST_TEST(counts(run({LAZY_VICTIM}, roomy)).compiled == 0u, fault);
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_once) {
  const Folder f;
  const Ended e =
      run({LAZY_VICTIM, "3"},
          with(cached_in(f / "c"), {{"LD_PRELOAD", LAZY_FAULTS_LIBRARY}, {"CACHE_FAULTS", "pwrite=28/1"}}));
  BOOST_TEST(e.good(), e.said);
  const size_t first = e.said.find("No space left on device; programs compiled from now on are not kept");
  BOOST_TEST(first != std::string::npos, e.said);
  BOOST_TEST(e.said.find("lazy: ", e.said.find("lazy: ") + 1) == std::string::npos, e.said);
}

BOOST_AUTO_TEST_CASE(a_read_only_folder) {
  const Folder f;
  const Environment on = cached_in(f / "c");
  run({LAZY_VICTIM}, on);
  const Ended e =
      run({LAZY_VICTIM}, with(on, {{"LD_PRELOAD", LAZY_FAULTS_LIBRARY}, {"CACHE_FAULTS", "pwrite=30/1"}}));
  BOOST_TEST(counts(e).compiled == 0u);
  BOOST_TEST(!warns(e), e.said);
  // Uses a full disk, if the test may mount one.
  if (geteuid() != 0 || mkdir((f / "m").c_str(), 0700) != 0 ||
      mount("none", (f / "m").c_str(), "tmpfs", 0, "size=4m,mode=0700") != 0) {
    BOOST_TEST_MESSAGE("no mounts here: the read-only file system is not tested");
    return;
  }
  const Environment there = cached_in(f / "m");
  run({LAZY_VICTIM}, there);
  const bool remounted =
      mount("none", (f / "m").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=4m,mode=0700") == 0;
  const Ended warm = run({LAZY_VICTIM}, there),
              other = run({LAZY_VICTIM}, with(there, {{"LAZY_EXACT_CASTS", "1"}}));
  umount((f / "m").c_str());
  BOOST_TEST(remounted);
  BOOST_TEST(counts(warm).compiled == 0u);
  BOOST_TEST(!warns(warm), warm.said);
  BOOST_TEST(counts(other).compiled > 0u);
  BOOST_TEST(other.said.find("Read-only file system") != std::string::npos, other.said);
}

BOOST_AUTO_TEST_CASE(the_folder_vanishes_while_processes_run) {
  const Folder f;
  const Environment on = cached_in(f / "c");
  for (int i = 0; i < 10; ++i) {
    Process p({LAZY_VICTIM, "40", std::to_string(i)}, on);
    for (int k = 0; k < 6; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      std::error_code ignored;
      std::filesystem::remove_all(f / "c", ignored);
    }
    const Ended e = p.wait();
    BOOST_TEST(e.good(), e.said);
  }
}

BOOST_AUTO_TEST_SUITE_END()
