// Runs the programs of this folder and compares what they answer with tests/golden/programs_*.txt, which
// make_programs.py writes by running the originals in NumPy and torch. Each has cases of different sizes.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/golden_lines.hpp"
#include "tests/common/processes.hpp"
#include "tests/programs/program.hpp"

using namespace lazy;
using programs::Given;
using programs::Program;
using programs::Results;

std::vector<Program>& programs::all() {
  static std::vector<Program> list;
  return list;
}

namespace {

const std::string kFolder = LAZY_SOURCE_DIR "/tests/";
constexpr const char* kAnswersFile = "LAZY_TEST_ANSWERS";  // where a child writes what its programs answer

struct Case {
  Given in, out;
};

/// Returns the programs by name, whatever order they were linked in.
std::vector<Program> sorted() {
  std::vector<Program> list = programs::all();
  std::sort(list.begin(), list.end(), [](const Program& a, const Program& b) { return a.name < b.name; });
  return list;
}

Tensor read(const std::vector<std::string>& words) {
  const DType dtype = golden::dtype_named(words[2]);
  std::vector<int64_t> shape;
  if (words[3] != "-")
    for (const std::string& n : golden::words(words[3], ',')) shape.push_back(std::stoll(n));
  std::vector<char> bytes;
  for (size_t i = 4; i < words.size(); ++i) {
    const uint64_t bits = std::stoull(words[i], nullptr, 16);
    const char* const first = reinterpret_cast<const char*>(&bits);
    bytes.insert(bytes.end(), first, first + size_of(dtype));
  }
  return from_blob(static_cast<void*>(bytes.data()), shape, dtype).copy().eval();
}

std::vector<Case> cases_of(const std::string& name) {
  std::ifstream file(kFolder + "golden/programs_" + name + ".txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = golden::words(line);
    if (words[0] == "case") cases.emplace_back();
    else (words[0] == "in" ? cases.back().in : cases.back().out).tensors[words[1]] = read(words);
  }
  BOOST_REQUIRE_MESSAGE(cases.size() > 1, "no cases of " << name);
  return cases;
}

/// Runs a program and computes all that it answers.
Results answers(const Program& p, const Given& in) {
  const Results results = p.run(in);
  std::vector<Tensor> values;
  for (const programs::Result& r : results) values.push_back(r.value);
  eval(values);
  return results;
}

/// Returns how far an estimate may be from the original's, which drew other numbers: six standard errors of
/// the difference. Other values may be off by the promised tolerance.
double tolerance_of(const Program& p, const Case& c, const std::string& name) {
  if (name.ends_with("_error")) return 0.1 * c.out.real(name);
  const auto error = c.out.tensors.find(name + "_error");
  return error == c.out.tensors.end() ? p.promise.tolerance : 6 * std::sqrt(2) * error->second.item<double>();
}

void close(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double f = found[i], e = expected[i];
    const bool near = f == e || (std::isnan(f) && std::isnan(e)) ||
                      std::abs(f - e) <= tolerance * std::max(1.0, std::abs(e));
    BOOST_TEST(near, "element " << i << " is " << f << ", not " << e << " within " << tolerance);
  }
}

void compare(const Program& p, const Case& c, const Results& results) {
  BOOST_TEST(results.size() == c.out.tensors.size());
  for (const auto& [name, value] : results) BOOST_TEST_CONTEXT(name) {
      const Tensor& expected = c.out(name);
      if (is_float(expected.dtype())) {
        BOOST_TEST(to_string(value.shape()) == to_string(expected.shape()));
        BOOST_TEST(name_of(value.dtype()) == std::string(name_of(expected.dtype())));
        close(value.to_vector<double>(), expected.to_vector<double>(), tolerance_of(p, c, name));
      } else {
        check::same(value, expected);
      }
    }
}

Metrics counted(const Program& p, const Given& in) {
  reset_metrics();
  answers(p, in);
  return metrics();
}

/// Returns all results of all cases by program, case and name.
std::map<std::string, std::vector<double>> all_answers() {
  std::map<std::string, std::vector<double>> found;
  for (const Program& p : sorted()) {
    int number = 0;
    for (const Case& c : cases_of(p.name)) {
      ++number;
      for (const auto& [name, value] : answers(p, c.in))
        found[p.name + "/" + std::to_string(number) + "/" + name] = value.to_vector<double>();
    }
  }
  return found;
}

