// Tests random programs of collectives against a simulation of all ranks on the host: as threads and as
// processes of each engine, each rank with flushes and limits of its own.
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>

#include "lazy/distributed/collectives.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/training/distributed/on_any_thread.hpp"
#include "tests/training/distributed/worlds.hpp"

using namespace lazy;
using distributed::Group;
using distributed::ReduceOp;
using test::check;

namespace {

constexpr int64_t kLength = 24;      // of every value: 2, 3 and 4 ranks cut it evenly
constexpr int64_t kModulus = 10007;  // keeps integers exact in every dtype that is used

/// Holds the value of each rank.
using Values = std::vector<std::vector<double>>;

enum class Kind : uint8_t {
  reduce,
  gather,
  scatter,
  broadcast,
  turn,
  shift,
  local,
  started,  // waited for two steps later
  dropped,  // nobody reads it
  barrier,
  ring,  // each rank sends to the next one
  count
};

struct Step {
  Kind kind;
  ReduceOp op;
  int number;  // root, or how far
  int axis;    // of the mesh; -1: the world
};

struct Program {
  int ranks;
  std::vector<Step> steps;

  Program(uint64_t seed, int of_ranks) : ranks(of_ranks) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
    constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::min, ReduceOp::max};
    for (int i = 0, n = 4 + draw(14); i < n; ++i) {
      Step s{static_cast<Kind>(draw(static_cast<int>(Kind::count))), kOps[draw(3)], draw(ranks),
             ranks == 4 ? draw(3) - 1 : -1};
      // Two ranks are in a group of a mesh of four.
      if (s.axis >= 0) s.number %= 2;
      steps.push_back(s);
    }
  }

  /// Returns the members of the group that a rank is in.
  std::vector<int> members(const Step& s, int rank) const {
    if (s.axis == 0) return {rank % 2, rank % 2 + 2};
    if (s.axis == 1) return {rank / 2 * 2, rank / 2 * 2 + 1};
    std::vector<int> all;
    for (int r = 0; r < ranks; ++r) all.push_back(r);
    return all;
  }
};

double mod(double v) { return std::fmod(v, kModulus); }
Tensor mod(const Tensor& x) { return x % static_cast<double>(kModulus); }

std::vector<double> begin_of(int rank) {
  std::vector<double> v;
  for (int64_t i = 0; i < kLength; ++i) v.push_back(static_cast<double>((i * 7 + rank * 31) % 101));
  return v;
}

/// Does a step for all ranks.
Values simulated(const Program& p, const Step& s, const Values& x) {
  Values y = x;
  for (int r = 0; r < p.ranks; ++r) {
    const std::vector<int> in = p.members(s, r);
    const auto n = static_cast<int>(in.size());
    const int me = static_cast<int>(std::find(in.begin(), in.end(), r) - in.begin());
    auto& to = y[static_cast<size_t>(r)];
    const auto of = [&](int member, int64_t i) {
      return x[static_cast<size_t>(in[static_cast<size_t>(member)])][static_cast<size_t>(i)];
    };
    const int64_t share = kLength / n;
    for (int64_t i = 0; i < kLength; ++i) {
      double& v = to[static_cast<size_t>(i)];
      switch (s.kind) {
        case Kind::reduce:
        case Kind::started:
        case Kind::scatter:
          v = of(0, i);
          for (int m = 1; m < n; ++m) {
            const double w = of(m, i);
            v = s.op == ReduceOp::sum ? v + w : s.op == ReduceOp::min ? std::min(v, w) : std::max(v, w);
          }
          // Each rank multiplies its part by its place, and the parts are gathered again.
          if (s.kind == Kind::scatter) v *= static_cast<double>(i / share + 1);
          break;
        case Kind::gather:
          v = 0;
          for (int m = 0; m < n; ++m) v += of(m, i) * (m + 1);
          break;
        case Kind::broadcast: v = of(s.number % n, i); break;
        case Kind::turn: v = of(static_cast<int>(i / share), me * share + i % share); break;
        case Kind::shift: v = of(((me - s.number) % n + n) % n, i); break;
        case Kind::ring: v = of((me - 1 + n) % n, i); break;
        case Kind::local: v = v * 3 + r; break;
        default: break;
      }
      v = mod(v);
    }
  }
  return y;
}

