// Tests parents and children that both go on computing: code, threads, locks and values after a fork.
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <thread>

#include "tests/common/forked.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using test::ended_well;
using test::fork_for;
using test::good_in_child;

namespace {

/// Makes one of many small programs, and returns its result for elements of 1.5 in `expected`.
Tensor program(unsigned seed, float& expected) {
  Tensor y = full({50}, 1.5f).eval();
  expected = 1.5f;
  for (int i = 0; i < 9; ++i) {
    seed = seed * 1103515245u + 12345u;
    switch (seed >> 16 & 3) {
      case 0: y = y + 1, expected += 1; break;
      case 1: y = abs(y) * 0.5f, expected = std::abs(expected) * 0.5f; break;
      case 2: y = y - 3, expected -= 3; break;
      default: y = sqrt(abs(y)), expected = std::sqrt(std::abs(expected));
    }
  }
  return y;
}
bool right(unsigned seed) {
  float expected = 0;
  const auto got = program(seed, expected).to_vector<float>();
  return got.size() == 50 && got[7] == expected;
}

/// Checks work that is long enough for several threads.
bool large_right() {
  const Tensor x = arange(0, 1 << 20, 1, float64);
  const Tensor y = x * 2 + 1;
  const int64_t n = 96;
  const Tensor a = full({n, n}, 2.f), b = full({n, n}, 3.f);
  bool good = sum(y).item<double>() == std::pow(2., 40);
  for (float v : matmul(a, b).to_vector<float>()) good &= v == 6.f * n;
  return good;
}

/// Shares a page between parent and child, for one to wait for the other.
struct Shared {
  std::atomic<int>* count =
      new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          std::atomic<int>{0};
  ~Shared() { ::munmap(count, 4096); }
  void reach(int n) const {
    count->fetch_add(1);
    while (count->load() < n) ::usleep(200);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(forked, fresh::Fixture)

BOOST_AUTO_TEST_CASE(parent_and_children_have_code_of_their_own) {
  BOOST_TEST(right(99));
  const Shared shared;
  constexpr int kChildren = 3;
  // Each process compiles other programs, waits for the others, and runs them again.
  const auto all = [&](unsigned mine) {
    bool good = true;
    for (int pass = 0; pass < 3; ++pass) {
      for (unsigned i = 0; i < 20; ++i) good &= right(i * 8 + mine);
      shared.reach((kChildren + 1) * (pass + 1));
    }
    return good && right(99);
  };
  std::vector<pid_t> children;
  for (unsigned c = 1; c <= kChildren; ++c) children.push_back(fork_for([&] { return all(c); }));
  BOOST_TEST(all(0));
  for (const pid_t p : children) BOOST_TEST(ended_well(p));
}

BOOST_AUTO_TEST_CASE(a_pre_forking_server) {
  const fresh::Override threads("LAZY_NUM_THREADS", "4");
  BOOST_TEST(large_right());  // threads are awake
  const Tensor weights = fresh::numbers({300});
  const Tensor pending = weights * 2;  // each process computes it for itself
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c)
    children.push_back(fork_for([&, c] {
      bool good = true;
      for (int request = 0; request < 10; ++request)
        good &= large_right() && right(static_cast<unsigned>(c + request)) &&
                sum(pending * (c + 1)).item<float>() == 300.f * 301 * static_cast<float>(c + 1);
      std::vector<std::thread> threads;  // all of them use several threads
      std::atomic<bool> all{true};
      for (int t = 0; t < 4; ++t) threads.emplace_back([&] { all = all && large_right(); });
      for (auto& t : threads) t.join();
      return good && all;
    }));
  BOOST_TEST(large_right());
  for (const pid_t p : children) BOOST_TEST(ended_well(p));
  BOOST_TEST(sum(pending).item<float>() == 300.f * 301);
}

BOOST_AUTO_TEST_CASE(what_a_piece_throws_reaches_the_caller_in_a_child) {
  const fresh::Override threads("LAZY_NUM_THREADS", "4");
  BOOST_TEST(large_right());
  BOOST_TEST(good_in_child([] {
    auto& backend = *jit::backends().main;
    std::atomic<int> done{0};
    bool thrown = false;
    try {
      backend.for_each(100, [&](int64_t i) {
        if (i == 50) throw std::runtime_error("fifty");
        ++done;
      });
    } catch (const std::runtime_error&) { thrown = true; }
    // Pieces may have pieces.
    std::atomic<int> inner{0};
    backend.for_each(8, [&](int64_t) { backend.for_each(8, [&](int64_t) { ++inner; }); });
    return thrown && done <= 99 && inner == 64;
  }));
}

BOOST_AUTO_TEST_CASE(children_of_children) {
  const fresh::Override threads("LAZY_NUM_THREADS", "3");
  BOOST_TEST(large_right());
  BOOST_TEST(good_in_child([] {
    return large_right() && right(1) && good_in_child([] {
             return large_right() && right(2) && good_in_child([] { return large_right() && right(3); }) &&
                    right(3);
           }) &&
           large_right() && right(2);
  }));
  BOOST_TEST((right(1) && right(2) && right(3) && large_right()));
}

BOOST_AUTO_TEST_CASE(a_child_that_was_first_to_use_threads) {
  // This process may have used threads before; a new one has not.
  BOOST_TEST(good_in_child([] { return large_right() && good_in_child(large_right); }));
}

// No child may hang, and none may compute something wrong; it may get an error that it can't go on.
BOOST_AUTO_TEST_CASE(forks_while_other_threads_flush) {
  const fresh::Override threads("LAZY_NUM_THREADS", "2");
  std::atomic<bool> over{false};
  std::atomic<int> flushes{0};
  std::vector<std::thread> others;
  for (unsigned t = 0; t < 4; ++t)
    others.emplace_back([&, t] {
      for (unsigned i = 0; !over; ++i) {
        (void)right(i % 64 * 4 + t);
        if (i % 8 == 0) (void)large_right();
        if (i % 32 == 0 && t == 0) cache::clear();
        ++flushes;
      }
    });
  while (flushes < 50) std::this_thread::yield();
  int computed = 0;
  constexpr int kForks = 30;
  for (int i = 0; i < kForks; ++i) {
    const Tensor mine = fresh::numbers({40}) + 1;
    const pid_t p = fork_for([&] {
      try {
        bool good = sum(mine).item<float>() == 860;
        for (unsigned k = 0; k < 20; ++k) good &= right(k * 4 + 3);
        return good && large_right();
      } catch (const DeviceError&) { ::_exit(2); }
    });
    int status = -1;
    BOOST_TEST(::waitpid(p, &status, 0) == p);
    BOOST_TEST((WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2)),
               "status " << status);
    computed += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  over = true;
  for (auto& t : others) t.join();
  BOOST_TEST_MESSAGE(computed << " of " << kForks << " children computed");
  BOOST_TEST(computed > kForks / 2);
}

// The other thread is inside a flush: it compiles, so has the program's lock and a kernel being made, or
// runs.
BOOST_AUTO_TEST_CASE(a_value_that_another_thread_was_making) {
  auto& probe = fresh::Probe::instance();
  for (const bool compiles : {true, false}) {
    const fresh::Probe::Hooks hooks;
    const Tensor x = fresh::numbers({30});
    const Tensor wanted = x * 3 + 1;
    std::latch begun(1), over(1);
    std::atomic<bool> first{true};
    const auto stop = [&] {
      if (!first.exchange(false)) return;
      begun.count_down();
      over.wait();
    };
    if (compiles) probe.on_compile = [&](auto&) { stop(); };
    else probe.on_launch = stop;
    std::thread other([&] { wanted.eval(); });
    begun.wait();
    BOOST_TEST(good_in_child([&] {
      bool refused = false;
      try {
        (void)wanted.to_vector<float>();
      } catch (const DeviceError& e) {
        refused =
            std::string(e.what()).find("forked") != std::string::npos && e.where().line() != 0;  // the user's
      }
      try {
        (void)(wanted + 1).to_vector<float>();
        refused = false;
      } catch (const DeviceError&) {}
      const Tensor again = x * 3 + 1;  // the same program
      return refused && again.to_vector<float>()[4] == 16 && right(5);
    }));
    over.count_down();
    other.join();
    BOOST_TEST(wanted.to_vector<float>()[4] == 16);
  }
}

BOOST_AUTO_TEST_CASE(values_that_other_threads_recorded) {
  std::latch recorded(1), over(1);
  Tensor theirs;
  std::thread other([&] {
    theirs = fresh::numbers({20}) * 2;
    recorded.count_down();
    over.wait();
  });
  recorded.wait();
  BOOST_TEST(good_in_child([&] { return sum(theirs + 1).item<float>() == 440; }));
  BOOST_TEST(good_in_child([&] {
    theirs = Tensor();
    return right(7);
  }));
  over.count_down();
  other.join();
  BOOST_TEST(sum(theirs).item<float>() == 420);
}

BOOST_AUTO_TEST_SUITE_END()
