// Tests who keeps nodes alive: temporaries whose handles an op takes over, nodes of a flush that only other
// nodes of it read, values that another thread drops meanwhile.
#include <atomic>
#include <thread>

#include "jit/flush/no_flush.hpp"
#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

namespace {

uint64_t counts_of(const Tensor& x) { return x.handle()->counts.load(); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(references, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_flush_leaves_each_input_with_its_handles_alone) {
  const Tensor a = numbers({5}), b = numbers({5}), c = full({}, 2.0f);
  for (int round = 0; round < 3; ++round) {
    Tensor y = exp(a * b + a) * c - (a - b) * a;
    y = where(y > b, y, a);
    y.eval();
    BOOST_TEST(counts_of(a) == jit::Node::kHandle);
    BOOST_TEST(counts_of(b) == jit::Node::kHandle);
    BOOST_TEST(counts_of(c) == jit::Node::kHandle);
    BOOST_TEST(counts_of(y) == jit::Node::kHandle);
  }
}

BOOST_AUTO_TEST_CASE(an_op_of_the_same_value_twice) {
  const Tensor a = numbers({3});
  Tensor y = (a + a) * (a + a);
  y = y + y;
  BOOST_TEST(y.to_vector<float>() == (std::vector<float>{8, 32, 72}), boost::test_tools::per_element());
  BOOST_TEST(counts_of(a) == jit::Node::kHandle);
  BOOST_TEST(counts_of(y) == jit::Node::kHandle);
}

BOOST_AUTO_TEST_CASE(an_op_that_throws_leaves_its_operands) {
  const Tensor a = numbers({3});
  const Tensor kept = a + 1;
  {
    const Override eager("LAZY_EAGER", "1");
    const jit::NoFlush none;
    for (int i = 0; i < 3; ++i) {
      BOOST_CHECK_THROW((a * kept) * a, Error);  // the temporary's op throws
      BOOST_CHECK_THROW(exp(kept), Error);
    }
  }
  BOOST_TEST(counts_of(kept) == jit::Node::kHandle);
  BOOST_TEST((kept * a).to_vector<float>() == (std::vector<float>{2, 6, 12}),
             boost::test_tools::per_element());
  BOOST_TEST(counts_of(a) == jit::Node::kHandle);
}

BOOST_AUTO_TEST_CASE(outputs_in_the_middle_of_a_flush_stay) {
  const Tensor a = numbers({4});
  Tensor last;
  std::vector<Tensor> all{a};
  for (int i = 0; i < 40; ++i) {
    all.push_back(all.back() + 1);
    last = all.back() * 1;
  }
  last.eval();
  for (size_t i = 1; i < all.size(); ++i) BOOST_REQUIRE_EQUAL(all[i].to_vector<float>()[0], 1 + float(i));
  all.erase(all.begin(), all.end() - 1);
  BOOST_TEST(counts_of(all[0]) == jit::Node::kHandle);
}

BOOST_AUTO_TEST_CASE(values_that_another_thread_drops_while_they_are_computed) {
  const Tensor a = numbers({64});
  std::atomic<Tensor*> given{nullptr};
  std::atomic<bool> done{false};
  std::thread dropping([&] {
    while (!done)
      if (Tensor* const t = given.exchange(nullptr)) delete t;
  });
  bool good = true;
  for (int i = 0; i < 20000; ++i) {
    Tensor x = a + 1, y = x * 2;
    auto* const mine = new Tensor(i % 2 ? x - 3 : y - x);  // perhaps the last reader of what the flush takes
    if (Tensor* const left = given.exchange(mine)) delete left;
    if (i % 3 == 0) x = Tensor();
    good &= (y + 1).to_vector<float>()[63] == 131;
  }
  done = true;
  dropping.join();
  delete given.load();
  BOOST_TEST(good);
  BOOST_TEST(counts_of(a) == jit::Node::kHandle);
}

BOOST_AUTO_TEST_CASE(a_node_is_small) { BOOST_TEST(sizeof(jit::Node) <= 288u); }

BOOST_AUTO_TEST_SUITE_END()
