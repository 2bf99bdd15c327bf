// Tests that an observer of a thread is notified of each op once, in order, with its operands.
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "lazy/core/build.hpp"
#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using detail::Composite;
using detail::Observing;
using detail::Recorded;
using jit::Handle;
using jit::Op;

BOOST_AUTO_TEST_SUITE(door)

namespace {

/// Remembers its notifications.
struct Log : detail::Observer {
  struct Entry {
    Op op;
    std::vector<Handle> operands;
    Handle result;
    Dims ints, steps, axes;
    bool folded;
    int line;
  };
  std::vector<Entry> entries;
  std::vector<std::string> text;  // ops and functions

  void recorded(const Recorded& r) override {
    Entry e{r.op, {}, r.result, r.attributes.ints, r.attributes.steps, r.attributes.axes, false, 0};
    for (const Handle* o : r.operands) e.operands.push_back(*o);
    e.folded = r.operands.size() && r.result->op == Op::constant;
    e.line = static_cast<int>(r.site.line());
    entries.push_back(std::move(e));
    text.push_back(jit::name_of(r.op));
  }
  void transferred(const Handle&, const Handle&, const Site&) override { text.push_back("transfer"); }
  void begins(const char* name, std::span<const Handle* const> operands, const Site&) override {
    text.push_back(name + std::string("/") + std::to_string(operands.size()));
  }
  void ends(const char* name, const Handle* result, const detail::Derivative*) override {
    text.push_back(std::string(result ? "end of " : "no ") + name);
  }
  std::string all() const {
    std::string r;
    for (const std::string& t : text) r += (r.empty() ? "" : " ") + t;
    return r;
  }
};

using jit::is_source;

/// Records f() and compares the notifications with the graph.
template <class F>
void observed(F&& f, const Site& s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    Log log;
    const uint64_t before = metrics().nodes_recorded;
    Tensor result;
    {
      const Observing all(log);
      result = f();
    }
    const uint64_t recorded = metrics().nodes_recorded - before;
    uint64_t ops = 0;
    std::map<const jit::Node*, const Log::Entry*> told;
    for (const Log::Entry& e : log.entries) {
      BOOST_TEST(told.emplace(e.result.get(), &e).second, "told once");
      ops += !is_source(e.op) && !e.folded;
      BOOST_TEST(e.operands.size() == jit::row_of(e.op).arity);
      if (e.result->ready() || e.folded || config::get().eager) continue;  // its recipe is gone
      BOOST_TEST((e.result->op == e.op));
      BOOST_REQUIRE_EQUAL(e.operands.size(), e.result->arity);
      for (size_t i = 0; i < e.operands.size(); ++i) BOOST_TEST(e.operands[i].get() == e.result->operand[i]);
      if (e.op != Op::slice && e.op != Op::reshape)
        BOOST_TEST(to_string(e.axes) == to_string(e.result->axes));
      BOOST_TEST(to_string(e.ints) == to_string(e.result->ints));
      BOOST_TEST(to_string(e.steps) == to_string(e.result->steps));
    }
    BOOST_TEST(ops == recorded);
    // Everything that the result is made of was notified, operands before their users.
    std::vector<const jit::Node*> open{result.handle().get()};
    std::set<const jit::Node*> seen;
    while (!open.empty()) {
      const jit::Node* n = open.back();
      open.pop_back();
      if (!seen.insert(n).second || n->ready()) continue;
      BOOST_TEST(told.count(n) == 1);
      for (int i = 0; i < n->arity; ++i) open.push_back(n->operand[i]);
    }
    std::set<const jit::Node*> known;
    for (const Log::Entry& e : log.entries) {
      for (const Handle& o : e.operands) BOOST_TEST((!told.count(o.get()) || known.count(o.get())));
      known.insert(e.result.get());
    }
  }
}

Tensor value(const Shape& shape) {
  Tensor x = astype(reshape(arange(numel(shape)), shape), float32) * 0.25f;
  x.eval();
  return x;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_op_of_composites_is_told_once) {
  const Tensor x = value({4, 6}), y = value({6, 4}), image = value({1, 3, 9, 9});
  observed([&] { return x + 1; });
  observed([&] { return logaddexp(x, 2.5f); });
  observed([&] { return var(x, {0}) + stdev(x, {1}, keepdims).sum(); });
  observed([&] { return logsumexp(x, {-1}); });
  observed([&] { return clip(where(x > 1, x, 0), 0, 3); });
  observed([&] { return matmul(x, y) + vecdot(x, x, -1).unsqueeze(1); });
  observed([&] { return einsum("ij,jk,kl->il", {x, y, x}); });
  observed([&] { return max_pool(image, {3}) + avg_pool(image, {3}); });
  observed([&] { return max_pool(image, {9}, {.layout = channels_first}); });
  observed([&] { return adaptive_avg_pool(image, {2, 2}); });
  observed([&] { return concat({x, x * 2}) + stack({x(0), x(1)}).sum(); });
  observed([&] { return cumsum(astype(x, int64)) + linspace(0, 1, 24) + eye(24)(0); });
  observed([&] { return fma(x, 2, y.T()) + argmax(x) + tril(x); });
  observed([&] { return sliding_window_view(exp(x), {2}, {0}) * 2; });
  observed([&] {
    Tensor z = x * 2;
    z(0, slice(none, none, -1)) = 1;
    z(z > 3) *= 2;
    return z;
  });
}

