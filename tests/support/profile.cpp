// Tests the recorder of LAZY_PROFILE: its events appear as valid JSON, however the program ends.
#include "support/profile.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "child.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace {

using lazy::profile::Form;
using lazy::profile::Kind;
using lazy::profile::Type;
using namespace lazy_test;
namespace profile = lazy::profile;

constexpr Kind kSpan{"work", "test", {{{"n", Type::integer}, {"x", Type::real}, {"flag", Type::boolean}}}};
constexpr Kind kNamed{nullptr, "test", {{{"name", Type::text}, {"why", Type::text}, {"tree", Type::json}}}};
constexpr Kind kPlace{"place", "test", {{{"at", Type::site}}}, Form::instant};
constexpr Kind kLevel{"level", "test", {{{"bytes", Type::integer}}}, Form::counter};
constexpr Kind kWait{"wait", "test", {}, Form::range};

/// Returns the events that were written, without the metadata.
std::vector<nlohmann::json> events_in(const std::string& text) {
  const auto trace = nlohmann::json::parse(text);
  BOOST_TEST(trace.at("otherData").at("producer") == "lazy");
  std::vector<nlohmann::json> events;
  for (const auto& e : trace.at("traceEvents"))
    if (e.at("ph") != "M") events.push_back(e);
  return events;
}

struct Off {
  ~Off() { profile::stop(); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(profiles, *boost::unit_test::fixture<Off>())

BOOST_AUTO_TEST_CASE(every_form_and_type_is_written) {
  const TemporaryFile file;
  profile::start(file.path);
  BOOST_TEST(profile::on());
  const profile::Ticks now = profile::now();
  profile::put(kSpan, now, now + 1000, int64_t{-7}, 0.25, true);
  profile::put(kNamed, now, now, profile::intern("say \"hi\"\n\t\\"), static_cast<const char*>(nullptr),
               profile::intern("{\"a\":[1,2]}"));
  profile::put(kPlace, now, now, lazy::Site::current());
  profile::put(kPlace, now, now, lazy::Site{});
  profile::put(kLevel, now, now, uint64_t{1} << 40);
  profile::put(kWait, now, now + 10);
  profile::stop();
  BOOST_TEST(!profile::on());
  const auto events = events_in(file.text());
  BOOST_REQUIRE_EQUAL(events.size(), 7u);
  BOOST_TEST(events[0].at("ph") == "X");
  BOOST_TEST(events[0].at("name") == "work");
  BOOST_TEST(events[0].at("dur").get<double>() > 0);
  BOOST_TEST(events[0].at("args").at("n") == -7);
  BOOST_TEST(events[0].at("args").at("x") == 0.25);
  BOOST_TEST(events[0].at("args").at("flag") == true);
  BOOST_TEST(events[1].at("name") == "say \"hi\"\n\t\\");
  BOOST_TEST(!events[1].at("args").contains("why"));
  BOOST_TEST(events[1].at("args").at("tree").at("a").size() == 2u);
  BOOST_TEST(events[2].at("ph") == "i");
  BOOST_TEST(events[2].at("args").at("at").get<std::string>().starts_with("profile.cpp:"));
  BOOST_TEST(!events[3].contains("args"));
  BOOST_TEST(events[4].at("ph") == "C");
  BOOST_TEST(events[4].at("args").at("bytes") == uint64_t{1} << 40);
  BOOST_TEST(events[5].at("ph") == "b");
  BOOST_TEST(events[6].at("ph") == "e");
  BOOST_TEST(events[5].at("id") == events[6].at("id"));
}

BOOST_AUTO_TEST_CASE(times_are_microseconds) {
  const TemporaryFile file;
  profile::start(file.path);
  {
    const profile::Span span(kSpan, int64_t{0}, 0., false);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  profile::stop();
  const auto events = events_in(file.text());
  BOOST_REQUIRE_EQUAL(events.size(), 1u);
  const double us = events[0].at("dur");
  BOOST_TEST(us > 19900);
  BOOST_TEST(us < 5e6);  // however busy the machine
}

BOOST_AUTO_TEST_CASE(threads_have_tracks_of_their_own) {
  const TemporaryFile file;
  profile::start(file.path);
  constexpr int kThreads = 4, kEach = 5000;  // several chunks each
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < kEach; ++i) {
        const profile::Ticks now = profile::now();
        profile::put(kSpan, now, now, int64_t{t}, double(i), false);
      }
    });
  for (auto& t : threads) t.join();
  profile::stop();
  std::map<int64_t, std::vector<double>> seen;
  std::map<int64_t, std::set<int64_t>> thread_ids;
  for (const auto& e : events_in(file.text())) {
    seen[e.at("args").at("n")].push_back(e.at("args").at("x"));
    thread_ids[e.at("args").at("n")].insert(e.at("tid").get<int64_t>());
  }
  BOOST_REQUIRE_EQUAL(seen.size(), size_t{kThreads});
  for (const auto& [t, values] : seen) {
    BOOST_REQUIRE_EQUAL(values.size(), size_t{kEach});
    BOOST_TEST(thread_ids[t].size() == 1u);
    for (int i = 0; i < kEach; ++i) BOOST_REQUIRE_EQUAL(values[static_cast<size_t>(i)], i);
  }
}

