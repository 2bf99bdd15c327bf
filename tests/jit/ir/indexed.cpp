// Loads and stores at computed indices in the compiler: what fuses, what compiles again, faults, donation.
#include <thread>

#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;

namespace {

uint64_t launches_of(const std::function<void()>& f) {
  const uint64_t before = metrics().launches;
  f();
  return metrics().launches - before;
}

/// The same function, fused in so many kernels, and op by op.
template <class F>
void same_bits_in(uint64_t launches, F&& f, int line = __builtin_LINE()) {
  std::vector<float> fused;
  BOOST_TEST_INFO("from line " << line);
  BOOST_TEST(launches_of([&] { fused = f().template to_vector<float>(); }) == launches);
  const config::Override eager("LAZY_EAGER", "1");
  BOOST_TEST(fused == f().template to_vector<float>(), boost::test_tools::per_element());
}

/// 0 ... n - 1, in some order, again and again.
Tensor indices(int64_t count, int64_t n, DType t = int64) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < count; ++i) v.push_back((i * 7919 + 13) % n);
  Tensor x = astype(asarray(v), t);
  x.eval();
  return x;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const IndexError& e) { return e.what(); }
  return "nothing was thrown";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(indexed, fresh::Fixture)

BOOST_AUTO_TEST_CASE(what_is_before_and_after_a_take_is_one_kernel) {
  const Tensor x = numbers({50}), i = indices(100, 25), w = numbers({40, 17}), ids = indices(9, 40, int32);
  same_bits_in(1, [&] { return tanh(take(x, i * 2, 0) * 2); });
  same_bits_in(1, [&] { return tanh(take(w, ids, 0) * 0.5 + 1); });
  same_bits_in(1, [&] { return sum(take(w, ids, 0), {0}); });
  same_bits_in(1, [&] { return sum(take(w, ids, 0) * 2, {1}); });
  same_bits_in(2, [&] { return max(take(w, ids, 0)); });  // over both axes at once: of packed memory
  same_bits_in(1, [&] { return cumsum(take(w, ids, 0), 1); });
  same_bits_in(1, [&] { return take(w, ids, 0).T() + 1; });
  same_bits_in(1, [&] { return take(w, ids.reshape({3, 3}), 0) + take(w, ids.reshape({3, 3}) * 0, 0); });
  same_bits_in(1, [&] { return take_along_axis(w, indices(40, 17).reshape({40, 1}), 1) * 3; });
  same_bits_in(1, [&] { return take(w, ids, 0, Bounds::mask) + take(w, ids + 40, 0, Bounds::wrap); });
}

BOOST_AUTO_TEST_CASE(what_is_read_at_an_index_is_in_memory_first) {
  const Tensor w = numbers({40, 17}) * 0.01, ids = indices(9, 40), other = numbers({17, 5});
  eval(w);
  same_bits_in(2, [&] { return take(exp(w), ids, 0); });
  same_bits_in(2, [&] { return take(take(w, ids, 0), indices(4, 9), 0); });
  same_bits_in(2, [&] { return matmul(take(w, ids, 0), other); });
  same_bits_in(2, [&] { return take(matmul(w, other), ids, 0); });
  same_bits_in(2, [&] { return take(sum(w, {1}), ids, 0) + 1; });
  same_bits_in(1, [&] { return exp(sum(take(w, ids, 0), {1})); });
}

BOOST_AUTO_TEST_CASE(scatters_compute_their_updates) {
  const Tensor base = numbers({40, 5}), ids = indices(90, 40), src = numbers({90, 5});
  same_bits_in(1, [&] { return index_add(base, 0, ids, exp(src * 0.01), Bounds::clip); });
  same_bits_in(1, [&] { return index_add(base, 0, ids * 2, take(src, ids, 0), Bounds::wrap); });
  same_bits_in(2, [&] { return index_add(base, 0, ids, src); });  // the first looks at the indices
  same_bits_in(3, [&] { return sqrt(index_add(base, 0, ids, src)); });
}

