// Tests x(...) and what masks select on a GPU: by ordinary kernels there, of which the host reads a count and
// nothing else.
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;

namespace {

Tensor at(const std::vector<int64_t>& v) { return asarray(v).to(cuda); }
std::vector<int64_t> numbers(const Tensor& x) {
  BOOST_TEST((x.device() == cuda(0)));
  return x.to_vector<int64_t>();
}
using Numbers = std::vector<int64_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(indexing_elsewhere)

BOOST_AUTO_TEST_CASE(reads) {
  const Tensor x = arange(24).reshape({2, 3, 4}).to(cuda);
  const Tensor i = at({1, 0, -1});
  BOOST_TEST((numbers(x(i, i, i)) == Numbers{17, 0, 23}));
  BOOST_TEST((numbers(x(i, _, {3})) == Numbers{15, 19, 23, 3, 7, 11, 15, 19, 23}));
  BOOST_TEST((numbers(x(0, slice(none, none, -2), i)) == Numbers{9, 1, 8, 0, 11, 3}));
  BOOST_TEST((numbers(x(i(0), 2)) == Numbers{20, 21, 22, 23}));
  BOOST_TEST((numbers(x(ix_({at({1, 0}), at({2, 0})}))(_, _, 0)) == Numbers{20, 12, 8, 0}));
  BOOST_CHECK_THROW(x(i, at({0, 3, 0})).eval(), IndexError);
  BOOST_TEST((numbers(x(1, 1)) == Numbers{16, 17, 18, 19}));
}

BOOST_AUTO_TEST_CASE(writes) {
  Tensor x = zeros({3, 3}, int64).to(cuda);
  x(at({0, 1, 0}), at({1, 1, 1})) = at({5, 6, 7});
  x(_, at({2})) += 1;
  x(at({2, 2}), 0) += 4;
  BOOST_TEST((numbers(x) == Numbers{0, 7, 1, 0, 6, 1, 4, 0, 1}));
  BOOST_TEST((numbers(index_put(x, {at({2, 2}), 0}, 4, true)(2)) == Numbers{12, 0, 1}));
  x(x > 4) = at({1, 2});
  BOOST_TEST((numbers(x) == Numbers{0, 1, 1, 0, 2, 1, 4, 0, 1}));
  x(x == 1) *= 10;
  BOOST_TEST((numbers(x) == Numbers{0, 10, 10, 0, 2, 10, 4, 0, 10}));
}

BOOST_AUTO_TEST_CASE(masks_stay_there) {
  const Tensor x = (arange(1000) % 7).to(cuda), rows = arange(2000).reshape({1000, 2}).to(cuda);
  reset_metrics();
  const Tensor kept = x(x > 4), where_ = flatnonzero(x == 6), taken = rows(x == 6);
  BOOST_TEST(kept.size() == 285);
  BOOST_TEST(numbers(where_)[141] == 993);
  BOOST_TEST(numbers(taken)[3] == 27);
  BOOST_TEST(numbers(kept)[2] == 5);
  const Metrics m = metrics();
  BOOST_TEST(m.call_host_transfers == 0u);
  BOOST_TEST(m.call_fallbacks == 3u);
  BOOST_TEST(m.calls == 0u);
}

BOOST_AUTO_TEST_CASE(sets) {
  const Tensor x = at({3, 1, 3, 2, 1});
  const UniqueAll u = unique_all(x);
  BOOST_TEST((numbers(u.values) == Numbers{1, 2, 3}));
  BOOST_TEST((numbers(u.indices) == Numbers{1, 3, 0}));
  BOOST_TEST((numbers(u.inverse) == Numbers{2, 0, 2, 1, 0}));
  BOOST_TEST((numbers(u.counts) == Numbers{2, 1, 2}));
  BOOST_TEST((numbers(intersect1d(x, at({2, 3, 9}))) == Numbers{2, 3}));
  BOOST_TEST((numbers(nonzero(x - 1)[0]) == Numbers{0, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