BOOST_AUTO_TEST_CASE(a_new_recording_begins_empty) {
  const TemporaryFile first, second;
  profile::start(first.path);
  profile::put(kLevel, profile::now(), 0, 1);
  profile::start(second.path);  // writes the first
  profile::put(kLevel, profile::now(), 0, 2);
  profile::put(kLevel, profile::now(), 0, 3);
  profile::stop();
  profile::put(kLevel, profile::now(), 0, 4);  // between recordings: dropped
  BOOST_TEST(events_in(first.text()).size() == 1u);
  BOOST_TEST(events_in(second.text()).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_full_recording_says_so_once_and_keeps_the_beginning) {
  const TemporaryFile file;
  const lazy::config::Override limit("LAZY_PROFILE_SIZE", "65536");
  const std::string said = stderr_of([&] {
    profile::start(file.path);
    for (int64_t i = 0; i < 20000; ++i) profile::put(kLevel, profile::now(), 0, i);
    profile::stop();
  });
  BOOST_TEST(count(said, "\n") == 1u);
  BOOST_TEST(said.find("LAZY_PROFILE_SIZE") != said.npos);
  const auto events = events_in(file.text());
  BOOST_TEST(events.size() > 500u);
  BOOST_TEST(events.size() < 65536u / (4 * sizeof(uint64_t)));
  for (size_t i = 0; i < events.size(); ++i) BOOST_REQUIRE(events[i].at("args").at("bytes") == i);
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_written_throws) {
  BOOST_CHECK_THROW(profile::start("/nonexistent/trace.json"), lazy::IoError);
  BOOST_TEST(!profile::on());
  profile::start("/dev/full");
  profile::put(kLevel, profile::now(), 0, 1);
  BOOST_CHECK_THROW(profile::stop(), lazy::IoError);
  profile::stop();  // nothing under way: nothing to do
}

// Ends, in different ways, a child that records one event.
BOOST_AUTO_TEST_CASE(child_exits) {
  if (!is_child()) return;
  if (profile::on()) profile::put(kLevel, profile::now(), 0, 1);
  std::exit(3);
}
BOOST_AUTO_TEST_CASE(child_forks) {
  if (!is_child()) return;
  if (profile::on()) profile::put(kLevel, profile::now(), 0, 1);
  if (::fork() == 0) std::exit(0);
  ::usleep(100000);
  std::exit(3);
}
BOOST_AUTO_TEST_CASE(child_throws) {
  if (!is_child()) return;
  if (profile::on()) profile::put(kLevel, profile::now(), 0, 1);
  std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
}

BOOST_AUTO_TEST_CASE(the_trace_is_written_however_the_program_ends) {
  for (const char* name : {"child_exits", "child_forks", "child_throws"}) {
    BOOST_TEST_CONTEXT(name) {
      const TemporaryFile file;
      const auto [said, status] = run_again(std::string("profiles/") + name, {{"LAZY_PROFILE", file.path}});
      BOOST_TEST_MESSAGE(said);
      BOOST_TEST(status != 0);
      BOOST_TEST(events_in(file.text()).size() == 1u);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_process_id_is_filled_in) {
  const TemporaryFile base;
  profile::start(base.path + ".%p");
  profile::stop();
  const std::string path = base.path + "." + std::to_string(::getpid());
  struct stat info {};
  BOOST_TEST(::stat(path.c_str(), &info) == 0);
  ::unlink(path.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
