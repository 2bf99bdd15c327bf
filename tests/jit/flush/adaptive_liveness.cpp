// Tests named values that a program need not store: what it learns, and that using one late is right to the
// bit.
#include <cstring>
#include <future>
#include <thread>

#include "jit/graph/node.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

namespace {

bool ready(const Tensor& t) { return t.handle()->ready(); }

constexpr int64_t kMany = 4096;  // float32: twice the smallest that is dropped

struct Named {
  Tensor h, g, y;
};
/// Computes two intermediates with names, and a result that is evaluated.
Named named(const Tensor& x) {
  Named r;
  r.h = x * 0.25 + 1;
  r.g = r.h * r.h - x;
  r.y = sum(r.g);
  r.y.eval();
  return r;
}
constexpr int kLearnt = 6;  // runs after which a program has learnt
template <class F>
void learn(F&& f) {
  for (int i = 0; i < kLearnt; ++i) f();
}
std::vector<float> eagerly(const std::function<Tensor()>& f) {
  const Override eager("LAZY_EAGER", "1");
  return f().to_vector<float>();
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
uint64_t late() { return metrics().late_values; }
uint64_t dropped() { return metrics().values_dropped; }

}  // namespace

struct Small : fresh::Fixture {  // small values, so that the tests take no time
  Override bytes{"LAZY_LIVENESS_BYTES", "8192"};
};

BOOST_FIXTURE_TEST_SUITE(adaptive_liveness, Small)

BOOST_AUTO_TEST_CASE(what_dies_unread_is_no_longer_stored) {
  const Tensor x = numbers({kMany});
  const float first = named(x).y.item<float>();
  learn([&] { named(x); });
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  const Named last = named(x);
  BOOST_TEST((!ready(last.h) && !ready(last.g) && ready(last.y)));
  BOOST_TEST(dropped() == 2u);
  BOOST_TEST(metrics().bytes_dropped == 2u * kMany * sizeof(float));
  BOOST_TEST(metrics().bytes_peak < before + 1000);
  BOOST_TEST(metrics().program_misses == 0u);
  BOOST_TEST(last.y.item<float>() == first);
}

BOOST_AUTO_TEST_CASE(it_takes_one_more_program) {
  const Tensor x = numbers({kMany});
  const Tensor other = numbers({2 * kMany + 1});
  reset_metrics();
  for (int i = 0; i < 50; ++i) named(x);
  BOOST_TEST(metrics().program_misses == 2u);
  for (int i = 0; i < 3; ++i) named(other);
  BOOST_TEST(metrics().program_misses == 2u);
}

BOOST_AUTO_TEST_CASE(keep_switches_it_off) {
  const Override keep("LAZY_LIVENESS", "keep");
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  BOOST_TEST(ready(named(x).h));
  BOOST_TEST(dropped() == 0u);
}

BOOST_AUTO_TEST_CASE(small_values_are_stored) {
  const Tensor x = numbers({100}), larger = numbers({kMany});
  learn([&] { named(x); });
  BOOST_TEST(ready(named(x).h));
  for (int i = 0; i < 50; ++i) named(larger);
  BOOST_TEST(!ready(named(larger).h));
}

BOOST_AUTO_TEST_CASE(a_late_read_is_right_and_the_last_of_its_kind) {
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  const Named last = named(x);
  BOOST_TEST(!ready(last.h));
  BOOST_TEST(same_bits(last.h.to_vector<float>(), eagerly([&] { return x * 0.25 + 1; })));
  BOOST_TEST(late() == 1u);
  BOOST_TEST((ready(last.h) && !ready(last.g)));  // only the value that was read
  for (int i = 0; i < 2 * kLearnt; ++i) {
    const Named next = named(x);
    BOOST_TEST((ready(next.h) && !ready(next.g)));
  }
  BOOST_TEST(late() == 1u);
  BOOST_TEST(same_bits(last.g.to_vector<float>(), eagerly([&] {
                         const Tensor h = x * 0.25 + 1;
                         return h * h - x;
                       })));
}

BOOST_AUTO_TEST_CASE(a_late_operand_is_needed_too) {
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  {
    const Named last = named(x);
    const Tensor z = last.h * 3;
    BOOST_TEST(late() == 0u);
    BOOST_TEST(same_bits(z.to_vector<float>(), eagerly([&] { return (x * 0.25 + 1) * 3; })));
    BOOST_TEST(late() == 1u);
    BOOST_TEST(ready(last.h));
  }
  const Named next = named(x);
  BOOST_TEST((ready(next.h) && !ready(next.g)));
}

BOOST_AUTO_TEST_CASE(an_operand_that_never_runs_is_no_use) {
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  for (int i = 0; i < 3; ++i) {
    const Named last = named(x);
    { const Tensor unused = exp(last.h); }
    BOOST_TEST(!ready(last.h));
  }
  BOOST_TEST(late() == 0u);
}

BOOST_AUTO_TEST_CASE(views_and_assignments_of_what_was_dropped) {
  const Tensor x = numbers({64, 64});
  learn([&] { named(x); });
  Named last = named(x);
  BOOST_TEST(!ready(last.h));
  const Tensor column = last.h(_, 3), turned = permute(last.g, {1, 0})(slice(1, 9), _);
  const auto h = [&] { return x * 0.25 + 1; };
  BOOST_TEST(same_bits(column.to_vector<float>(), eagerly([&] { return h()(_, 3).copy(); })));
  BOOST_TEST(same_bits(turned.to_vector<float>(), eagerly([&] {
                         return permute(h() * h() - x, {1, 0})(slice(1, 9), _);
                       })));
  Named other = named(x);
  other.g(slice(2, 5), _) = 7;
  BOOST_TEST(same_bits(other.g.to_vector<float>(), eagerly([&] {
                         Tensor g = h() * h() - x;
                         g(slice(2, 5), _) = 7;
                         return g;
                       })));
}

BOOST_AUTO_TEST_CASE(a_view_of_a_stored_value_is_a_use) {
  const Tensor x = numbers({64, 64});
  learn([&] {
    const Named r = named(x);
    const Tensor row = r.h(3);
    row.eval();
  });
  const Named last = named(x);
  BOOST_TEST((ready(last.h) && !ready(last.g)));
}

BOOST_AUTO_TEST_CASE(what_is_carried_along_is_stored) {
  Tensor x = numbers({kMany});
  Tensor speed = x * 0.5;
  speed.eval();
  for (int i = 0; i < 20; ++i) {
    speed = speed * 0.5 + x * 0.01;
    const Tensor moved = x * 0.5 + speed;
    x = moved;
    x.eval();
    BOOST_TEST(ready(speed));
  }
  BOOST_TEST(dropped() == 0u);
}

BOOST_AUTO_TEST_CASE(inputs_of_recipes_are_not_overwritten) {
  const auto f = [](Tensor x) {
    Tensor wide = x * 2;
    Tensor y = x + 1;  // would be written over x
    x = Tensor();
    y.eval();
    return std::pair(wide, y);
  };
  for (int i = 0; i < kLearnt; ++i) f(numbers({kMany}));
  const uint64_t before = metrics().bytes_live;
  const auto [wide, y] = f(numbers({kMany}));
  BOOST_TEST(!ready(wide));
  BOOST_TEST(metrics().bytes_live == before + 2u * kMany * sizeof(float));  // no more than if it were stored
  BOOST_TEST(wide.to_vector<float>()[5] == 12);
  BOOST_TEST(y.to_vector<float>()[5] == 7);
}

BOOST_AUTO_TEST_CASE(what_would_keep_more_alive_than_it_saves_is_stored) {
  const auto f = [](Tensor x) {
    Tensor part = sum(reshape(x, {kMany, 16}), {1});
    Tensor y = sum(part);
    x = Tensor();
    y.eval();
    return part;
  };
  learn([&] { f(numbers({16 * kMany})); });
  const uint64_t before = metrics().bytes_live;
  const Tensor part = f(numbers({16 * kMany}));
  BOOST_TEST(ready(part));
  BOOST_TEST(metrics().bytes_live < before + 2u * kMany * sizeof(float));
  const Tensor held = numbers({16 * kMany});  // alive independently
  learn([&] { f(held); });
  BOOST_TEST(!ready(f(held)));
}

BOOST_AUTO_TEST_CASE(recipes_are_no_larger_than_what_they_save) {
  const auto f = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 600; ++i) y = i % 7 < 3 ? y * 0.5 : y + x;
    Tensor named = y * 2;
    sum(named * y).eval();
    return named;
  };
  const Tensor small = numbers({kMany}), large = numbers({1 << 20});
  learn([&] { f(small); });
  BOOST_TEST(ready(f(small)));
  BOOST_TEST(!ready(f(large)));
}

