// Tests settings that change in the middle of a flush: it uses those of its beginning.
#include <atomic>
#include <thread>

#include "support/log_sink.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

/// Calls `then` once, when a flush has made its key and found no program for it.
class AfterTheKey {
 public:
  explicit AfterTheKey(std::function<void()> then) : log_("LAZY_LOG", "miss") {
    logging::set_sink([then = std::move(then), once = std::make_shared<std::atomic<bool>>(true)](
                          logging::Channel, std::string_view) {
      if (once->exchange(false)) then();
    });
  }
  ~AfterTheKey() { logging::set_sink({}); }

 private:
  Override log_;
};

/// Computes a product and a sum, for which float16 between them rounds differently.
std::vector<float> rounded_between(const Tensor& x) {
  return (x * 1.0009765625f + 0.33325f).to_vector<float>();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(settings_meanwhile, fresh::Fixture)

// The key says which rounding a program does: compiled by another setting it would serve that key for good.
BOOST_AUTO_TEST_CASE(a_program_is_compiled_for_what_its_key_says) {
  const Tensor x = numbers({600}, float16) * 0.37f;
  x.eval();
  const std::vector<float> expected = rounded_between(x);
  {
    const Override exact("LAZY_EXACT_CASTS", "on");
    const std::vector<float> exactly = rounded_between(x);
    BOOST_TEST((exactly != expected));
  }
  for (const char* name : {"LAZY_EXACT_CASTS", "LAZY_FP_CONTRACT", "LAZY_DYNAMIC"}) {
    cache::clear();
    const AfterTheKey change([&] { config::set(name, name[5] == 'D' ? "never" : "on"); });
    BOOST_TEST((rounded_between(x) == expected), name);
    config::set(name, "");
    BOOST_TEST((rounded_between(x) == expected), name);
    const auto all = cache::programs();
    BOOST_TEST(all.size() == 1u);
    BOOST_TEST(all[0].variant == "generic");
  }
}

// The input was overwritten: comparing with it would be a false alarm.
BOOST_AUTO_TEST_CASE(verifying_begins_with_the_next_flush) {
  const Probe::Hooks hooks;
  Tensor x = numbers({3000});
  cache::clear();
  Probe::instance().on_launch = [] { config::set("LAZY_VERIFY", "on"); };
  x = x + 2;
  const std::string said = fresh::standard_error_of([&] { x.eval(); });
  BOOST_TEST(said == "");
  BOOST_TEST(metrics().bytes_donated > 0u);
  BOOST_TEST(metrics().verify_runs == 0u);
  Probe::instance().on_launch = [] { config::set("LAZY_VERIFY", "off"); };
  x = x * 2;
  BOOST_TEST(x(5).item<float>() == 16);
  BOOST_TEST(metrics().verify_runs > 0u);
  BOOST_TEST(metrics().verify_failures == 0u);
  config::set("LAZY_VERIFY", "");
}

BOOST_AUTO_TEST_CASE(verifying_is_switched_by_another_thread) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (unsigned i = 0; !stop; ++i) {
      config::set("LAZY_VERIFY", i % 2 ? "on" : "off");
      std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    Tensor x = numbers({300});
    x = x + 2;
    wrong += x(5).item<float>() != 8;
  }
  stop = true;
  other.join();
  config::set("LAZY_VERIFY", "");
  BOOST_TEST(wrong == 0);
  BOOST_TEST(metrics().verify_failures == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
