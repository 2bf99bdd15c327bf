// Tests many threads that record, flush, share, drop and end. Run under ThreadSanitizer and AddressSanitizer
// as well.
#include <barrier>
#include <mutex>
#include <thread>

#include "tests/common/fresh.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;
using fresh::numbers;

namespace {

constexpr int kThreads = 8;

/// Runs `f(thread number)` on all threads at once; true if none of them returned false or threw.
template <class F>
bool on_all_threads(F f) {
  std::barrier start(kThreads);
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        if (!f(t)) good = false;
      } catch (...) { good = false; }
    });
  for (auto& t : threads) t.join();
  return good;
}

bool all_equal(const Tensor& x, float expected) {
  for (float v : x.to_vector<float>())
    if (v != expected) return false;
  return true;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(threads, fresh::Fixture)

BOOST_AUTO_TEST_CASE(each_with_tensors_of_its_own) {
  BOOST_TEST(on_all_threads([](int t) {
    for (int round = 0; round < 50; ++round) {
      Tensor x = full({50 + t}, t, float32);
      for (int i = 0; i < 10; ++i) x = x * 2 - t;
      if (!all_equal(x, static_cast<float>(t))) return false;
      if (sum(x).item<float>() != static_cast<float>(t * (50 + t))) return false;
    }
    return true;
  }));
}

BOOST_AUTO_TEST_CASE(reading_one_value_that_exists) {
  const Tensor x = numbers({200});
  BOOST_TEST(on_all_threads([&](int t) {
    for (int round = 0; round < 50; ++round) {
      const Tensor mine = x, y = mine * t + x(slice(none, none, -1)) * 0;
      if (y.to_vector<float>()[3] != static_cast<float>(4 * t)) return false;
    }
    return true;
  }));
}

BOOST_AUTO_TEST_CASE(all_want_one_pending_value) {
  for (int round = 0; round < 30; ++round) {
    const Tensor x = numbers({100});
    const Tensor y = x * 2, z = y + 1;
    const uint64_t before = metrics().flushes;
    BOOST_TEST(on_all_threads([&](int t) {
      const std::vector<float> v = (t % 2 ? y : z).to_vector<float>();
      return v[9] == (t % 2 ? 20 : 21);
    }));
    BOOST_TEST(metrics().flushes == before + 1);
  }
}

BOOST_AUTO_TEST_CASE(using_pending_values_of_other_threads) {
  for (int round = 0; round < 20; ++round) {
    std::mutex lock;
    std::vector<Tensor> pool{numbers({20}) * 0};
    BOOST_TEST(on_all_threads([&](int t) {
      for (int i = 0; i < 20; ++i) {
        Tensor a, b;
        {
          const std::lock_guard hold(lock);
          a = pool[static_cast<size_t>(t * 31 + i * 7) % pool.size()];
          b = pool.back();
        }
        const Tensor c = maximum(a, b) + 1;
        const std::lock_guard hold(lock);
        pool.push_back(c);
        if (i % 5 == 4) pool[static_cast<size_t>(i * 13) % pool.size()] = c;  // drops another thread's handle
      }
      return true;
    }));
    for (const Tensor& p : pool) {
      const std::vector<float> v = p.to_vector<float>();
      BOOST_TEST((v[0] >= 0 && v[0] <= 160));
    }
  }
}

BOOST_AUTO_TEST_CASE(two_threads_that_use_each_others_values) {
  for (int round = 0; round < 200; ++round) {
    Tensor left, right;
    std::barrier meet(2);
    float a = 0, b = 0;
    std::thread one([&] {
      left = numbers({8}) * 3;
      meet.arrive_and_wait();
      const Tensor r = right;
      a = (left + r).to_vector<float>()[0];
    });
    std::thread two([&] {
      right = numbers({8}) * 5;
      meet.arrive_and_wait();
      const Tensor l = left;
      b = (l + right).to_vector<float>()[0];
    });
    one.join();
    two.join();
    BOOST_TEST((a == 8 && b == 8));
  }
}

BOOST_AUTO_TEST_CASE(handles_are_dropped_while_others_flush) {
  for (int round = 0; round < 20; ++round) {
    const Tensor base = numbers({100});
    const Tensor root = base + 1;
    std::vector<std::vector<Tensor>> doomed(kThreads);
    for (int t = 0; t < kThreads; ++t)
      for (int i = 0; i < 50; ++i) doomed[static_cast<size_t>(t)].push_back(root * i);
    BOOST_TEST(on_all_threads([&](int t) {
      if (t == 0) return root.to_vector<float>()[0] == 2;
      auto& mine = doomed[static_cast<size_t>(t)];
      while (!mine.empty()) mine.pop_back();
      return true;
    }));
    BOOST_TEST(doomed[0][3].to_vector<float>()[1] == 9);
  }
}

BOOST_AUTO_TEST_CASE(threads_end_with_pending_work) {
  std::vector<Tensor> left(kThreads);
  for (int round = 0; round < 20; ++round) {
    BOOST_TEST(on_all_threads([&](int t) {
      const Tensor x = full({30}, t + 1, float32);
      Tensor dropped = exp(x) + 1;
      left[static_cast<size_t>(t)] = x * 2 + dropped * 0;
      return true;
    }));
    for (int t = 0; t < kThreads; ++t)
      if ((t + round) % 2) BOOST_TEST(all_equal(left[static_cast<size_t>(t)], static_cast<float>(2 * t + 2)));
  }
}

BOOST_AUTO_TEST_CASE(in_place_updates_never_reach_another_threads_copy) {
  const Tensor shared = numbers({500});
  BOOST_TEST(on_all_threads([&](int t) {
    for (int round = 0; round < 20; ++round) {
      Tensor mine = shared;
      mine(slice(0, 100)) = t;
      mine = mine + 1;
      mine(100) = -1;
      const std::vector<float> v = mine.to_vector<float>();
      if (v[0] != static_cast<float>(t + 1) || v[100] != -1 || v[200] != 202) return false;
    }
    return true;
  }));
  BOOST_TEST(shared.to_vector<float>()[0] == 1);
}

BOOST_AUTO_TEST_CASE(the_cache_is_cleared_and_bounded_meanwhile) {
  BOOST_TEST(on_all_threads([](int t) {
    for (int round = 0; round < 40; ++round) {
      if (t == 0) {
        cache::clear();
        cache::set_limits(static_cast<size_t>(round % 3), 256u << 20);
        continue;
      }
      Tensor x = full({10}, 1, float32).copy();
      for (int i = 0; i <= round % 4; ++i) x = t % 2 ? x + 1 : x * 2;
      const float expected = t % 2 ? static_cast<float>(2 + round % 4) : static_cast<float>(2 << round % 4);
      if (!all_equal(x, expected)) return false;
    }
    return true;
  }));
}

BOOST_AUTO_TEST_CASE(settings_change_meanwhile) {
  BOOST_TEST(on_all_threads([](int t) {
    for (int round = 0; round < 40; ++round) {
      if (t == 0) {
        const fresh::Override graph("LAZY_MAX_GRAPH", round % 2 ? "3" : "100"),
            eager("LAZY_EAGER", round % 5 ? "0" : "1");
        std::this_thread::yield();
        continue;
      }
      Tensor x = full({10}, t, float32);
      for (int i = 0; i < 12; ++i) x = x + flip(x) - t;
      if (!all_equal(x, static_cast<float>(t))) return false;
    }
    return true;
  }));
}

// Listing returns each key's programs as they are, while other threads add new ones.
BOOST_AUTO_TEST_CASE(programs_are_listed_while_others_compile_for_the_same_key) {
  const fresh::Override fixed("LAZY_DYNAMIC", "never"), limit("LAZY_RECOMPILE_LIMIT", "1000");
  BOOST_TEST(on_all_threads([](int t) {
    for (int round = 0; round < 60; ++round) {
      if (t % 2) {
        for (int again = 0; again < 20; ++again)
          for (const cache::ProgramInfo& p : cache::programs())
            if (p.kernel_texts.size() != p.kernels) return false;
        continue;
      }
      const Tensor x = arange(0, 8 + t * 100 + round, 1, float32);
      if ((x * 2 + 1).to_vector<float>()[3] != 7) return false;
      if (t == 0 && round % 20 == 19) cache::clear();
    }
    return true;
  }));
}

// Each Tensor caches a pointer, but one that takes long must not make others wait.
BOOST_AUTO_TEST_CASE(data_is_computed_side_by_side,
                     *test::needs("the CPU: the probe is its", [] { return default_device() == cpu; })) {
  const fresh::Probe::Hooks hooks;
  const Tensor slow = numbers({40}) * 2, ready = numbers({50});
  const Tensor strided = reshape(numbers({40}), {5, 8}).T();
  cache::clear();
  std::atomic<bool> others_are_through{false}, waited_in_vain{false};
  std::atomic<int> launches{0};
  std::barrier computing(2);
  fresh::Probe::instance().on_launch = [&] {
    if (launches++ > 0) return;
    computing.arrive_and_wait();
    for (int ms = 0; ms < 10000 && !others_are_through; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    waited_in_vain = !others_are_through;
  };
  std::thread first([&] { BOOST_TEST(slow.data<float>()[2] == 6); });
  computing.arrive_and_wait();
  std::thread others([&] {
    BOOST_TEST(ready.data<float>()[2] == 3);
    BOOST_TEST(strided.data<float>()[1] == 9);
    others_are_through = true;
  });
  first.join();
  others.join();
  BOOST_TEST(!waited_in_vain);
}

// Threads that call data() on one Tensor at once all get the same pointer, which stays.
BOOST_AUTO_TEST_CASE(data_of_one_tensor) {
  for (int round = 0; round < 30; ++round) {
    const Tensor x = reshape(numbers({40}), {5, 8}).T();
    std::atomic<const float*> seen[kThreads];
    BOOST_TEST(on_all_threads([&](int t) {
      seen[t] = x.data<float>();
      return seen[t][1] == 9;
    }));
    for (int t = 1; t < kThreads; ++t) BOOST_TEST(seen[t].load() == seen[0].load());
    BOOST_TEST(x.data<float>() == seen[0].load());
  }
}

BOOST_AUTO_TEST_SUITE_END()