BOOST_AUTO_TEST_CASE(memory_of_the_users_is_read_once) {
  std::vector<float> memory(kMany, 1.0f);
  const auto f = [&] {
    const Tensor x = from_blob(memory.data(), {kMany});
    return named(x);
  };
  learn(f);
  const Named last = f();
  BOOST_TEST(ready(last.h));
  BOOST_TEST(dropped() == 0u);
}

BOOST_AUTO_TEST_CASE(sixteen_bits_and_contraction_keep_their_roundings) {
  const Tensor x = numbers({kMany}, float16) * 0.001;
  x.eval();
  learn([&] { named(x); });
  BOOST_TEST(ready(named(x).h));
  {
    const Override exact("LAZY_EXACT_CASTS", "1");
    learn([&] { named(x); });
    BOOST_TEST(!ready(named(x).h));
  }
  const Override contract("LAZY_FP_CONTRACT", "1");
  const Tensor single = numbers({kMany});
  learn([&] { named(single); });
  BOOST_TEST(ready(named(single).h));
}

BOOST_AUTO_TEST_CASE(who_keeps_them_all_has_them_stored) {
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  std::vector<Tensor> all;
  for (int i = 0; i < 100; ++i) all.push_back(named(x).h);
  BOOST_TEST((!ready(all.front()) && ready(all.back())));
  uint64_t pending = 0;
  for (const Tensor& t : all) pending += !ready(t);
  BOOST_TEST(pending <= 66u);
  BOOST_TEST(all[0].to_vector<float>()[4] == 5 * 0.25f + 1);
  BOOST_TEST(ready(all[0]));
}

