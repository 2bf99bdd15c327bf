// Tests what ranks compute together: as threads, and as processes; that ranks which do different things are
// told so, all of them; that nothing is dropped or repeated; gradients; a world of one.
#include "lazy/distributed/collectives.hpp"

#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <random>
#include <thread>

#include "lazy/lazy.hpp"
#include "tests/common/asked.hpp"
#include "tests/training/distributed/on_any_thread.hpp"
#include "tests/training/distributed/worlds.hpp"

using namespace lazy;
using distributed::ReduceOp;
using test::check;

namespace {

/// Returns rank r's value of a shape: small integers, whose sums are exact.
Tensor value_of(int r, const Shape& shape, DType t, int salt = 0) {
  return ((arange(0, numel(shape), 1, int64) * 7 + r * 3 + salt) % 11).astype(t).reshape(shape);
}
std::vector<double> all_of(const Tensor& t) { return t.astype(float64).to_vector<double>(); }

void all_kinds(DType t, const Shape& shape, int ranks) {
  const int me = distributed::rank();
  const std::string what = std::string(name_of(t)) + " " + to_string(shape) + " on " + std::to_string(ranks);
  const Tensor x = value_of(me, shape, t);
  Tensor sum = value_of(0, shape, t), least = sum, most = sum, product = sum, gathered = sum;
  for (int r = 1; r < ranks; ++r) {
    const Tensor y = value_of(r, shape, t);
    sum = sum + y, least = minimum(least, y), most = maximum(most, y), product = product * y;
    gathered = concat({gathered, y});
  }
  check(all_of(distributed::all_reduce(x)) == all_of(sum), "sum of " + what);
  check(all_of(distributed::all_reduce(x, ReduceOp::min)) == all_of(least), "min of " + what);
  check(all_of(distributed::all_reduce(x, ReduceOp::max)) == all_of(most), "max of " + what);
  if (!is_half(t))
    check(all_of(distributed::all_reduce(x, ReduceOp::prod)) == all_of(product), "product of " + what);
  check(all_of(distributed::all_gather(x)) == all_of(gathered), "gather of " + what);
  for (int root = 0; root < ranks; ++root)
    check(all_of(distributed::broadcast(x, root)) == all_of(value_of(root, shape, t)),
          "broadcast of " + what);
  const int64_t n = shape[0];
  Shape wide = shape;
  wide[0] = n * ranks;
  Tensor part = value_of(0, wide, t)(slice(me * n, (me + 1) * n)), turned = part;
  for (int r = 1; r < ranks; ++r) {
    const Tensor theirs = value_of(r, wide, t)(slice(me * n, (me + 1) * n));
    part = part + theirs, turned = concat({turned, theirs});
  }
  check(all_of(distributed::reduce_scatter(value_of(me, wide, t))) == all_of(part), "scatter of " + what);
  check(all_of(distributed::all_to_all(value_of(me, wide, t))) == all_of(turned), "all to all of " + what);
}

void several_values(int ranks) {
  const int me = distributed::rank();
  const std::vector<Tensor> x{value_of(me, {5}, float32), value_of(me, {0}, float32),
                              value_of(me, {3, 2000}, float32, 1)};
  const auto y = distributed::all_reduce(x, ReduceOp::mean);
  for (size_t i = 0; i < x.size(); ++i) {
    Tensor sum = zeros(x[i].shape());
    for (int r = 0; r < ranks; ++r) sum = sum + value_of(r, x[i].shape(), float32, i == 2);
    check(all_of(y[i]) == all_of(sum / static_cast<float>(ranks)), "mean of several");
  }
}

/// Runs f on so many ranks and returns what each threw; empty: nothing.
std::vector<std::string> errors_of(int ranks, const std::function<void(int)>& f, double timeout = 20) {
  std::vector<std::string> all(static_cast<size_t>(ranks));
  try {
    distributed::run_ranks(
        ranks,
        [&] {
          const int r = distributed::rank();
          try {
            f(r);
          } catch (const CommunicationError& e) {
            all[static_cast<size_t>(r)] = e.what();
            throw;
          }
        },
        timeout);
  } catch (const CommunicationError&) {}
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_collectives)

BOOST_AUTO_TEST_CASE(values_on_threads) {
  for (const int ranks : {1, 2, 3, 4})
    distributed::run_ranks(ranks, [&] {
      for (const DType t : {float32, float64, float16, bfloat16, int8, uint8, int16, int32, int64, uint64})
        for (const Shape& shape : {Shape{1}, Shape{7, 3}, Shape{0, 2}, Shape{5000}})
          all_kinds(t, shape, ranks);
      several_values(ranks);
    });
}

BOOST_AUTO_TEST_CASE(sums_are_in_the_order_of_the_ranks) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  for (const int ranks : {2, 3, 4})
    for (const int64_t n : {3, 4096, 10007})
      for (const DType t : {float32, bfloat16})
        distributed::run_ranks(ranks, [&] {
          const auto drawn = [&](int r) {
            Generator g(seed + static_cast<uint64_t>(r));
            return (randn(g, {n}) * 100).astype(t);
          };
          Tensor sum = drawn(0).astype(float32);
          for (int r = 1; r < ranks; ++r) sum = sum + drawn(r).astype(float32);
          check(all_of(distributed::all_reduce(drawn(distributed::rank()))) == all_of(sum.astype(t)),
                "order of sums");
        });
}