/// Does a step on this rank.
Tensor done(const Step& s, const Tensor& x, const Group& group) {
  const int n = group.size(), me = group.rank();
  switch (s.kind) {
    case Kind::reduce: return distributed::all_reduce(x, s.op, group);
    case Kind::gather: {
      const Tensor weights = arange(1, n + 1).astype(x.dtype()).reshape({n, 1});
      return sum(distributed::all_gather(x, group).reshape({n, kLength}) * weights, 0).astype(x.dtype());
    }
    case Kind::scatter: {
      const Tensor part = distributed::reduce_scatter(x, s.op, group) * (me + 1);
      return distributed::all_gather(part, group);
    }
    case Kind::broadcast: return distributed::broadcast(x, s.number % n, group);
    case Kind::turn: return distributed::all_to_all(x, group);
    case Kind::shift: return distributed::shift(x, s.number, group);
    case Kind::local: return x * 3 + distributed::rank();
    case Kind::dropped: (void)distributed::all_reduce(x, s.op, group); return x;
    case Kind::barrier: distributed::barrier(group); return x;
    case Kind::ring: {
      if (n == 1) return x;
      // The first rank receives last: the others would wait for it all around.
      if (me != 0) {
        const Tensor got = distributed::recv({kLength}, x.dtype(), me - 1, group);
        distributed::send(x, (me + 1) % n, group);
        return got;
      }
      distributed::send(x, 1, group);
      return distributed::recv({kLength}, x.dtype(), n - 1, group);
    }
    default: return x;
  }
}

/// Runs a program on this rank of a world, and compares what comes out with the simulation.
void run(uint64_t seed, const Program& p, const std::vector<Group>& groups) {
  const int me = distributed::rank();
  constexpr DType kTypes[] = {float64, int64, int32, float32};
  const DType t = kTypes[seed % 4];
  std::mt19937_64 own(seed * 131 + static_cast<uint64_t>(me));
  Values expected;
  for (int r = 0; r < p.ranks; ++r) expected.push_back(begin_of(r));
  const auto first = begin_of(me);
  Tensor x = from_span(std::span<const double>(first)).astype(t);
  std::optional<distributed::Work> work;
  Values of_work;
  size_t since = 0;
  const auto wait = [&] {
    const Tensor y = mod(work->wait()[0]);
    work.reset();
    check(y.astype(float64).to_vector<double>() == of_work[static_cast<size_t>(me)],
          "what was started, seed " + std::to_string(seed));
  };
  for (const Step& s : p.steps) {
    const Group group = s.axis < 0 ? Group() : groups[static_cast<size_t>(s.axis)];
    if (s.kind == Kind::started) {
      if (work) wait();
      work.emplace(distributed::start_all_reduce({x}, s.op, group));
      of_work = simulated(p, s, expected), since = 0;
    } else {
      x = mod(done(s, x, group));
      expected = simulated(p, s, expected);
    }
    if (work && ++since > 2) wait();
    // Ranks look at values when they like: flushes differ, the order of the exchanges does not.
    if (own() % 4 == 0) (void)x.eval();
    if (own() % 9 == 0)
      check(x.astype(float64).to_vector<double>() == expected[static_cast<size_t>(me)],
            "a step, seed " + std::to_string(seed));
  }
  if (work) wait();
  check(x.astype(float64).to_vector<double>() == expected[static_cast<size_t>(me)],
        std::to_string(p.ranks) + " ranks, seed " + std::to_string(seed));
}

std::vector<Group> groups_of(int ranks) {
  if (ranks != 4) return {};
  const distributed::Mesh mesh({{"rows", 2}, {"columns", 2}});
  return {mesh.group("rows"), mesh.group("columns")};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_random_programs)

BOOST_AUTO_TEST_CASE(on_threads) {
  const uint64_t seed = test::asked_seed(), cases = test::asked_cases(60);
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases);
  for (const int ranks : {2, 3, 4})
    distributed::run_ranks(ranks, [&] {
      const std::vector<Group> groups = groups_of(ranks);
      for (uint64_t c = 0; c < cases / 3; ++c) run(seed + c, Program(seed + c, ranks), groups);
    });
}

/// Runs as one process of a world, if it is one.
BOOST_AUTO_TEST_CASE(of_a_process) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  distributed::init({.timeout = 60});
  const uint64_t seed = test::asked_seed(), cases = test::asked_cases(25);
  // Graphs end at other lengths on each rank.
  const config::Override limit("LAZY_MAX_GRAPH", std::to_string(3 + 5 * distributed::rank()));
  const int ranks = distributed::world_size();
  const std::vector<Group> groups = groups_of(ranks);
  for (uint64_t c = 0; c < cases; ++c) run(seed + c, Program(seed + c, ranks), groups);
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(on_processes) {
  const uint64_t seed = test::asked_seed() % 1'000'000;
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  for (const std::string& engine : test::engines())
    for (const int ranks : {2, 4})
      test::run_world("distributed_random_programs/of_a_process", engine, ranks,
                      {{"LAZY_TEST_SEED", std::to_string(seed)}});
}

BOOST_AUTO_TEST_SUITE_END()
