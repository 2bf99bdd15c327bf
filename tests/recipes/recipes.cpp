// Tests the recipes of docs/tuning.md, and the exercises: they do what the text says.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <list>
#include <sstream>

#include "tests/common/count.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/processes.hpp"

using namespace lazy::test;

namespace {

std::string output(const std::string& program, const std::vector<std::string>& arguments,
                   const Environment& e) {
  std::vector<std::string> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return said_by(command, e);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
/// Returns "file.cpp:7", the line of a source that has this text.
std::string line_of(const std::string& file, const std::string& text) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/" + file);
  std::string line;
  for (int n = 1; std::getline(in, line); ++n)
    if (has(line, text)) return file.substr(file.rfind('/') + 1) + ":" + std::to_string(n);
  return "no such line";
}

const Environment alone{{"LAZY_CACHE", "off"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(recipes)

BOOST_AUTO_TEST_CASE(the_first_call_is_slow) {
  const Folder f;
  const Environment on{{"LAZY_CACHE", "on"}, {"LAZY_CACHE_DIR", f / "c"}, {"LAZY_LOG", "flush"}};
  const std::string cold = output(RECIPE_VICTIM, {}, on), warm = output(RECIPE_VICTIM, {}, on);
  BOOST_TEST(has(cold, "compiled (generic) in "));
  BOOST_TEST(!has(cold, "loaded from disk in "));
  BOOST_TEST(has(warm, "loaded from disk in "));
  BOOST_TEST(!has(warm, "compiled (generic) in "));
  BOOST_TEST(has(warm, "compiled 0 loaded "));
  // Exports a file that ships with an application.
  output(LAZY_CACHE_TOOL, {"export", f / "app.pack"}, on);
  const Environment there{{"LAZY_CACHE", "on"}, {"LAZY_CACHE_DIR", f / "d"}};
  output(LAZY_CACHE_TOOL, {"import", f / "app.pack"}, there);
  BOOST_TEST(has(output(RECIPE_VICTIM, {}, there), "compiled 0 loaded "));
}

BOOST_AUTO_TEST_CASE(memory_grows) {
  const auto peak = [](const std::string& how, Environment e) {
    e["LAZY_CACHE"] = "off";
    const std::string said = output(RECIPE_MEMORY, {how}, e);
    BOOST_TEST(has(said, ", 499500\n"), said);
    return std::stoul(said.substr(said.find("peak ") + 5));
  };
  BOOST_TEST(peak("carry", {}) > 3000u);  // a thousand inputs wait
  BOOST_TEST(peak("evaluate", {}) < 50u);
  BOOST_TEST(peak("carry", {{"LAZY_MAX_BYTES", "100000"}}) < 300u);
  BOOST_TEST(peak("carry", {{"LAZY_MAX_GRAPH", "20"}}) < 300u);
}

BOOST_AUTO_TEST_CASE(many_processes_share_a_cache) {
  const Folder f;
  const Environment on{{"LAZY_CACHE", "on"}, {"LAZY_CACHE_DIR", f / "c"}, {"LAZY_NUM_THREADS", "1"}};
  output(RECIPE_VICTIM, {}, on);
  std::list<Process> all;
  for (int i = 0; i < 8; ++i) {
    Environment e = on;
    e["LAZY_CACHE"] = i % 2 ? "readonly" : "on";
    const std::vector<std::string> command = {RECIPE_VICTIM};
    all.emplace_back(command, e);
  }
  for (Process& p : all) {
    const Ended e = p.wait();
    BOOST_TEST(e.good(), e.said);
    BOOST_TEST(has(e.said, "compiled 0 loaded "), e.said);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// Each exercise compiles in each iteration. The log names the cause and its line.
BOOST_AUTO_TEST_SUITE(exercises)

BOOST_AUTO_TEST_CASE(a_list_that_grows) {
  const std::string said = output(EXERCISE_GROWING, {}, {{"LAZY_CACHE", "off"}, {"LAZY_LOG", "miss+"}});
  BOOST_TEST(has(said, "12 programs for 12 steps"), said);
  BOOST_TEST(count(said, "lazy[miss] ") == 12u);
  const std::string at = line_of("exercises/growing.cpp", "so_far.eval()"),
                    made = line_of("exercises/growing.cpp", "stack(losses)");
  BOOST_TEST(has(said, "eval at " + at + ": "), said);
  BOOST_TEST(has(said, "made at " + made + " (35 values, there 33)"), said);
}

BOOST_AUTO_TEST_CASE(an_axis_that_changes) {
  const std::string said = output(EXERCISE_AXES, {}, {{"LAZY_CACHE", "off"}, {"LAZY_LOG", "miss+"}});
  BOOST_TEST(has(said, "12 programs for 12 steps"), said);
  BOOST_TEST(has(said, " at " + line_of("exercises/axes.cpp", "step % 4}, keepdims")), said);
  BOOST_TEST(
      has(said,
          "max float32 [1, n, n, n] axes=0 v6; here it is v7 = max float32 [n=4, 1, n=6, n=3] axes=1 v6 at " +
              line_of("exercises/axes.cpp", "step / 4")),
      said);
}

BOOST_AUTO_TEST_CASE(sizes_that_are_compiled_in) {
  const std::string said = output(EXERCISE_SIZES, {}, {{"LAZY_CACHE", "off"}, {"LAZY_LOG", "miss+"}});
  BOOST_TEST(has(said, "7 programs for 7 sizes"), said);
  BOOST_TEST(has(said, "item at " + line_of("exercises/sizes.cpp", "item<float>") +
                           ": guard extent: dimension 0 of v0: was 100, now 101 (v0 was made at " +
                           line_of("exercises/sizes.cpp", "linspace") +
                           "); LAZY_DYNAMIC=never compiles for each size"),
             said);
}

BOOST_AUTO_TEST_SUITE_END()
