// Runs the programs of this folder and compares what they answer with tests/golden/programs_*.txt, which
// make_programs.py writes by running the originals in NumPy and torch. Each has cases of different sizes.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "backends/cpu/machine/features.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"
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

struct Case {
  Given in, out;
};

Tensor read(const std::vector<std::string>& words) {
  const DType dtype = golden::dtype_named(words[2]);
  std::vector<int64_t> shape;
  if (words[3] != "-")
    for (const std::string& n : golden::words(words[3], ',')) shape.push_back(std::stoll(n));
  const size_t width = size_of(dtype);
  std::vector<char> bytes;
  for (size_t i = 4; i < words.size(); ++i) {
    const uint64_t bits = std::stoull(words[i], nullptr, 16);
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(&bits), reinterpret_cast<const char*>(&bits) + width);
  }
  return from_blob(static_cast<void*>(bytes.data()), shape, dtype).copy().eval();
}

std::vector<Case> cases_of(const std::string& name) {
  std::ifstream file(std::string(LAZY_SOURCE_DIR) + "/tests/golden/programs_" + name + ".txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = golden::words(line);
    if (words[0] == "case")
      cases.emplace_back();
    else
      (words[0] == "in" ? cases.back().in : cases.back().out).tensors[words[1]] = read(words);
  }
  BOOST_REQUIRE_MESSAGE(cases.size() > 1, "no cases of " << name);
  return cases;
}

/// Runs a program and computes all that it answers.
Results answers(const Program& p, const Given& in) {
  const Results results = p.run(in);
  for (const programs::Result& r : results) r.value.eval();
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
  for (const auto& [name, value] : results)
    BOOST_TEST_CONTEXT(name) {
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

}  // namespace

BOOST_AUTO_TEST_SUITE(programs_of_users)

BOOST_AUTO_TEST_CASE(they_answer_what_the_originals_do) {
  for (const Program& p : programs::all())
    BOOST_TEST_CONTEXT(p.name) {
      for (const Case& c : cases_of(p.name)) try {
          compare(p, c, answers(p, c.in));
        } catch (const Error& e) {
          BOOST_ERROR(e.what());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
