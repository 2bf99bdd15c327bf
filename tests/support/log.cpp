#include "support/log.hpp"

#include <boost/test/unit_test.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "support/log_fields.hpp"
#include "support/log_folding.hpp"
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
  const config::Override o("LAZY_LOG_FILE", file.path), all("LAZY_LOG", "kernels+");
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

BOOST_AUTO_TEST_SUITE(log_json)

namespace {

/// Parses each line; fails for one that is no object with a kind, a time and a message.
std::vector<nlohmann::json> objects(const std::string& text) {
  std::vector<nlohmann::json> all;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    BOOST_REQUIRE(end != text.npos);
    const auto one = nlohmann::json::parse(text.substr(from, end - from));
    BOOST_TEST(one.at("kind").is_string());
    BOOST_TEST(one.at("time_s").get<double>() > 1e9);
    BOOST_TEST(one.at("message").is_string());
    all.push_back(one);
    from = end + 1;
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_line_is_an_object) {
  const config::Override o("LAZY_LOG_FORMAT", "json");
  const Site here = Site::current();
  const std::string err = stderr_of([&] {
    logging::write(Channel::flush, "one\ntwo\n",
                   logging::Fields()
                       .at(here)
                       .add("cause", "item")
                       .add("ops", 12u)
                       .add("us", 0.25)
                       .add("hit", true)
                       .add("kernels", std::vector<std::string>{"a", "b\"c"})
                       .add_json("more", "{\"x\": [1]}"));
    logging::print(Channel::cache, "%s", "kept");
    logging::warning("look");
    logging::hint("slow", logging::Fields().at(Site()).add("hint", "asking"));
  });
  const auto all = objects(err);
  BOOST_REQUIRE(all.size() == 4u);
  const auto& flush = all[0];
  BOOST_TEST(flush.at("kind") == "flush");
  BOOST_TEST(flush.at("file") == here.file_name());
  BOOST_TEST(flush.at("line") == here.line());
  BOOST_TEST(flush.at("cause") == "item");
  BOOST_TEST(flush.at("ops") == 12);
  BOOST_TEST(flush.at("us") == 0.25);
  BOOST_TEST(flush.at("hit") == true);
  BOOST_TEST(flush.at("kernels") == nlohmann::json({"a", "b\"c"}));
  BOOST_TEST(flush.at("more").at("x") == nlohmann::json({1}));
  BOOST_TEST(flush.at("message") == "one\ntwo");
  BOOST_TEST(all[1].at("kind") == "cache");
  BOOST_TEST(all[2].at("kind") == "warning");
  BOOST_TEST(all[3].at("kind") == "hint");
  BOOST_TEST(all[3].at("hint") == "asking");
  BOOST_TEST(!all[3].contains("file"));
}

// Quotes, backslashes, control characters, and bytes that are no UTF-8.
BOOST_AUTO_TEST_CASE(strings_are_escaped) {
  const config::Override o("LAZY_LOG_FORMAT", "json");
  const std::string hostile = std::string("\"\\\n\t\x1b[31m\x7f") + '\0' + "\xc3\xa9\xf0\x9f\x99\x82";
  const std::string broken = "a\xff\xc3(\xed\xa0\x80\xf5\xc0\xaf";
  const std::string err = stderr_of([&] {
    logging::write(Channel::miss, hostile, logging::Fields().add("reason", hostile).add("broken", broken));
  });
  const auto all = objects(err);
  BOOST_REQUIRE(all.size() == 1u);
  BOOST_TEST(all[0].at("reason").get<std::string>() == hostile);
  BOOST_TEST(all[0].at("message").get<std::string>() == hostile);
  const std::string safe = all[0].at("broken").get<std::string>();
  BOOST_TEST(safe.starts_with("a\xef\xbf\xbd"));
  BOOST_TEST(count(safe, "(") == 1u);
}

BOOST_AUTO_TEST_CASE(lines_that_repeat_are_all_there) {
  const config::Override o("LAZY_LOG_FORMAT", "json");
  const std::string err = stderr_of([] {
    for (int i = 0; i < 50; ++i) logging::print(Channel::flush, "%d ops", i);
  });
  BOOST_TEST(objects(err).size() == 50u);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
  const config::Override o("LAZY_LOG_FORMAT", "json");
  const auto all = objects(stderr_of([] {
    logging::write(Channel::flush, "x", logging::Fields().add("a", 0.0 / 0.0 * 1).add("b", int64_t{-3}));
  }));
  BOOST_TEST(all.at(0).at("a").is_null());
  BOOST_TEST(all.at(0).at("b") == -3);
}

BOOST_AUTO_TEST_CASE(fields_of_text_take_nothing) {
  const logging::Fields f = logging::Fields().add("a", "b");
  BOOST_TEST(count(f.line("x", "y"), "\"a\"") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(log_folding)

BOOST_AUTO_TEST_CASE(the_first_few_and_the_range_of_the_others) {
  logging::Folding f;
  std::string out;
  const double us[] = {9.5, 3, 4, 0.8, 7.2, 2};
  for (const double t : us) {
    char line[80];
    std::snprintf(line, sizeof line, "flush by item at a.cpp:33: 10 ops, hit, %.1f us in all", t);
    out += f.add("lazy[flush] ", line);
  }
  BOOST_TEST(count(out, "\n") == 3u);
  BOOST_TEST(f.counts());
  BOOST_TEST(f.rest() ==
             "lazy[flush] ... and 3 more like it: flush by item at a.cpp:33: 10 ops, hit, "
             "0.8 to 7.2 us in all\n");
  BOOST_TEST(!f.counts());
  BOOST_TEST(f.rest() == "");
}

// A line, a name and a device say what a line is about; they are no number that varies.
BOOST_AUTO_TEST_CASE(what_tells_kinds_apart) {
  logging::Folding f;
  std::string out;
  for (const char* const s : {"at a.cpp:1: x", "at a.cpp:2: x", "at a.cpp:3: x", "at a.cpp:4: x", "map_add_1",
                              "map_add_2", "map_add_3", "map_add_4", "cuda:0", "cuda:1", "cuda:2", "cuda:3"})
    out += f.add("", s);
  BOOST_TEST(count(out, "\n") == 12u);
  out.clear();
  for (const char* const s : {"v1 = add v0", "v2 = add v1", "v30 = add v29", "v4 = add v3", "v5 = add v9"})
    out += f.add("", s);
  BOOST_TEST(out == "v1 = add v0\nv2 = add v1\nv30 = add v29\n");
  BOOST_TEST(f.rest() == "... and 2 more like it: v4 to 5 = add v3 to 9\n");
}

// Two lines of one loop take turns: both are counted, until another one comes.
BOOST_AUTO_TEST_CASE(kinds_that_take_turns) {
  logging::Folding f;
  std::string out;
  for (int i = 0; i < 100; ++i) {
    out += f.add("", "a " + std::to_string(i));
    out += f.add("", "b");
  }
  BOOST_TEST(out == "a 0\nb\na 1\nb\na 2\nb\n");
  BOOST_TEST(f.add("", "c") == "... and 97 more like it: a 3 to 99\n... and 97 more like it: b\nc\n");
  for (int i = 0; i < 5; ++i) out += f.add("", "b");
  BOOST_TEST(f.add("", "d") == "... and 5 more like it: b\nd\n");
}

BOOST_AUTO_TEST_CASE(texts_of_several_lines_are_one) {
  logging::Folding f;
  std::string out;
  for (int i = 0; i < 10; ++i) out += f.add("p ", "head " + std::to_string(i) + "\n  kernel");
  BOOST_TEST(out == "p head 0\np   kernel\np head 1\np   kernel\np head 2\np   kernel\n");
  BOOST_TEST(f.rest() == "p ... and 7 more like it: head 3 to 9\n");
}

BOOST_AUTO_TEST_CASE(many_kinds_take_little_memory) {
  logging::Folding f;
  size_t lines = 0;
  for (int i = 0; i < 5000; ++i) lines += count(f.add("", "at a.cpp:" + std::to_string(i)), "\n");
  BOOST_TEST(lines == 5000u);
}

namespace {
void loop() {
  for (int i = 0; i < 1000; ++i) logging::print(Channel::flush, "%d us", i);
}
}  // namespace

BOOST_AUTO_TEST_CASE(the_program_ends) {
  if (!lazy_test::is_child()) {
    const auto [text, status] = lazy_test::run_again("log_folding/the_program_ends", {{"LAZY_LOG", "flush"}});
    BOOST_TEST(status == 0);
    BOOST_TEST(text ==
               "lazy[flush] 0 us\nlazy[flush] 1 us\nlazy[flush] 2 us\n"
               "lazy[flush] ... and 997 more like it: 3 to 999 us\n");
    const auto [all, again] = lazy_test::run_again("log_folding/the_program_ends", {{"LAZY_LOG", "flush+"}});
    BOOST_TEST(count(all, "\n") == 1000u);
    return;
  }
  loop();
}

BOOST_AUTO_TEST_CASE(a_child_tells_of_its_own) {
  if (!lazy_test::is_child()) {
    const auto [text, status] =
        lazy_test::run_again("log_folding/a_child_tells_of_its_own", {{"LAZY_LOG", "flush"}});
    BOOST_TEST(count(text, "... and 997 more") == 1u, text);
    return;
  }
  loop();
  if (const pid_t pid = lazy::test::fork_child(); pid == 0) std::exit(0);
  else ::waitpid(pid, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(a_sink_gets_all) {
  int lines = 0;
  const SinkScope s([&](Channel, std::string_view) { ++lines; });
  loop();
  BOOST_TEST(lines == 1000);
}

BOOST_AUTO_TEST_SUITE_END()