BOOST_AUTO_TEST_CASE(new_sizes_compile_nothing) {
  const config::Override keep("LAZY_LIVENESS", "keep");
  const auto run = [](int64_t rows, int64_t columns, int64_t count) {
    const Tensor w = numbers({rows, columns}), ids = indices(count, rows);
    (void)sum(take(w, ids, 0)).item<float>();
    (void)sum(index_add(w, 0, ids, take(w, ids, 0))).item<float>();
    (void)sum(take(w.T(), ids, 1)).item<float>();
  };
  run(10, 5, 4);
  run(7, 3, 9);
  const uint64_t before = metrics().program_misses;
  run(100, 33, 2);
  run(11, 200, 300);
  BOOST_TEST(metrics().program_misses == before);
}

BOOST_AUTO_TEST_CASE(rules_and_axes_are_part_of_the_key) {
  const Tensor w = numbers({8, 8}), i = indices(8, 8);
  const auto misses = [&](const Tensor& t) {
    const uint64_t before = metrics().program_misses;
    Tensor x = t;
    x.eval();
    return metrics().program_misses - before;
  };
  BOOST_TEST(misses(take(w, i, 0)) == 1u);
  BOOST_TEST(misses(take(w, i, 0)) == 0u);
  BOOST_TEST(misses(take(w, i, 1)) == 1u);
  BOOST_TEST(misses(take(w, i, 0, Bounds::clip)) == 1u);
  BOOST_TEST(misses(index_add(w, 0, i, w)) == 1u);
  BOOST_TEST(misses(scatter(w, 0, i.reshape({8, 1}), w)) == 1u);
}

BOOST_AUTO_TEST_CASE(an_index_out_of_range_is_the_first_one) {
  const Tensor x = numbers({1000});
  std::vector<int64_t> v(300000, 1);
  v[299999] = 1001;
  v[150000] = -1001;
  v[150001] = 5000;
  const Tensor i = asarray(v);
  for (const char* threads : {"1", "2", "7"}) {
    const config::Override n("LAZY_NUM_THREADS", threads);
    const std::string says = error_of([&] { (void)sum(take(x, i, 0)).item<float>(); });
    BOOST_TEST(fresh::contains(says, "take: index -1001 is out of range for an axis of 1000 elements"), says);
    BOOST_TEST(fresh::contains(says, "indexed.cpp:"), says);
  }
  const config::Override eager("LAZY_EAGER", "1");
  const std::string says = error_of([&] { (void)take(x, i, 0); });
  BOOST_TEST(fresh::contains(says, "take: index -1001 is out of range"), says);
}

BOOST_AUTO_TEST_CASE(of_several_faulty_ops_the_first_is_named) {
  const Tensor x = numbers({10}), bad = asarray(std::vector<int64_t>{11, 0}),
               worse = asarray(std::vector<int64_t>{0, 77});
  Tensor a = take(x, bad, 0);
  const int line = __LINE__ - 1;
  Tensor b = take(x, worse, 0);
  const std::string says = error_of([&] { (a + b).eval(); });
  BOOST_TEST(fresh::contains(says, "index 11 is out"), says);
  BOOST_TEST(fresh::contains(says, "indexed.cpp:" + std::to_string(line)), says);
  // An index that is read at a faulty index of its own: the one that is read is at fault.
  Tensor c = take(x, take(indices(5, 5), asarray(std::vector<int64_t>{9}), 0), 0);
  const std::string inner = error_of([&] { c.eval(); });
  BOOST_TEST(fresh::contains(inner, "index 9 is out of range for an axis of 5"), inner);
}