// Some ranks look at values where others don't: flushes differ, the order of the exchanges does not.
BOOST_AUTO_TEST_CASE(random_programs) {
  const uint64_t seed = test::asked_seed(), cases = test::asked_cases(40);
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases);
  for (uint64_t c = 0; c < cases; ++c) {
    const int ranks = 2 + static_cast<int>(c % 3);
    std::atomic<int> same = 0;
    std::vector<std::vector<double>> results(static_cast<size_t>(ranks));
    distributed::run_ranks(ranks, [&] {
      const int me = distributed::rank();
      std::mt19937_64 common(seed + c), own(seed + c + static_cast<uint64_t>(me) * 1000 + 1);
      Tensor x = value_of(me, {12}, float64), all = zeros({12}, float64);
      for (int step = 0; step < 12; ++step) {
        switch (common() % 5) {
          case 0: all = all + distributed::all_reduce(x); break;
          case 1: all = all + sum(distributed::all_gather(x).reshape({ranks, 12}), 0); break;
          case 2:
            all = distributed::broadcast(all + x,
                                         static_cast<int64_t>(common() % static_cast<uint64_t>(ranks)));
            break;
          case 3: x = x * 0.5 + static_cast<double>(me); break;
          case 4: (void)distributed::all_reduce(x, ReduceOp::max); break;  // nobody reads it
        }
        if (own() % 3 == 0) (void)all.eval();
        if (own() % 7 == 0) (void)x.to_vector<double>();
      }
      results[static_cast<size_t>(me)] = all_of(distributed::all_reduce(all));
    });
    for (const auto& r : results) same += r == results[0];
    BOOST_TEST(same == ranks);
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_differ_are_told) {
  const auto everyone = [](const std::vector<std::string>& all, const std::vector<std::string>& parts) {
    for (size_t r = 0; r < all.size(); ++r)
      for (const std::string& part : parts)
        BOOST_TEST(all[r].find(part) != std::string::npos,
                   "rank " << r << " says '" << all[r] << "', not " << part);
  };
  const auto ones_of = [](int64_t n, DType t = float32) { return ones({n}, t); };
  everyone(errors_of(3, [&](int r) { (void)distributed::all_reduce(ones_of(r == 1 ? 4 : 3)).eval(); }),
           {"ranks do different things", "rank 1 is at all_reduce of 4 x float32, sum", "of 3 x float32",
            "collectives.cpp:"});
  everyone(
      errors_of(2, [&](int r) { (void)distributed::all_reduce(ones_of(3, r ? float64 : float32)).eval(); }),
      {"x float32", "x float64"});
  everyone(errors_of(
               2,
               [&](int r) {
                 (void)(r ? distributed::all_gather(ones_of(3)) : distributed::all_reduce(ones_of(3))).eval();
               }),
           {"at all_gather", "at all_reduce"});
  everyone(errors_of(2,
                     [&](int r) {
                       (void)distributed::all_reduce(ones_of(3), r ? ReduceOp::max : ReduceOp::sum).eval();
                     }),
           {", max", ", sum"});
  everyone(errors_of(2, [&](int r) { (void)distributed::broadcast(ones_of(3), r).eval(); }),
           {"rank 0,", "rank 1,"});
  everyone(errors_of(2,
                     [&](int r) {
                       if (r) distributed::barrier();
                       else (void)distributed::all_reduce(ones_of(3)).eval();
                     }),
           {"at barrier", "at all_reduce"});
  // From other lines: what is added up would not belong together.
  everyone(errors_of(2,
                     [&](int r) {
                       if (r) (void)distributed::all_reduce(ones_of(3)).eval();
                       else (void)distributed::all_reduce(ones_of(3)).eval();
                     }),
           {"ranks do different things", "rank 0 is at all_reduce", "rank 1 is at all_reduce"});
  // They have as many elements in another order.
  everyone(errors_of(2,
                     [&](int r) {
                       (void)distributed::all_reduce(ones(r ? Shape{2, 3} : Shape{3, 2})).eval();
                     }),
           {"ranks do different things"});
  // A rank is a collective ahead.
  everyone(errors_of(2,
                     [&](int r) {
                       for (int i = r; i < 3; ++i) (void)distributed::all_reduce(ones_of(3 + i)).eval();
                     }),
           {"ranks do different things", "its number 1"});
  // Other ranks in the group, and groups made in another order.
  everyone(errors_of(3,
                     [&](int r) {
                       const auto g = distributed::new_group(r == 2 ? std::vector<int>{0, 1, 2}
                                                                    : std::vector<int>{1, 0, 2});
                       (void)distributed::all_reduce(ones_of(3), ReduceOp::sum, g).eval();
                     }),
           {"ranks do different things", "group 1"});
  everyone(errors_of(2,
                     [&](int r) {
                       const auto a = distributed::new_group({0, 1}), b = distributed::new_group({0, 1});
                       (void)distributed::all_reduce(ones_of(3), ReduceOp::sum, r ? a : b).eval();
                     }),
           {"group 1", "group 2"});
  // A rank sends something else than is expected: only the receiver can know.
  const auto sent = errors_of(2, [&](int r) {
    if (r == 0) distributed::send(ones_of(3), 1), distributed::barrier();
    else (void)distributed::recv({4}, float32, 0).eval();
  });
  BOOST_TEST(sent[1].find("rank 0 is at send of 3 x float32 to rank 1") != std::string::npos, sent[1]);
  BOOST_TEST(!sent[0].empty());
  // Only one rank calls; the others are done.
  const auto alone = errors_of(2, [&](int r) {
    if (r == 0) (void)distributed::all_reduce(ones_of(3)).eval();
  });
  BOOST_TEST(alone[0].find("rank 1 is gone") != std::string::npos, alone[0]);
  // Or late.
  const auto late = errors_of(
      2,
      [&](int r) {
        if (r == 0) (void)distributed::all_reduce(ones_of(3)).eval();
        else std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      },
      0.2);
  BOOST_TEST(late[0].find("not in time") != std::string::npos, late[0]);
  BOOST_TEST(late[0].find("rank 1, which computes") != std::string::npos, late[0]);
  // Each waits in a group of two for the next rank, which waits in another.
  everyone(
      errors_of(
          3,
          [&](int r) {
            std::vector<distributed::Group> pairs;
            for (int i = 0; i < 3; ++i) pairs.push_back(distributed::new_group({i, (i + 1) % 3}));
            for (const int i : {r, (r + 2) % 3})
              (void)distributed::all_reduce(ones_of(3), ReduceOp::sum, pairs[static_cast<size_t>(i)]).eval();
          }),
      {"ranks wait for each other: ", "rank 0 waits for rank 1 in all_reduce at collectives.cpp:",
       "rank 2 waits for rank 0"});
  // An exception on one rank ends the others' waiting.
  BOOST_CHECK_THROW(distributed::run_ranks(2,
                                           [&] {
                                             if (distributed::rank() == 1)
                                               throw std::runtime_error("no data");
                                             (void)distributed::all_reduce(ones({2})).eval();
                                           }),
                    std::exception);
}

