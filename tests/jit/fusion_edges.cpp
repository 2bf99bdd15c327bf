// What fusion makes of ordinary expressions: how many kernels, and what of them gets memory.
#include "jit/loop/ir.hpp"
#include "tests/jit/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

struct Made {
  size_t kernels = 0, stores = 0, loads = 0;
};

/// What kernels f's value takes; its bits are those that it has op by op.
template <class F>
Made made_for(const F& f) {
  Made m;
  std::vector<float> fused;
  {
    const Probe::Hooks hooks;
    Probe::instance().on_compile = [&](jit::loop::LoopKernel& k) {
      ++m.kernels;
      m.stores += k.stores.size();
      for (const jit::loop::Operand& o : k.operands) m.loads += !o.output;
    };
    fused = f().template to_vector<float>();
  }
  const Override eager("LAZY_EAGER", "1");
  BOOST_TEST((f().template to_vector<float>() == fused));
  return m;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fusion_edges, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_chain_stores_its_result_alone) {
  std::vector<Tensor> x;
  for (int i = 0; i < 8; ++i) x.push_back(numbers({300}) + i);
  for (const Tensor& t : x) t.eval();
  const Made m = made_for([&] {
    return (x[0] + x[1]) * (x[2] - x[3]) / ((x[4] + x[5]) * (x[6] + x[7])) + sqrt(x[0] * x[7] + x[3]);
  });
  BOOST_TEST(m.kernels == 1u);
  BOOST_TEST(m.stores == 1u);
  BOOST_TEST(m.loads == 8u);
}

BOOST_AUTO_TEST_CASE(many_terms_of_few_values_are_one_kernel) {
  const Tensor x = numbers({300}) * 0.001, y = numbers({300});
  eval(x, y);
  const Made m = made_for([&] {
    Tensor sum = x * 0.5;
    for (int i = 0; i < 40; ++i) sum = sum + maximum(x * (i * 0.25), y - i);
    return sum;
  });
  BOOST_TEST(m.kernels == 1u);
  BOOST_TEST(m.stores == 1u);
  BOOST_TEST(m.loads == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