BOOST_AUTO_TEST_CASE(only_a_few_changes_of_mind) {
  const Tensor x = numbers({kMany});
  const auto f = [&](int late_one) {
    std::vector<Tensor> parts;
    Tensor y = x;
    for (int i = 0; i < 12; ++i) parts.push_back(y = y * 0.5 + 1);
    Tensor s = sum(y * y);
    s.eval();
    if (late_one >= 0) parts[static_cast<size_t>(late_one)].eval();
  };
  learn([&] { f(-1); });
  for (int i = 0; i < 12; ++i) f(i), f(-1);
  const uint64_t misses = metrics().program_misses;
  for (int i = 0; i < 12; ++i) f(i), f(-1);
  BOOST_TEST(metrics().program_misses == misses);
  BOOST_TEST(metrics().late_values <= 12u);
  BOOST_TEST(misses < 40u);
}

BOOST_AUTO_TEST_CASE(eval_of_several_keeps_them_all) {
  const Tensor x = numbers({kMany});
  const auto f = [&] {
    Tensor a = x * 2, b = a + 1, c = b * b;
    eval(b, c);
    BOOST_TEST((ready(b) && ready(c)));
    return a;
  };
  learn(f);
  metrics();
  BOOST_TEST(!ready(f()));
}

BOOST_AUTO_TEST_CASE(a_late_read_that_fails_may_be_tried_again) {
  fresh::Probe& probe = fresh::Probe::instance();
  const fresh::Probe::Hooks hooks;
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  const Named last = named(x);
  BOOST_TEST(!ready(last.g));
  probe.on_allocate = [](size_t) { throw std::bad_alloc(); };
  BOOST_CHECK_THROW(last.g.to_vector<float>(), std::bad_alloc);
  BOOST_TEST((!ready(last.g) && !ready(last.h)));
  BOOST_CHECK_THROW(named(x), std::bad_alloc);
  probe.on_allocate = nullptr;
  BOOST_TEST(last.g.to_vector<float>()[3] == 0.0f);  // (4 / 4 + 1)^2 - 4
  BOOST_TEST(!ready(named(x).h));
}

BOOST_AUTO_TEST_CASE(forgotten_with_the_cache) {
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  const Named last = named(x);
  cache::clear();
  BOOST_TEST(ready(named(x).h));
  BOOST_TEST(last.h.to_vector<float>()[3] == 2.0f);
  learn([&] { named(x); });
  cache::set_limits(1, 1u << 20);
  for (int i = 0; i < 10; ++i) BOOST_TEST(named(x).g.to_vector<float>()[3] == 0.0f);
}