BOOST_AUTO_TEST_CASE(mistakes_of_one_rank) {
  distributed::run_ranks(2, [] {
    const auto throws = [](auto&& f, const std::string& part) {
      try {
        f();
        check(false, "nothing was thrown: " + part);
      } catch (const Error& e) { check(std::string(e.what()).find(part) != std::string::npos, e.what()); }
    };
    throws([] { (void)distributed::reduce_scatter(ones({3})); }, "do not divide");
    throws([] { (void)distributed::all_reduce(ones({3}, int32), ReduceOp::mean); }, "mean of int32");
    throws([] { (void)distributed::all_reduce(ones({3}, bool_)); }, "bool");
    throws([] { (void)distributed::broadcast(ones({3}), 2); }, "rank 2 of 2");
    throws([] { distributed::send(ones({3}), distributed::rank()); }, "is this one");
    throws([] { (void)distributed::recv({-1}, float32, 1 - distributed::rank()); }, "not negative");
    throws([] { (void)distributed::new_group({0, 2}); }, "rank 2 of 2");
    throws([] { (void)distributed::new_group({0, 0}); }, "twice");
    throws([] { (void)distributed::new_group({}); }, "no ranks");
    throws([] { (void)distributed::Mesh({{"data", 3}}); }, "have 3 ranks, the world 2");
    throws([] { (void)distributed::Mesh({{"data", 2}, {"data", 1}}); }, "two axes are called data");
    throws([] { (void)distributed::Mesh({{"data", 2}}).group("model"); }, "there are data");
    if (const auto other = distributed::new_group({1}); distributed::rank() == 0)
      throws([&] { (void)distributed::all_reduce(ones({3}), ReduceOp::sum, other); }, "not in the group");
    throws(
        [] {
          distributed::Work w = distributed::start_all_reduce({ones({2})});
          (void)w.wait();
          (void)w.wait();
        },
        "taken already");
    // And goes on.
    check(distributed::all_reduce(ones({})).item<float>() == 2, "after mistakes");
  });
}

