// Tests the words of random blocks on each instruction set, at each lane.
#include <boost/test/unit_test.hpp>

#include "jit/graph/record.hpp"
#include "lazy/lazy.hpp"
#include "support/philox.hpp"
#include "tests/differential/isas.hpp"

using namespace lazy;

namespace {

constexpr uint32_t kKey0 = 0x9e3779b1, kKey1 = 0xfedcba98;

Tensor word(jit::Op op, const Tensor& counter) {
  const Tensor a = full({1}, kKey0, uint32).copy(), b = full({1}, kKey1, uint32).copy();
  return Tensor(jit::record(op, {&counter.handle(), &a.handle(), &b.handle()}, uint32, counter.shape(),
                            Site::current()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(words)

/// Both ops give what the function does.
BOOST_AUTO_TEST_CASE(of_blocks) {
  std::vector<uint32_t> counters;
  for (uint32_t i = 0; i < 131; ++i) counters.push_back(i * 0x01234567u);
  const Tensor c = asarray(counters);
  Isas& isas = Isas::instance();
  BOOST_REQUIRE(isas.count() > 1);
  for (int isa = 0; isa < isas.count(); ++isa) {
    isas.use(isa);
    const uint64_t compiled = metrics().kernels_compiled;
    const Tensor first = word(jit::Op::philox0, c), second = word(jit::Op::philox1, c);
    const std::vector<uint32_t> v = first.to_vector<uint32_t>(), w = second.to_vector<uint32_t>();
    BOOST_TEST(metrics().kernels_compiled > compiled);
    // In lanes of 64 bits there are half as many.
    const std::vector<uint64_t> wide =
        (astype(word(jit::Op::philox0, c), uint64) + word(jit::Op::philox1, c)).to_vector<uint64_t>();
    for (size_t i = 0; i < counters.size(); ++i) {
      const auto block = philox({counters[i], 0, 0, 0}, {kKey0, kKey1});
      BOOST_REQUIRE(v[i] == block[0]);
      BOOST_REQUIRE(w[i] == block[1]);
      BOOST_REQUIRE(wide[i] == uint64_t{block[0]} + block[1]);
    }
  }
  isas.use(0);
}

BOOST_AUTO_TEST_SUITE_END()