BOOST_AUTO_TEST_CASE(ops_come_in_order) {
  const Tensor x = value({4, 6});
  Log log;
  const int line = __LINE__ + 3;
  {
    const Observing all(log);
    const Tensor y = mean(exp(x) * 2, {0});
  }
  BOOST_TEST(log.all() == "exp constant multiply sum reshape constant divide");
  for (const Log::Entry& e : log.entries) BOOST_TEST(e.line == line);
  BOOST_TEST(to_string(log.entries[3].axes) == to_string(Dims{0}));
}

BOOST_AUTO_TEST_CASE(nobody_is_told_of_what_is_no_op) {
  const Tensor x = value({4, 6});
  Log log;
  const Observing all(log);
  (void)reshape(x, {4, 6});
  (void)astype(x, float32);
  (void)x.T().T().shape();
  (void)x.to(x.device());
  (void)x.to_vector<float>();
  (void)tensor({1.0f});
  BOOST_TEST(log.all() == "permute permute");
}

BOOST_AUTO_TEST_CASE(folded_ops_are_told) {
  Log log;
  Tensor y;
  {
    const Observing all(log);
    y = astype(-(full({2, 3}, 2.0f) + 1), int32).T();
  }
  BOOST_TEST(log.all() == "constant constant add negative cast permute");
  for (const Log::Entry& e : log.entries) BOOST_TEST((e.result->op == Op::constant));
  BOOST_TEST(log.entries[2].operands[0].get() == log.entries[0].result.get());
  check::equal(y, int32, {3, 2}, {-3, -3, -3, -3, -3, -3});
}

BOOST_AUTO_TEST_CASE(functions_announce_themselves) {
  const Tensor x = value({4, 6});
  Log log;
  {
    const Observing all(log);
    (void)layer_norm(x, {6});
    log.entries.clear();
    (void)logsumexp(x);
    BOOST_CHECK_THROW((void)bilinear(x, x, ones({2, 6, 6}), ones({5})), ShapeError);
  }
  const std::string all = log.all();
  BOOST_TEST(all.starts_with("layer_norm/3 "));
  BOOST_TEST(all.find(" end of layer_norm logsumexp/1 ") != std::string::npos);
  BOOST_TEST(all.find(" end of logsumexp ") != std::string::npos);
  BOOST_TEST(all.ends_with(" no bilinear"));
}

BOOST_AUTO_TEST_CASE(observers_nest) {
  const Tensor x = value({3});
  // Records an op for each notification, as differentiation does.
  struct Doubling : Log {
    void recorded(const Recorded& r) override {
      Log::recorded(r);
      if (r.op == Op::exp) (void)detail::unary(Op::negative, r.result, r.site);
    }
  };
  Log outer;
  Doubling inner;
  {
    const Observing around(outer);
    {
      const Observing within(inner);
      (void)exp(x);
    }
    (void)sin(x);
    std::thread([&] { (void)cos(x); }).join();
  }
  (void)tan(x);
  BOOST_TEST(inner.all() == "exp");
  BOOST_TEST(outer.all() == "negative exp sin");
}

BOOST_AUTO_TEST_CASE(what_an_observer_throws_comes_out) {
  struct Refusing : detail::Observer {
    void recorded(const Recorded& r) override {
      if (r.op == Op::exp) throw std::runtime_error("no exp");
    }
  };
  const Tensor x = value({3});
  Refusing refusing;
  Log outer;
  {
    const Observing around(outer), within(refusing);
    BOOST_CHECK_THROW((void)(exp(x) + 1), std::runtime_error);
    BOOST_TEST((x + 1).to_vector<float>()[2] == 1.5f);
  }
  BOOST_TEST(outer.all() == "constant add");
  BOOST_TEST(!detail::observing);
}

BOOST_AUTO_TEST_CASE(observing_changes_no_program) {
  const Tensor x = value({5, 7});
  const auto f = [&] { return (logsumexp(x * 2 + 1) + full({3}, 2.0f) * 3).to_vector<float>(); };
  const auto expected = f();
  struct Deaf : detail::Observer {  // an observer that keeps handles would keep values, too
    void recorded(const Recorded&) override {}
  } deaf;
  reset_metrics();
  const Observing all(deaf);
  BOOST_TEST(f() == expected);
  BOOST_TEST(metrics().program_misses == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