BOOST_AUTO_TEST_CASE(gradients) {
  for (const int ranks : {2, 3})
    distributed::run_ranks(ranks, [&] {
      const int me = distributed::rank();
      const auto gradient_of = [&](const std::function<Tensor(const Tensor&)>& f, const Shape& shape) {
        Tensor x = ones(shape);
        x.requires_grad_();
        f(x).backward();
        return all_of(x.grad());
      };
      const float n = static_cast<float>(ranks);
      // The losses of all ranks are rank + 1 times a sum.
      const float share = static_cast<float>(me + 1), all = n * (n + 1) / 2;
      check(gradient_of([&](const Tensor& x) { return sum(distributed::all_reduce(x)) * share; }, {2}) ==
                std::vector<double>(2, all),
            "of all_reduce");
      check(gradient_of([&](const Tensor& x) { return sum(distributed::all_gather(x)) * share; }, {2}) ==
                std::vector<double>(2, all),
            "of all_gather");
      check(gradient_of(
                [&](const Tensor& x) { return sum(distributed::all_reduce(x, ReduceOp::mean)) * share; },
                {2}) == std::vector<double>(2, all / n),
            "of the mean");
      std::vector<double> scattered;
      for (int r = 0; r < ranks; ++r) scattered.push_back(r + 1);
      check(gradient_of([&](const Tensor& x) { return sum(distributed::reduce_scatter(x)) * share; },
                        {ranks}) == scattered,
            "of reduce_scatter");
      check(gradient_of([&](const Tensor& x) { return sum(distributed::all_to_all(x)) * share; }, {ranks}) ==
                scattered,
            "of all_to_all");
      check(gradient_of([&](const Tensor& x) { return sum(distributed::broadcast(x, 1)) * share; }, {2}) ==
                std::vector<double>(2, me == 1 ? all : 0),
            "of broadcast");
    });
}

