// Tests where ranks of elastic launches may run: what files and scripts say, hosts that have failed.
#include "tools/launch/slots.hpp"

#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace lazy::tool;

namespace {

std::string text_of(const std::vector<Host>& all) {
  std::string text;
  for (const Host& h : all) text += h.name + ":" + std::to_string(h.slots) + " ";
  return text;
}
/// Looks until the plan is this one, for ten seconds at most.
bool comes_to(Slots& slots, const std::string& plan, int most = 100) {
  for (int i = 0; i < 1000; ++i) {
    slots.look();
    if (text_of(slots.plan(most)) == plan) return true;
    ::poll(nullptr, 0, 10);
  }
  BOOST_TEST_MESSAGE("the plan is " << text_of(slots.plan(most)));
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(slots)

BOOST_AUTO_TEST_CASE(texts_of_scripts) {
  BOOST_TEST(text_of(hosts_of("a:2\n\n  b\nc:0\n10.0.0.1:7\n")) == "a:2 b:0 10.0.0.1:7 ");
  for (const char* const wrong : {"a:", "a:x", "a:-1", "a:2000", ":2", "-oProxyCommand=x:1", "a:1 b:1"})
    BOOST_CHECK_THROW(hosts_of(wrong), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(this_machine) {
  Slots all({.slots = 4});
  all.look();
  BOOST_TEST(text_of(all.plan(8)) == ":4 ");
  BOOST_TEST(text_of(all.plan(3)) == ":3 ");
}

BOOST_AUTO_TEST_CASE(files_that_change) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("slots-" + std::to_string(getpid()))).string();
  std::ofstream(path) << "a slots=2\nb slots=3\n";
  Slots all({.hostfile = path, .slots = 1, .every = 0.01});
  BOOST_TEST(comes_to(all, "a:2 b:3 "));
  BOOST_TEST(text_of(all.plan(4)) == "a:2 b:2 ");
  BOOST_TEST(text_of(all.plan(2)) == "a:2 ");
  std::ofstream(path) << "c\n";
  BOOST_TEST(comes_to(all, "c:1 "));
  std::ofstream(path) << "c slots=many\n";  // what can't be read changes nothing
  ::poll(nullptr, 0, 50);
  BOOST_TEST(comes_to(all, "c:1 "));
  std::remove(path.c_str());
}

BOOST_AUTO_TEST_CASE(scripts) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hosts-" + std::to_string(getpid()))).string();
  std::ofstream(path) << "a:2\n";
  Slots all({.script = "cat " + path, .slots = 5, .every = 0.01});
  BOOST_TEST(comes_to(all, "a:2 "));
  std::ofstream(path) << "a:2\nb\n";
  BOOST_TEST(comes_to(all, "a:2 b:5 "));
  std::remove(path.c_str());  // it fails
  ::poll(nullptr, 0, 50);
  BOOST_TEST(comes_to(all, "a:2 b:5 "));
}

BOOST_AUTO_TEST_CASE(hosts_that_failed_are_left_alone_for_longer_each_time) {
  Slots all({.script = "echo a:1; echo b:1", .every = 0.01, .cooldown = 0.2});
  BOOST_TEST(comes_to(all, "a:1 b:1 "));
  for (const double least : {0.2, 0.4, 0.8}) {
    all.failed("a");
    const auto begun = Clock::now();
    BOOST_TEST(text_of(all.plan(9)) == "b:1 ");
    BOOST_TEST(all.left_alone() == 1);
    BOOST_TEST(comes_to(all, "a:1 b:1 "));
    BOOST_TEST(std::chrono::duration<double>(Clock::now() - begun).count() >= least);
    BOOST_TEST(all.left_alone() == 0);
  }
  Slots never({.script = "echo a:1", .every = 0.01, .cooldown = 0});
  BOOST_TEST(comes_to(never, "a:1 "));
  never.failed("a");
  BOOST_TEST(text_of(never.plan(9)) == "a:1 ");
}

BOOST_AUTO_TEST_SUITE_END()