BOOST_AUTO_TEST_CASE(programs_go_to_disk_like_others) {
  const test::Folder folder;
  const Override on("LAZY_CACHE", "on"), where("LAZY_CACHE_DIR", folder.path());
  const Tensor x = numbers({kMany});
  learn([&] { named(x); });
  cache::clear();
  const uint64_t compiled = metrics().kernels_compiled;
  learn([&] { named(x); });
  BOOST_TEST(!ready(named(x).h));
  BOOST_TEST(metrics().kernels_compiled == compiled);
}

BOOST_AUTO_TEST_CASE(verified_and_eager) {
  const Tensor x = numbers({kMany});
  {
    const Override verify("LAZY_VERIFY", "1");
    learn([&] { named(x); });
    const Named last = named(x);
    BOOST_TEST(!ready(last.h));
    last.g.eval();
    BOOST_TEST(metrics().verify_failures == 0u);
  }
  const Named last = named(x);
  const Override eager("LAZY_EAGER", "1");
  BOOST_TEST((last.h + last.g).to_vector<float>()[3] == 2.0f);
  BOOST_TEST(ready(named(x).h));
}

BOOST_AUTO_TEST_CASE(a_recorded_loop_with_a_name_inside) {
  const Tensor x = numbers({kMany});
  const auto f = [&] {
    Tensor z = x * 1e-4;
    Tensor middle;
    for (int i = 0; i < 40; ++i) {
      z = z * z + 0.1;
      if (i == 19) middle = z;
    }
    z.eval();
    return middle;
  };
  const std::vector<float> expected = f().to_vector<float>();
  cache::clear();
  learn(f);
  const Tensor middle = f();
  BOOST_TEST(!ready(middle));
  BOOST_TEST(same_bits(middle.to_vector<float>(), expected));
}

BOOST_AUTO_TEST_CASE(graphs_that_are_cut) {
  const Override limit("LAZY_MAX_GRAPH", "7");
  const Tensor x = numbers({kMany});
  const auto f = [&] {
    std::vector<Tensor> parts;
    Tensor y = x;
    for (int i = 0; i < 30; ++i) parts.push_back(y = y * 0.5 + 1);
    y.eval();
    return parts;
  };
  const std::vector<float> expected = f()[4].to_vector<float>();
  learn(f);
  for (int i = 0; i < 5; ++i) BOOST_TEST(same_bits(f()[4].to_vector<float>(), expected));
}

BOOST_AUTO_TEST_CASE(dropped_and_read_on_other_threads) {
  const Tensor x = numbers({kMany});
  const std::vector<float> expected = eagerly([&] { return x * 0.25 + 1; });
  for (int i = 0; i < 2 * kLearnt; ++i) {
    auto last = std::make_unique<Named>(named(x));
    std::thread([&] { last.reset(); }).join();
  }
  const Named last = named(x);
  BOOST_TEST(!ready(last.h));
  std::vector<std::future<bool>> readers;
  for (int i = 0; i < 4; ++i)
    readers.push_back(std::async(std::launch::async, [&, i] {
      return i % 2 ? same_bits(last.h.to_vector<float>(), expected)
                   : (last.h * 1).to_vector<float>()[7] == expected[7];
    }));
  for (auto& r : readers) BOOST_TEST(r.get());
}

BOOST_AUTO_TEST_CASE(many_threads_share_what_was_learnt) {
  const Tensor x = numbers({kMany});
  const std::vector<float> g = eagerly([&] {
    const Tensor h = x * 0.25 + 1;
    return h * h - x;
  });
  std::vector<std::future<bool>> all;
  for (int t = 0; t < 4; ++t)
    all.push_back(std::async(std::launch::async, [&, t] {
      bool good = true;
      Named passed;
      for (int i = 0; i < 200; ++i) {
        Named last = named(x);
        if (i % 50 == 10 * t + 7) good &= same_bits(last.g.to_vector<float>(), g);
        passed = std::move(last);
      }
      return good;
    }));
  for (auto& r : all) BOOST_TEST(r.get());
}

BOOST_AUTO_TEST_SUITE_END()