// 4 ranks as 2 x 2: sums along each axis, and of a group that not all are in.
BOOST_AUTO_TEST_CASE(groups) {
  distributed::run_ranks(4, [] {
    const int me = distributed::rank();
    const distributed::Mesh mesh({{"data", -1}, {"model", 2}});
    check(mesh.coordinate("data") == me / 2 && mesh.coordinate("model") == me % 2, "coordinates");
    const Tensor x = full({3}, static_cast<float>(1 << me));
    const auto sum = [&](const distributed::Group& g) {
      return distributed::all_reduce(x, ReduceOp::sum, g).to_vector<float>()[0];
    };
    check(sum(mesh.group("model")) == (me < 2 ? 3 : 12), "along the last axis");
    check(sum(mesh.group("data")) == (me % 2 ? 10 : 5), "along the first axis");
    const auto some = distributed::new_group({3, 0, 1});
    if (me != 2) {
      check(some.rank() == (me == 3 ? 0 : me + 1), "ranks of a group");
      check(sum(some) == 11, "of some");
      check(all_of(distributed::all_gather(full({1}, static_cast<float>(me)), some)) ==
                std::vector<double>{3, 0, 1},
            "in the order of the group");
      check(all_of(distributed::broadcast(full({1}, static_cast<float>(me)), 0, some))[0] == 3,
            "from its first");
    }
    check(sum({}) == 15, "of all");
    const auto alone = distributed::new_group({0});
    if (me == 0) check(sum(alone) == 1, "of one");
  });
}