BOOST_AUTO_TEST_CASE(after_a_fault_everything_is_as_before) {
  Tensor x = numbers({10}), kept = x + 0;
  Tensor y = x * 2;
  Tensor bad = take(y, asarray(std::vector<int64_t>{10}), 0);
  BOOST_CHECK_THROW((bad + 1).eval(), IndexError);
  BOOST_CHECK_THROW(bad.eval(), IndexError);  // again
  BOOST_TEST(y.to_vector<float>() == (kept * 2).to_vector<float>(), boost::test_tools::per_element());
  // An input that dies in the flush is not overwritten before all indices were looked at.
  Tensor index = asarray(std::vector<int64_t>{3, 99});
  Tensor dying = numbers({100000}), next = dying + 1;
  dying = Tensor();
  const Tensor found = take(next, index * 10000, 0);
  BOOST_CHECK_THROW(eval(found, next), IndexError);
  BOOST_TEST(next.to_vector<float>()[99999] == 100001);
  // A scatter's neither, though it then writes in place.
  Tensor table = numbers({1000});
  Tensor more = scatter_add(table, 0, asarray(std::vector<int64_t>{5, -1001}), 1);
  table = Tensor();
  BOOST_CHECK_THROW(more.eval(), IndexError);
  BOOST_CHECK_THROW(more.eval(), IndexError);
}

BOOST_AUTO_TEST_CASE(scatters_write_in_place) {
  Tensor table = numbers({100000});
  const Tensor ids = indices(50, 100000);
  const auto step = [&] { table = scatter_add(table, 0, ids, 1); };
  step();
  table.eval();
  const uint64_t before = metrics().bytes_donated;
  step();
  table.eval();
  BOOST_TEST(metrics().bytes_donated - before == 400000u);
  const Tensor other = table;  // now somebody else has it
  step();
  table.eval();
  BOOST_TEST(metrics().bytes_donated - before == 400000u);
  BOOST_TEST(other.to_vector<float>() != table.to_vector<float>());
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_gives_the_same_bits) {
  const Tensor ids = indices(200000, 97), src = sin(numbers({200000})) * 1000,
               wide = sin(numbers({2000, 100}));
  eval(src, wide);
  std::vector<std::vector<float>> all;
  const std::vector<const char*> counts =
      default_device() == cpu ? std::vector{"1", "2", "3", "8"} : std::vector{"1", "8"};
  for (const char* threads : counts) {
    const config::Override n("LAZY_NUM_THREADS", threads);
    auto a = scatter_add(zeros({97}), 0, ids, src).to_vector<float>();
    const auto b = index_add(zeros({97, 100}), 0, ids(slice(2000)), wide).to_vector<float>();
    const auto c =
        scatter(zeros({100, 97}), 1, ids(slice(2000)).reshape({1, 2000}), wide.T()).to_vector<float>();
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    all.push_back(std::move(a));
  }
  for (const auto& other : all) BOOST_TEST((other == all[0]));
}

BOOST_AUTO_TEST_CASE(from_several_threads) {
  const Tensor x = numbers({1000});
  std::vector<std::thread> threads;
  std::atomic<int> faults{0}, right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 50; ++n) {
        const Tensor i = asarray(std::vector<int64_t>{n, (n + t) % 4 == 0 ? 1000 : 7});
        try {
          if (take(x, i, 0).to_vector<float>() == std::vector<float>{float(n + 1), 8}) ++right;
        } catch (const IndexError&) { ++faults; }
      }
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(faults + right == 200);
  BOOST_TEST(faults == 50);
}

BOOST_AUTO_TEST_CASE(nothing_else_knows_of_them) {
  const Tensor w = numbers({30, 8}), ids = indices(12, 30);
  const auto f = [&] {
    return exp(take(w, ids, 0) * 0.01) / sum(take(w, ids, 0), {0}) +
           index_add(w, 0, ids, take(w, ids, 0))(slice(12));
  };
  const auto usual = f().to_vector<float>();
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
           {"LAZY_DYNAMIC", "never"}, {"LAZY_VERIFY", "1"}, {"LAZY_LIVENESS", "keep"}, {"LAZY_EAGER", "1"}}) {
    const config::Override with(name, value);
    BOOST_TEST(f().to_vector<float>() == usual, boost::test_tools::per_element());
  }
  BOOST_TEST(metrics().verify_failures == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
