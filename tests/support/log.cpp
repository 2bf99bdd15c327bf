#include "support/log.hpp"

#include <boost/test/unit_test.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "support/log_sink.hpp"

using namespace lazy;
using lazy_test::count;
using lazy_test::stderr_of;
using logging::Channel;

namespace {

struct SinkScope {
  explicit SinkScope(logging::Sink s) { logging::set_sink(std::move(s)); }
  ~SinkScope() { logging::set_sink({}); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(log_lines)

BOOST_AUTO_TEST_CASE(levels) {
  BOOST_TEST(!logging::enabled(Channel::flush));
  {
    const config::Override o("LAZY_LOG", "flush+,memory");
    BOOST_TEST(logging::enabled(Channel::flush));
    BOOST_TEST(logging::enabled(Channel::flush, logging::kDetail));
    BOOST_TEST(logging::enabled(Channel::memory));
    BOOST_TEST(!logging::enabled(Channel::memory, logging::kDetail));
    BOOST_TEST(!logging::enabled(Channel::miss));
    BOOST_TEST(!logging::enabled(Channel::cache));
  }
  BOOST_TEST(!logging::enabled(Channel::flush));
}

BOOST_AUTO_TEST_CASE(lines) {
  BOOST_TEST(stderr_of([] { logging::write(Channel::flush, "item at a.cpp:3"); }) ==
             "lazy[flush] item at a.cpp:3\n");
  BOOST_TEST(stderr_of([] { logging::write(Channel::miss, "one\ntwo\n"); }) ==
             "lazy[miss] one\nlazy[miss] two\n");
  BOOST_TEST(stderr_of([] { logging::write(Channel::miss, ""); }) == "lazy[miss] \n");
  BOOST_TEST(stderr_of([] { logging::print(Channel::guards, "%s %d%%", "k", 7); }) == "lazy[guards] k 7%\n");
  const std::string large(3000, 'x');
  BOOST_TEST(stderr_of([&] { logging::print(Channel::cache, "%s!", large.c_str()); }) ==
             "lazy[cache] " + large + "!\n");
  BOOST_TEST(stderr_of([] { logging::warning("look"); }) == "lazy: look\n");
}

BOOST_AUTO_TEST_CASE(files) {
  const lazy_test::TemporaryFile a, b;
  const std::string err = stderr_of([&] {
    for (int round = 0; round < 2; ++round) {
      {
        const config::Override o("LAZY_LOG_FILE", a.path);
        logging::write(Channel::flush, "to a");
      }
      const config::Override o("LAZY_LOG_FILE", b.path);
      logging::write(Channel::flush, "to b");
    }
    logging::write(Channel::flush, "to stderr");
  });
  BOOST_TEST(a.text() == "lazy[flush] to a\nlazy[flush] to a\n");
  BOOST_TEST(b.text() == "lazy[flush] to b\nlazy[flush] to b\n");
  BOOST_TEST(err == "lazy[flush] to stderr\n");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_opened) {
  const config::Override o("LAZY_LOG_FILE", "/nonexistent-folder/x.log");
  const std::string err = stderr_of([] {
    logging::write(Channel::flush, "one");
    logging::write(Channel::flush, "two");
  });
  BOOST_TEST(err.starts_with("lazy: cannot open LAZY_LOG_FILE='/nonexistent-folder/x.log'"));
  BOOST_TEST(err.ends_with("lazy[flush] one\nlazy[flush] two\n"));
  BOOST_TEST(count(err, "\n") == 3u);
}

BOOST_AUTO_TEST_CASE(lines_of_many_threads_stay_whole) {
  const lazy_test::TemporaryFile file;
  const config::Override o("LAZY_LOG_FILE", file.path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i)
        logging::write(Channel::kernels, std::string(60, static_cast<char>('a' + t)));
    });
  for (auto& t : threads) t.join();
  const std::string text = file.text();
  for (int t = 0; t < 8; ++t)
    BOOST_TEST(count(text, "lazy[kernels] " + std::string(60, static_cast<char>('a' + t)) + "\n") == 200u);
  BOOST_TEST(text.size() == 8 * 200 * (14 + 60 + 1u));
}

BOOST_AUTO_TEST_CASE(sink_takes_the_lines) {
  std::vector<std::pair<Channel, std::string>> got;
  const SinkScope s([&](Channel c, std::string_view text) { got.emplace_back(c, text); });
  const std::string err = stderr_of([] {
    logging::write(Channel::flush, "a\n");
    logging::print(Channel::miss, "%d", 5);
  });
  BOOST_TEST(err == "");
  BOOST_REQUIRE(got.size() == 2u);
  BOOST_TEST((got[0].first == Channel::flush));
  BOOST_TEST(got[0].second == "a");
  BOOST_TEST(got[1].second == "5");
}

BOOST_AUTO_TEST_CASE(sink_may_log_and_replace_itself) {
  const SinkScope s([](Channel c, std::string_view) {
    logging::write(c, "from the sink");  // must neither recurse nor deadlock
    logging::set_sink({});
  });
  const std::string err = stderr_of([] {
    logging::write(Channel::flush, "first");
    logging::write(Channel::flush, "second");
  });
  BOOST_TEST(err == "lazy[flush] from the sink\nlazy[flush] second\n");
}

BOOST_AUTO_TEST_CASE(sink_that_throws_is_survived) {
  int calls = 0;
  const SinkScope s([&](Channel, std::string_view) {
    ++calls;
    throw std::runtime_error("sink");
  });
  const std::string err = stderr_of([] {
    logging::write(Channel::flush, "a");
    logging::write(Channel::flush, "b");
  });
  BOOST_TEST(calls == 2);
  BOOST_TEST(count(err, "sink threw") == 1u);
}

BOOST_AUTO_TEST_CASE(sink_swapped_while_in_use) {
  std::atomic<int> lines{0};
  std::vector<std::thread> threads;
  const SinkScope s([&](Channel, std::string_view) { ++lines; });
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) logging::write(Channel::flush, "x");
    });
  for (int i = 0; i < 200; ++i) logging::set_sink([&](Channel, std::string_view) { ++lines; });
  for (auto& t : threads) t.join();
  BOOST_TEST(lines == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