BOOST_AUTO_TEST_CASE(around_a_ring_and_from_rank_to_rank) {
  for (const int ranks : {2, 3, 4})
    distributed::run_ranks(ranks, [&] {
      const int me = distributed::rank();
      for (const int by : {0, 1, -1, 2, ranks}) {
        const int from = ((me - by) % ranks + ranks) % ranks;
        check(all_of(distributed::shift(value_of(me, {7, 3}, float32), by)) ==
                  all_of(value_of(from, {7, 3}, float32)),
              "shift by " + std::to_string(by));
      }
      // The gradient goes back the way the value came.
      Tensor x = ones({2});
      x.requires_grad_();
      sum(distributed::shift(x, 1) * static_cast<float>(me + 1)).backward();
      check(all_of(x.grad())[0] == (me + 1) % ranks + 1, "gradient of a shift");
      // A value passes all ranks, each of which adds to it; large ones, too.
      for (const int64_t n : {int64_t{1}, int64_t{300'000}}) {
        Tensor value = zeros({n});
        if (me > 0) value = distributed::recv({n}, float32, me - 1);
        value = value + static_cast<float>(me + 1);
        if (me + 1 < ranks) distributed::send(value, me + 1);
        distributed::barrier();
        check(all_of(value)[static_cast<size_t>(n - 1)] == (me + 1) * (me + 2) / 2, "passed on");
      }
    });
}

// Started collectives end while the program computes; results are those of calls that wait.
BOOST_AUTO_TEST_CASE(started_and_waited_for) {
  for (const int ranks : {1, 2, 4})
    distributed::run_ranks(ranks, [&] {
      const int me = distributed::rank();
      const auto x = [&](int i, int64_t n) { return value_of(me, {n}, float32, i); };
      std::vector<distributed::Work> all;
      for (int i = 0; i < 5; ++i)
        all.push_back(distributed::start_all_reduce({x(i, 3), x(i + 1, 70'000)}, ReduceOp::mean));
      auto gathered = distributed::start_all_gather(x(3, 5));
      auto scattered = distributed::start_reduce_scatter(x(4, 12));
      const Tensor between = distributed::all_reduce(x(9, 4));
      check(all_of(gathered.wait()[0]) == all_of(distributed::all_gather(x(3, 5))), "gathered");
      for (int i = 5; i-- > 0;) {
        const auto sums = all[static_cast<size_t>(i)].wait();
        for (int k = 0; k < 2; ++k)
          check(all_of(sums[static_cast<size_t>(k)]) ==
                    all_of(distributed::all_reduce(x(i + k, k ? 70'000 : 3), ReduceOp::mean)),
                "started " + std::to_string(i));
      }
      check(all_of(scattered.wait()[0]) == all_of(distributed::reduce_scatter(x(4, 12))), "scattered");
      check(all_of(between) == all_of(distributed::all_reduce(x(9, 4))), "between");
      // Nobody waits for this one; the next one comes all the same.
      (void)distributed::start_all_reduce({x(1, 10)});
      check(all_of(distributed::all_reduce(ones({1})))[0] == ranks, "after one that nobody waits for");
    });
}

BOOST_AUTO_TEST_CASE(what_ranks_did_is_known) {
  distributed::run_ranks(2, [] {
    (void)distributed::all_reduce(ones({3})).eval();
    const uint32_t line = __LINE__ - 1;
    distributed::barrier();
    const std::string text = distributed::recent_collectives();
    for (const std::string& part :
         {std::string("\"kind\": \"all_reduce\""), std::string("\"elements\": 3"),
          std::string("\"state\": \"done\""), "collectives.cpp:" + std::to_string(line),
          std::string("\"kind\": \"barrier\"")})
      check(text.find(part) != std::string::npos, part + " in " + text);
    check(std::string(distributed::engine()) == "threads", "engine");
  });
  BOOST_TEST(distributed::recent_collectives().empty());
  BOOST_TEST(std::string(distributed::engine()) == "none");
}

BOOST_AUTO_TEST_CASE(a_world_of_one_records_nothing) {
  BOOST_TEST(!distributed::is_initialized());
  BOOST_TEST(distributed::world_size() == 1);
  const Tensor x = ones({3}).eval();
  const uint64_t nodes = metrics().nodes_recorded;
  const Tensor y = distributed::all_reduce(distributed::broadcast(distributed::all_gather(x)));
  distributed::barrier();
  BOOST_TEST(metrics().nodes_recorded == nodes);
  BOOST_TEST(y.handle().get() == x.handle().get());
}

/// Runs as one process of a world, if it is one.
BOOST_AUTO_TEST_CASE(values_of_a_process) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  const char* const file = std::getenv("LAZY_TEST_MEETING");
  distributed::init({.file = file ? file : "", .timeout = 60});
  if (const char* const engine = std::getenv("LAZY_COMM")) BOOST_TEST(distributed::engine() == engine);
  const int ranks = distributed::world_size();
  for (const DType t : {float32, bfloat16, int32})
    for (const Shape& shape : {Shape{1}, Shape{7, 3}, Shape{0, 2}, Shape{300'000}})
      all_kinds(t, shape, ranks);
  several_values(ranks);
  distributed::barrier();
  if (const char* differ = std::getenv("LAZY_TEST_DIFFER"); differ && *differ) {
    try {
      (void)distributed::all_reduce(ones({distributed::rank() == 1 ? 5 : 4})).eval();
      BOOST_TEST(false);
    } catch (const CommunicationError& e) {
      BOOST_TEST(std::string(e.what()).find("ranks do different things") != std::string::npos, e.what());
      BOOST_TEST(std::string(e.what()).find("of 5 x float32") != std::string::npos, e.what());
    }
  }
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(values_on_processes) {
  for (const std::string& engine : test::engines())
    for (const bool differ : {false, true})
      for (const int ranks : {2, 4})
        test::run_world("distributed_collectives/values_of_a_process", engine, ranks,
                        {{"LAZY_TEST_DIFFER", differ ? "1" : ""}});
}

// Ranks meet by a file that all see.
BOOST_AUTO_TEST_CASE(ranks_meet_by_a_file) {
  const test::Folder folder;
  test::run_world("distributed_collectives/values_of_a_process", "tcp", 3,
                  {{"LAZY_TEST_MEETING", folder / "world"}});
  BOOST_TEST(!std::filesystem::exists(folder / "world"));
}

BOOST_AUTO_TEST_SUITE_END()