/// Returns what README.md has below its introduction.
std::string table() {
  std::ostringstream out;
  out << "| program | flushes | programs | kernels | launches |\n|---|---|---|---|---|\n";
  for (const Program& p : sorted()) {
    const std::vector<Case> cases = cases_of(p.name);
    cache::clear();
    const Metrics first = counted(p, cases[0].in), second = counted(p, cases[0].in);
    out << "| `" << p.name << "` | " << first.flushes << " | " << first.program_misses << " | "
        << first.kernels_compiled << " | " << second.launches << " |\n";
  }
  return out.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(programs_of_users)

BOOST_AUTO_TEST_CASE(they_answer_what_the_originals_do) {
  BOOST_TEST(programs::all().size() >= 49u);
  for (const Program& p : sorted()) BOOST_TEST_CONTEXT(p.name) {
      for (const Case& c : cases_of(p.name)) try {
          compare(p, c, answers(p, c.in));
        } catch (const Error& e) { BOOST_ERROR(e.what()); }
    }
}

/// The second run of a program finds all it needs; so does one of other sizes.
BOOST_AUTO_TEST_CASE(they_are_compiled_once) {
  for (const Program& p : sorted()) BOOST_TEST_CONTEXT(p.name) {
      const std::vector<Case> cases = cases_of(p.name);
      cache::clear();
      BOOST_TEST(counted(p, cases[0].in).program_misses > 0u);
      BOOST_TEST(counted(p, cases[0].in).program_misses == 0u);
      const Metrics other = counted(p, cases[1].in);
      BOOST_TEST((other.program_misses == 0) == p.promise.any_size, "compiled " << other.program_misses);
      BOOST_TEST(counted(p, cases[1].in).program_misses == 0u);
    }
}

/// README.md tells how many flushes, programs and kernels each takes. LAZY_TEST_WRITE=1 writes it anew.
BOOST_AUTO_TEST_CASE(the_page_counts_right) {
  const std::string path = kFolder + "programs/README.md", now = table();
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string before = page.str(), introduction = before.substr(0, before.find("| program |"));
  if (test::number_from("LAZY_TEST_WRITE", 0)) {
    std::ofstream(path) << introduction << now;
    return;
  }
  BOOST_TEST(before == introduction + now, "LAZY_TEST_WRITE=1 writes README.md anew; now it is\n" << now);
}

BOOST_AUTO_TEST_SUITE_END()

// Run by others, in processes of their own.
BOOST_AUTO_TEST_SUITE(children)

BOOST_AUTO_TEST_CASE(writes_answers) {
  const char* const path = std::getenv(kAnswersFile);
  if (!path) return;
  std::ofstream file(path);
  file << std::hexfloat;
  for (const auto& [name, values] : all_answers()) {
    file << name;
    for (const double v : values) file << ' ' << v;
    file << '\n';
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(programs_of_users)

/// Checks that a process with this variable set answers what this one does: to the bit, or where elementary
/// functions take part within the tolerance times `inexact`.
void same_answers_with(const std::string& variable, const std::string& value, double inexact) {
  const test::Folder folder;
  test::said_by({"/proc/self/exe", "-t", "children/writes_answers"},
                {{kAnswersFile, folder / "answers"}, {variable, value}});
  std::ifstream file(folder / "answers");
  auto found = all_answers();
  std::map<std::string, double> tolerance;
  for (const Program& p : programs::all())
    tolerance[p.name] = p.promise.elementary ? p.promise.tolerance * inexact : 0;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = golden::words(line);
    std::vector<double> expected;
    for (size_t i = 1; i < words.size(); ++i) expected.push_back(std::strtod(words[i].c_str(), nullptr));
    BOOST_TEST_CONTEXT(words[0] << " with " << variable << '=' << value) {
      BOOST_REQUIRE(found.contains(words[0]));
      close(found[words[0]], expected, tolerance[golden::words(words[0], '/')[0]]);
    }
    found.erase(words[0]);
  }
  BOOST_TEST(found.empty());
}

BOOST_AUTO_TEST_CASE(the_reference_backend_agrees) { same_answers_with("LAZY_CPU_ISA", "reference", 1); }

/// What is fused, on how many threads, for which sizes: none of it changes a bit.
BOOST_AUTO_TEST_CASE(nothing_else_changes_a_bit) {
  same_answers_with("LAZY_EAGER", "1", 0);
  same_answers_with("LAZY_NUM_THREADS", "1", 0);
  same_answers_with("LAZY_LIVENESS", "keep", 0);
  same_answers_with("LAZY_DYNAMIC", "never", 0);
  same_answers_with("LAZY_CPU_ISA", "avx2", 1);
}

BOOST_AUTO_TEST_SUITE_END()
