// Tests that kernels are named by the lines of their users, whoever compiled them first.
#include <nlohmann/json.hpp>

#include "tests/common/fresh.hpp"
#include "tests/support/child.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;

namespace {

std::string here(int line) { return "names.cpp_" + std::to_string(line); }

Tensor first(const Tensor& x) { return tanh(x * 2 + 1); }
constexpr int kFirst = __LINE__ - 1;
Tensor second(const Tensor& x) { return tanh(x * 2 + 1); }
constexpr int kSecond = __LINE__ - 1;

std::string texts(const Explanation& e) {
  std::string all;
  for (const auto& f : e.flushes)
    for (const std::string& t : f.kernel_texts) all += t + "\n";
  return all;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(names, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_program_in_memory_goes_by_the_line_that_runs_it) {
  const Tensor x = numbers({40}).eval();
  reset_metrics();
  BOOST_TEST(contains(texts(explain([&] { first(x).eval(); })), here(kFirst)));
  const std::string again = texts(explain([&] { second(x).eval(); }));
  BOOST_TEST(metrics().program_misses == 1u);  // it is the same program
  BOOST_TEST(contains(again, "map_tanh_" + here(kSecond) + ": 3 ops, 2 operands"), again);
  BOOST_TEST(!contains(again, here(kFirst)), again);
}

BOOST_AUTO_TEST_CASE(so_do_launches_in_a_trace) {
  const Tensor x = numbers({40}).eval();
  first(x).eval();
  const lazy_test::TemporaryFile file;
  profile::start(file.path);
  for (int i = 0; i < 2; ++i) {
    second(x).eval();
    first(x).eval();
  }
  profile::stop();
  std::vector<std::string> said;
  const auto trace = nlohmann::json::parse(file.text());
  for (const auto& e : trace.at("traceEvents"))
    if (e.value("cat", "") == "kernel" && e.at("ph") == "X")
      said.push_back(e.at("name").get<std::string>() + " " + e.at("args").at("at").get<std::string>() +
                     " program " + std::to_string(e.at("args").at("program").get<int>()));
  BOOST_REQUIRE_EQUAL(said.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const int line = i % 2 == 0 ? kSecond : kFirst;
    BOOST_TEST(
        said[i].starts_with("map_tanh_" + here(line) + " names.cpp:" + std::to_string(line) + " program "),
        said[i]);
    BOOST_TEST(said[i].substr(said[i].rfind(' ')) == said[0].substr(said[0].rfind(' ')));
  }
}

BOOST_AUTO_TEST_CASE(the_library_says_what_its_own_copies_are_for) {
  const Tensor image = numbers({1, 4, 12, 12}).eval(), weights = numbers({8, 4, 3, 3}).eval();
  const std::string said = texts(explain([&] { conv2d(image, weights).eval(); }));
  BOOST_TEST(contains(said, "(conv2d: windows as rows)"), said);
  BOOST_TEST(!contains(texts(explain([&] { (image + 1).eval(); })), "conv2d"));
}

BOOST_AUTO_TEST_SUITE_END()
