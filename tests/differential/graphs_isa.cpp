// Runs one program on every instruction set: exactly rounded results have the same bits, and so have
// reductions and matrix products, whose order is fixed. Functions without that property stay close.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/differential/isas.hpp"
#include "tests/differential/random_graph.hpp"

namespace {

using namespace random_graph;

std::vector<Output> run_on(int isa, const Program& p, Inputs in) {
  Isas::instance().use(isa);
  return Machine(p, in).run();
}
std::string differs(const Program& p) {
  for (const bool second : {false, true}) {
    const Inputs in{second, 5};
    const std::vector<Output> reference = run_on(0, p, in);
    for (int isa = 1; isa < Isas::instance().count(); ++isa)
      if (std::string d = difference(reference, run_on(isa, p, in)); !d.empty())
        return std::string(Isas::instance().name()) + ": " + d;
  }
  return {};
}
}  // namespace

BOOST_AUTO_TEST_SUITE(instruction_sets)

BOOST_AUTO_TEST_CASE(exact_programs_agree_to_the_bit) {
  const uint64_t seed = lazy::test::asked_seed();
  const int cases = static_cast<int>(lazy::test::asked_cases(300));
  std::cout << "exact_programs_agree_to_the_bit: LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases
            << std::endl;
  const lazy::config::Override exact("LAZY_EXACT_CASTS", "1");
  Random random(seed);
  for (int i = 0; i < cases; ++i) {
    Program p = generate(random(), 3 + i % 15, true);
    std::string wrong = differs(p);
    if (wrong.empty()) continue;
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (const Program& q : simpler(p))
        if (const std::string d = differs(q); !d.empty()) {
          p = q;
          wrong = d;
          shorter = true;
          break;
        }
    }
    BOOST_ERROR("LAZY_TEST_SEED=" << seed << ", case " << i << ": " << wrong << "\n" << p);
    break;
  }
  Isas::instance().use(0);
}

BOOST_AUTO_TEST_CASE(functions_stay_close) {
  Random random(7);
  for (const lazy::DType t : {lazy::float32, lazy::float64, lazy::float16})
    for (const UnaryRow& row : kUnary) {
      if (row.exact) continue;
      std::vector<double> data(997);
      for (double& d : data) d = static_cast<double>(random() % 20001) / 1000 - 10;
      const Tensor x = lazy::astype(lazy::from_span(data), t).eval();
      std::vector<std::vector<double>> results;
      for (int isa = 0; isa < Isas::instance().count(); ++isa) {
        Isas::instance().use(isa);
        results.push_back(row.f(x).to_vector<double>());
      }
      const double eps = lazy::finfo(t).eps;
      for (const auto& r : results)
        for (size_t i = 0; i < r.size(); ++i) {
          const double a = results[0][i], b = r[i];
          const bool close =
              a == b || (std::isnan(a) && std::isnan(b)) ||
              std::abs(a - b) <= 4 * eps * std::max(std::abs(a), lazy::finfo(t).smallest_normal);
          BOOST_TEST(close, row.name << "(" << data[i] << ") in " << lazy::name_of(t) << " is " << b
                                     << ", not " << a);
          if (!close) break;
        }
    }
  Isas::instance().use(0);
}

BOOST_AUTO_TEST_SUITE_END()
