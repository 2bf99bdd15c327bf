// Tests what LAZY_PROFILE records of flushes, compiles and launches.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/common/fresh.hpp"
#include "tests/support/child.hpp"

namespace {

using namespace lazy;
using nlohmann::json;

struct Recording {
  lazy_test::TemporaryFile file;
  Recording() { profile::start(file.path); }
  ~Recording() { profile::stop(); }
  /// Ends the recording and returns its events; below, those with a name, or of a category.
  const std::vector<json>& all() {
    if (events.empty()) {
      profile::stop();
      const json trace = json::parse(file.text());
      for (const json& e : trace.at("traceEvents")) events.push_back(e);
    }
    return events;
  }
  std::vector<json> named(const std::string& name) {
    std::vector<json> found;
    for (const json& e : all())
      if (e.at("name") == name) found.push_back(e);
    return found;
  }
  std::vector<json> of(const std::string& category) {
    std::vector<json> found;
    for (const json& e : all())
      if (e.value("cat", "") == category) found.push_back(e);
    return found;
  }
  std::vector<json> events;
};

/// Returns values that are in memory: a constant would be computed where it is used.
Tensor values(ShapeArg shape) {
  const Shape s = shape;
  return from_span<float>(std::vector<float>(static_cast<size_t>(numel(s)), 0.5f), s);
}
std::string here(int line) { return "profile.cpp:" + std::to_string(line); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(profiling, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_flush_names_its_cause_line_and_program) {
  Tensor a = values({1000}), b = values({1000});
  Recording r;
  const int first = __LINE__ + 1;
  sum(a * b + 1).item<float>();
  for (int i = 0; i < 3; ++i) (a - b).eval();
  const auto flushes = r.named("flush");
  BOOST_REQUIRE_EQUAL(flushes.size(), 4u);
  const json& f = flushes[0].at("args");
  BOOST_TEST(f.at("cause") == "item");
  BOOST_TEST(f.at("at") == here(first));
  BOOST_TEST(f.at("hit") == false);
  BOOST_TEST(f.at("outputs") == 1);
  BOOST_TEST(f.at("ops").get<int>() >= 3);
  BOOST_TEST(!f.at("miss").get<std::string>().empty());
  BOOST_TEST(flushes[1].at("args").at("hit") == false);
  BOOST_TEST(flushes[2].at("args").at("hit") == true);
  BOOST_TEST(!flushes[2].at("args").contains("miss"));
  BOOST_TEST(flushes[3].at("args").at("program") == flushes[1].at("args").at("program"));
  BOOST_TEST(r.named("record").size() == 8u);  // begins and ends
}

BOOST_AUTO_TEST_CASE(phases_of_one_hit_in_eight_are_told) {
  const Tensor a = values({1000});
  (a + 1).eval();
  Recording r;
  for (int i = 0; i < 32; ++i) (a + 1).eval();
  BOOST_TEST(r.named("flush").size() == 32u);
  for (const char* phase : {"key", "lookup", "run"}) BOOST_TEST(r.named(phase).size() == 4u);
}

BOOST_AUTO_TEST_CASE(phases_of_compiles_nest_in_their_flush) {
  const Tensor a = values({1000});
  Recording r;
  exp(a).eval();
  const json flush = r.named("flush").at(0);
  const auto inside = [&](const json& e) {
    const double start = flush.at("ts"), end = start + flush.at("dur").get<double>(), slack = 0.002;
    return e.at("ts").get<double>() >= start - slack &&
           e.at("ts").get<double>() + e.at("dur").get<double>() <= end + slack &&
           e.at("tid") == flush.at("tid");
  };
  for (const char* name :
       {"compile", "simplify", "fuse", "lower", "tile_groups", "codegen", "lookup", "run"}) {
    const auto events = r.named(name);
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE_EQUAL(events.size(), 1u);
      BOOST_TEST(inside(events[0]));
    }
  }
  for (const json& e : r.of("kernel")) BOOST_TEST(inside(e));
}

BOOST_AUTO_TEST_CASE(launches_tell_bytes_and_arithmetic) {
  const Tensor a = values({30, 40}), b = values({40}), m = values({40, 20});
  Recording r;
  const int line = __LINE__ + 1;
  (a * b + 2).eval();
  sum(a).eval();
  matmul(a, m).eval();
  const auto launches = r.of("kernel");
  BOOST_REQUIRE_EQUAL(launches.size(), 3u);
  const json& chain = launches[0].at("args");
  BOOST_TEST(chain.at("at") == here(line));
  BOOST_TEST(launches[0].at("name").get<std::string>().find("map_add") == 0u);
  BOOST_TEST(chain.at("bytes") == (1200 + 40 + 1200) * 4);
  BOOST_TEST(chain.at("flops") == 2400);
  BOOST_TEST(chain.at("ops") == 2);
  const json& total = launches[1].at("args");
  BOOST_TEST(total.at("bytes") == (1200 + 1) * 4);
  BOOST_TEST(total.at("flops") == 1200);
  const json& product = launches[2].at("args");
  BOOST_TEST(product.at("flops") == 2 * 30 * 40 * 20);
  BOOST_TEST(product.at("bytes") == (1200 + 800 + 600) * 4);
}

BOOST_AUTO_TEST_CASE(a_failed_guard_comes_with_both_values) {
  const fresh::Override never("LAZY_DYNAMIC", "never");
  Recording r;
  for (const int64_t n : {16, 17}) exp(ones({n})).eval();
  const auto failures = r.named("guard failed");
  BOOST_REQUIRE_GE(failures.size(), 1u);
  const json& g = failures[0].at("args");
  BOOST_TEST(g.at("kind") == "extent");
  BOOST_TEST(g.at("was") == 16);
  BOOST_TEST(g.at("now") == 17);
  const json last = r.named("flush").back().at("args");
  BOOST_TEST(last.at("hit") == false);
  BOOST_TEST(last.at("miss").get<std::string>().find("was 16, now 17") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_program_is_described_once) {
  const Tensor x = values({8, 8});
  Recording r;
  for (int i = 0; i < 3; ++i) (exp(x) / sum(exp(x), {1}, keepdims)).eval();
  const auto programs = r.named("program");
  BOOST_REQUIRE_EQUAL(programs.size(), 1u);
  const json& p = programs[0].at("args").at("graph");
  BOOST_TEST(p.at("program") == r.named("flush").at(0).at("args").at("program"));
  std::set<int> known;
  bool kept = false, exp_found = false;
  for (const json& n : p.at("nodes")) {
    for (const json& from : n.at("from")) BOOST_TEST(known.contains(from.get<int>()));
    known.insert(n.at("v").get<int>());
    kept |= n.value("kept", false);
    exp_found |= n.at("op") == "exp" && n.at("shape") == json::array({8, 8}) && n.at("dtype") == "float32" &&
                 n.at("at").get<std::string>().starts_with("profile.cpp:");
    if (n.contains("group")) BOOST_TEST(n.at("group").get<size_t>() < p.at("kernels").size() + 8);
  }
  BOOST_TEST(kept);
  BOOST_TEST(exp_found);
  BOOST_TEST(!p.at("kernels").empty());
  for (const json& k : p.at("kernels")) {
    BOOST_TEST(!k.at("ir").get<std::string>().empty());
    BOOST_TEST(k.at("at").get<std::string>().starts_with("profile.cpp:"));
  }
}

BOOST_AUTO_TEST_CASE(spans_of_a_thread_nest) {
  const fresh::Override two("LAZY_NUM_THREADS", "2");
  const Tensor x = values({2000, 700}), w = values({700, 700});
  Recording r;
  for (int i = 0; i < 3; ++i) {
    const Tensor e = exp(x - max(x, {1}, keepdims));
    matmul(e / sum(e, {1}, keepdims), w).eval();
    sum(exp(w)).item<float>();
  }
  std::map<int, std::vector<std::pair<double, double>>> spans;
  for (const json& e : r.all())
    if (e.at("ph") == "X")
      spans[e.at("tid").get<int>()].emplace_back(e.at("ts").get<double>(),
                                                 -(e.at("ts").get<double>() + e.at("dur").get<double>()));
  size_t checked = 0;
  for (auto& [thread, all] : spans) {
    std::sort(all.begin(), all.end());
    std::vector<double> open;
    for (const auto& [start, minus_end] : all) {
      constexpr double kRounding = 0.0025;
      while (!open.empty() && open.back() <= start + kRounding) open.pop_back();
      if (!open.empty()) BOOST_TEST(-minus_end <= open.back() + kRounding);
      open.push_back(-minus_end);
      ++checked;
    }
  }
  BOOST_TEST(checked > 30u);
}

BOOST_AUTO_TEST_CASE(tile_groups_share_their_time_among_their_kernels) {
  const Tensor x = values({4096, 512});
  Recording r;
  const Tensor e = exp(x - max(x, {1}, keepdims));
  (e / sum(e, {1}, keepdims)).eval();
  const auto tile_groups = r.named("tile_group");
  double tile_group_time = 0, kernel_time = 0;
  for (const json& b : tile_groups)
    if (b.at("cat") == "kernel") tile_group_time += b.at("dur").get<double>();
  for (const json& k : r.of("kernel"))
    if (k.contains("args") && k.at("args").value("in_tile_group", false))
      kernel_time += k.at("dur").get<double>();
  BOOST_REQUIRE_GT(tile_group_time, 0);
  BOOST_TEST(kernel_time <= tile_group_time * 1.001 + 0.01);
  BOOST_TEST(kernel_time > tile_group_time * 0.9);
}

BOOST_AUTO_TEST_CASE(parts_lie_on_the_threads_that_do_them) {
  const fresh::Override two("LAZY_NUM_THREADS", "2");
  const Tensor x = values({4000000});
  Recording r;
  for (int i = 0; i < 20; ++i) (exp(x) + 1).eval();
  const auto parts = r.of("part");
  BOOST_REQUIRE(!parts.empty());
  std::set<int> threads;
  for (const json& p : parts) threads.insert(p.at("tid").get<int>());
  BOOST_TEST(threads.size() <= 2u);
  for (const json& k : r.of("kernel")) BOOST_TEST(k.at("args").at("parts").get<int>() >= 2);
}

BOOST_AUTO_TEST_CASE(memory_is_followed) {
  Recording r;
  Tensor x = ones({1 << 20});
  x.eval();
  const auto samples = r.named("memory");
  BOOST_REQUIRE(!samples.empty());
  BOOST_TEST(samples.back().at("args").at("bytes").get<double>() >= 4 << 20);
}

BOOST_AUTO_TEST_CASE(lines_hold_memory) {
  constexpr int64_t kBytes = 1 << 20;
  const int64_t n = kBytes / 4;
  Tensor before = rand({n}).eval();
  Recording r;
  const int made = __LINE__ + 1;
  Tensor a = rand({n}).eval();
  const int taken_over = __LINE__ + 1;
  a = (a + 1).eval();
  const int kept = __LINE__ + 1;
  const Tensor b = (a * before).eval();
  a = {};
  before = {};
  const int small = __LINE__ + 1;
  (b(slice(0, 4)) + 1).eval();
  std::map<std::string, std::vector<int64_t>> held;  // by line
  for (const json& e : r.of("held")) {
    BOOST_TEST(e.at("ph") == "C");
    held[e.at("name")].push_back(e.at("args").at("bytes"));
  }
  const auto most = [&](int line) {
    const auto& all = held[here(line)];
    return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
  };
  BOOST_TEST(most(made) == kBytes);
  BOOST_TEST(held[here(made)].back() == 0);
  BOOST_TEST(most(taken_over) == kBytes);
  BOOST_TEST(held[here(taken_over)].back() == 0);
  BOOST_TEST(held[here(kept)] == std::vector<int64_t>{kBytes});  // and what was there before is in no line
  BOOST_TEST(most(small) < kBytes);
}

BOOST_AUTO_TEST_CASE(a_recording_begins_with_what_is_held) {
  const int made = __LINE__ + 4;
  Tensor a;
  {
    const Recording before;
    a = rand({1000}).eval();
  }
  Recording r;
  sum(a).item<float>();
  bool found = false;
  for (const json& e : r.of("held")) found |= e.at("name") == here(made) && e.at("args").at("bytes") == 4000;
  BOOST_TEST(found);
}

BOOST_AUTO_TEST_CASE(memory_of_many_threads_is_held) {
  Recording r;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) (rand({1000 + i}) + 1).eval();
    });
  for (std::thread& t : threads) t.join();
  (values({10}) + 1).eval();
  std::map<std::string, int64_t> last;
  std::map<std::string, double> at;
  for (const json& e : r.of("held"))
    if (e.at("ts").get<double>() >= at[e.at("name")])
      at[e.at("name")] = e.at("ts"), last[e.at("name")] = e.at("args").at("bytes");
  int64_t all = 0;
  for (const auto& [line, bytes] : last) all += bytes;
  BOOST_TEST(all < 100'000);
}

BOOST_AUTO_TEST_CASE(a_flush_that_fails_says_why) {
  Recording r;
  {
    fresh::Probe& probe = fresh::Probe::instance();
    const fresh::Probe::Hooks hooks;
    probe.on_allocate = [](size_t) { throw DeviceError("no memory left"); };
    BOOST_CHECK_THROW(exp(ones({77})).eval(), DeviceError);
  }
  const auto failed = r.named("flush failed");
  BOOST_REQUIRE_EQUAL(failed.size(), 1u);
  BOOST_TEST(failed[0].at("args").at("error").get<std::string>().find("no memory left") == 0u);
}

BOOST_AUTO_TEST_CASE(recording_changes_no_bit_and_no_count) {
  const auto work = [] {
    const Tensor x = reshape(arange(0, 3000, 1, float32), {50, 60}) * 0.001f;
    return (tanh(matmul(x, transpose(x))) + sum(x, {1}, keepdims)).to_vector<float>();
  };
  const auto plain = work();
  const auto launches = metrics().launches;
  Recording r;
  const auto recorded = work();
  BOOST_TEST(plain == recorded);
  BOOST_TEST(metrics().launches == 2 * launches);
}

BOOST_AUTO_TEST_SUITE_END()
