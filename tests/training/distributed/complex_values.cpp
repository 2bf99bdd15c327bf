// Tests complex values on several ranks: collectives, and models with complex parameters, which learn what
// they learn on one rank.
#include <complex>
#include <functional>

#include "lazy/distributed/data_parallel.hpp"
#include "lazy/distributed/zero.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using namespace std::complex_literals;
using distributed::ReduceOp;
using C = std::complex<double>;

namespace {

/// Maps complex vectors through two complex layers and a real one.
struct Net : nn::Module {
  Parameter first, second, out;
  Tensor turns = from_span(std::vector<C>{1.0i, 1.0, -1.0i, 0.5});
  LAZY_MODULE(first, second, out, turns)
  Net() {
    Generator g(3);
    first = Parameter(astype(randn(g, {6, 4}, complex128) * 0.3, complex64));
    second = Parameter(astype(randn(g, {4, 4}, complex128) * 0.3, complex64));
    out = Parameter(randn(g, {4}) * 0.3);
  }
  Tensor operator()(const Tensor& x, bool deep = true) const {
    Tensor h = matmul(x, first) * astype(turns, complex64);
    if (deep) h = matmul(tanh(h), second);
    return matmul(abs(h), out);
  }
};

Tensor inputs(int step, int64_t n) {
  Generator g(static_cast<uint64_t>(step) + 50);
  return astype(randn(g, {n, 6}, complex128), complex64).eval();
}

std::vector<float> weights_of(const Net& net) {
  std::vector<float> all;
  for (const Tensor& t :
       {view_as_real(net.first.detach()), view_as_real(net.second.detach()), net.out.detach()})
    for (const float v : t.to_vector<float>()) all.push_back(v);
  return all;
}

using Step = std::function<void(const Tensor& loss)>;

/// Trains by steps on this rank's share of each batch.
std::vector<float> train(const std::function<Step(Net&)>& begin) {
  const int64_t n = 12, share = n / distributed::world_size(), me = distributed::rank();
  Net net;
  if (me) net.second = net.second * 2.0, net.turns = net.turns * 2.0;  // rank 0's values count
  const Step step = begin(net);
  for (int i = 0; i < 12; ++i) {
    const Tensor x = inputs(i, n)(slice(me * share, (me + 1) * share));
    step(mean(square(net(x) - real(x(_, 0)))));
  }
  return weights_of(net);
}

/// Compares with one rank, which the same steps train.
void trains(const char* name, const std::function<Step(Net&)>& begin) {
  BOOST_TEST_CONTEXT(name) {
    const std::vector<float> alone = train(begin);
    for (const int ranks : {2, 3}) {
      std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
      distributed::run_ranks(ranks, [&] { all[static_cast<size_t>(distributed::rank())] = train(begin); });
      for (const std::vector<float>& w : all) BOOST_TEST(w == all[0], boost::test_tools::per_element());
      for (size_t i = 0; i < alone.size(); ++i)
        BOOST_TEST(std::abs(all[0][i] - alone[i]) < 2e-4f * (1 + std::abs(alone[i])), "weight " << i);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_complex)

BOOST_AUTO_TEST_CASE(collectives) {
  distributed::run_ranks(2, [] {
    const double me = distributed::rank();
    const Tensor x = from_span(std::vector<C>{C(1 + me, 2), C(0, -1 - me)});
    using V = std::vector<C>;
    const auto is = [](const Tensor& t, const V& want, const char* what) {
      test::check(t.dtype() == complex128 && t.to_vector<C>() == want, what);
    };
    is(distributed::all_reduce(x), {C(3, 4), C(0, -3)}, "sum");
    is(distributed::all_reduce(x, ReduceOp::mean), {C(1.5, 2), C(0, -1.5)}, "mean");
    is(distributed::all_gather(x), {C(1, 2), C(0, -1), C(2, 2), C(0, -2)}, "gather");
    is(distributed::reduce_scatter(x), V{me == 0 ? C(3, 4) : C(0, -3)}, "scatter");
    is(distributed::broadcast(x, 1), {C(2, 2), C(0, -2)}, "broadcast");
    is(distributed::all_to_all(x), me == 0 ? V{C(1, 2), C(2, 2)} : V{C(0, -1), C(0, -2)}, "all to all");
    is(distributed::shift(x), me == 0 ? V{C(2, 2), C(0, -2)} : V{C(1, 2), C(0, -1)}, "shift");
    is(distributed::start_all_reduce({x, conj(x)}, ReduceOp::mean).wait()[1], {C(1.5, -2), C(0, 1.5)},
       "the second mean");
    is(distributed::start_all_gather(x).wait()[0], {C(1, 2), C(0, -1), C(2, 2), C(0, -2)},
       "a started gather");
    if (me == 0) distributed::send(x, 1);
    else is(distributed::recv({2}, complex128, 0), {C(1, 2), C(0, -1)}, "received");
    // A value that is real by the program's text has zeros.
    is(distributed::all_reduce(astype(ones({1}, float64), complex128)), {C(2, 0)}, "real numbers");
    Tensor w = x.clone();
    w.requires_grad_();
    square(abs(distributed::all_reduce(w))).sum().backward();
    is(w.grad(), {C(12, 16), C(0, -12)}, "gradient of a sum");
    distributed::barrier();
  });
  distributed::run_ranks(2, [] {
    const Tensor x = from_span(std::vector<C>{1.0i});
    test::throws<DtypeError>("all_reduce: the max of complex128: only sums and means",
                             [&] { (void)distributed::all_reduce(x, ReduceOp::max); });
  });
}

BOOST_AUTO_TEST_CASE(data_parallel) {
  for (const int64_t bytes : {1, 1 << 20})
    trains("DataParallel", [&](Net& net) -> Step {
      const auto parallel = std::make_shared<distributed::DataParallel>(
          net, distributed::DataParallelOptions{.bucket_bytes = bytes, .first_bucket_bytes = bytes});
      const auto o = std::make_shared<optim::Adam>(net.named_parameters(), optim::AdamOptions{.lr = 0.02});
      return [=](const Tensor& loss) {
        o->zero_grad();
        parallel->backward(loss);
        o->step();
      };
    });
}

// Gradients that are rounded for the exchange are near the others.
BOOST_AUTO_TEST_CASE(rounded) {
  distributed::run_ranks(2, [] {
    Net net;
    distributed::DataParallel parallel(net, {.exchange_dtype = bfloat16});
    const Tensor x = inputs(1, 4);
    parallel.backward(mean(net(x)));
    const Tensor g = net.first.grad();
    Net alone;
    mean(alone(x)).backward();
    test::check(g.dtype() == complex64, "dtype");
    test::check(max(abs(g - alone.first.grad())).item<float>() < 0.01f * max(abs(g)).item<float>(), "near");
  });
}

// A value that no rank's loss depends on has zeros.
BOOST_AUTO_TEST_CASE(unused) {
  distributed::run_ranks(2, [] {
    for (const int deep : {-1, 1}) {
      Net net;
      distributed::DataParallel parallel(net);
      parallel.backward(mean(net(inputs(1, 4), distributed::rank() == deep)));
      const Tensor g = net.second.grad();
      test::check(g.defined() && (max(abs(g)).item<float>() > 0) == (deep == 1), "gradient");
    }
  });
}

BOOST_AUTO_TEST_CASE(zero) {
  for (const int stage : {1, 2})
    for (const int64_t bytes : {1, 1 << 20})
      trains("ZeroOptimizer", [&](Net& net) -> Step {
        const auto o = std::make_shared<distributed::ZeroOptimizer>(
            net, [](const optim::ParameterList& p) { return std::make_unique<optim::AdamW>(p, 0.02); },
            distributed::ZeroOptions{.stage = stage, .bucket_bytes = bytes, .first_bucket_bytes = bytes});
        return [=](const Tensor& loss) {
          o->zero_grad();
          o->backward(loss);
          o->clip_grad_norm_(1.0);
          o->step();
        };
      });
  distributed::run_ranks(2, [] {
    Net net;
    const distributed::ZeroOptimizer o(
        net, [](const optim::ParameterList& p) { return std::make_unique<optim::AdamW>(p, 0.02); });
    test::check(o.shards()[0].size == 2 * 24 + 2 * 16 + 4, "planes count");
  });
}

BOOST_AUTO_TEST_SUITE_END()
