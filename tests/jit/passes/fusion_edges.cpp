// Tests how many kernels fusion makes of ordinary expressions, and which values get memory.
#include "jit/ir/ir.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;
using fresh::Probe;

namespace {

struct Made {
  size_t kernels = 0, stores = 0, loads = 0;
};

/// Returns the number of kernels for f's value, and checks that its bits are those of op by op.
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

BOOST_AUTO_TEST_CASE(views_of_what_is_computed_need_no_memory) {
  const Tensor a = numbers({20, 30}), b = numbers({20, 30}) * 0.5, c = numbers({30, 20});
  eval(b);
  for (const auto& view : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& x) {
             return permute_dims(x, {1, 0});
           },
           [](const Tensor& x) {
             return reshape(flip(x, {1})(_, slice(0, 20)), {20, 20})(slice(0, 1), _);
           },
           [](const Tensor& x) {
             return expand_dims(permute_dims(x, {1, 0}), 0);
           }}) {
    const Made m = made_for([&] { return view(a + b) * c; });
    BOOST_TEST(m.kernels == 1u);
    BOOST_TEST(m.stores == 1u);
  }
}

BOOST_AUTO_TEST_CASE(casts_and_views_are_done_on_the_way_into_a_product) {
  const Tensor x = (numbers({40, 50}) % 7.0).astype(int8), y = numbers({60, 50});
  eval(x);
  const Made direct = made_for([&] { return matmul(x.astype(float32), y.T()); });
  BOOST_TEST(direct.kernels == 1u);
  BOOST_TEST(direct.stores == 1u);
}

BOOST_AUTO_TEST_CASE(views_of_what_exists_are_not_copied) {
  const Tensor x = numbers({40, 40});
  const uint64_t before = metrics().launches;
  const Tensor m = matmul(x, x);
  const Tensor turned = expand_dims(m.T(), 0), part = expand_dims(squeeze(turned, {0})(slice(3, 9), _), 2);
  eval(turned, part, m);
  BOOST_TEST(metrics().launches == before + 1);
  BOOST_TEST(all(turned == expand_dims(m, 0).permute({0, 2, 1})).item<bool>());
}

// A cast there and back is removed only where every value survives it.
BOOST_AUTO_TEST_CASE(casts_there_and_back) {
  const Override exact("LAZY_EXACT_CASTS", "on");
  const Tensor values = tensor({-300.5, -2.0, -1.5, -0.25, 0.0, 0.5, 1.0, 1.5, 3.75, 100.0, 255.0, 70000.25});
  for (int from = 0; from < kDTypeCount; ++from) {
    const Tensor x = values.astype(static_cast<DType>(from));
    x.eval();
    for (int mid = 0; mid < kDTypeCount; ++mid) {
      const auto there_and_back = [&] {
        return astype(astype(x, static_cast<DType>(mid)), static_cast<DType>(from));
      };
      const std::vector<double> fused = there_and_back().astype(float64).to_vector<double>();
      const Override eager("LAZY_EAGER", "1");
      BOOST_TEST(there_and_back().astype(float64).to_vector<double>() == fused,
                 name_of(static_cast<DType>(from)) << " by " << name_of(static_cast<DType>(mid)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
