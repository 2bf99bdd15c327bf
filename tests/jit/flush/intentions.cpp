// Tests intentions: calls that say what is meant, which a flush expands into ops, with some that only this
// test has.
#include <thread>

#include "jit/calls/call.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "lazy/insight/insight.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/common/fresh.hpp"
#include "tests/common/log_lines.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;
using jit::CallDefinition;
using jit::CallOutput;
using jit::CallSpec;
using jit::Expanding;
using jit::Handle;
using jit::Meta;

namespace {

std::atomic<int> expansions{0};
enum class Fails { no, throws, wrong_shape, evaluates } fails = Fails::no;

std::vector<CallOutput> infer_four(const CallSpec&, std::span<const Meta> m) {
  std::vector<CallOutput> all;
  for (int i = 0; i < 4; ++i) all.push_back(CallOutput::like(0, m[0], m[0].dtype));
  return all;
}
/// Gives exp(x), the operand itself, a value that the next one reads, and exp(x) + 1 of it.
std::vector<Handle> expand_four(const Expanding& e) {
  ++expansions;
  const Handle& x = e[0];
  const auto unary = [&](jit::Op op, const Handle& h) { return detail::unary(op, h, e.site); };
  const Handle y = unary(jit::Op::exp, x), less = unary(jit::Op::negative, y);
  if (fails == Fails::throws) throw ShapeError("four: refused", e.site);
  if (fails == Fails::wrong_shape) return {y, detail::reshape(x, {1, numel(x->shape)}, e.site), less, y};
  if (fails == Fails::evaluates) (void)Tensor(y).to_vector<float>(e.site);
  return {y, x, less, detail::binary("four", jit::Op::add, y, less, e.site)};
}
constinit const CallDefinition four{
    .name = "test.four", .traits = jit::call_trait::kNoThrow, .infer = infer_four, .expand = expand_four};

/// Gives the same value twice, a constant, and what another intention gives.
std::vector<Handle> expand_nested(const Expanding& e) {
  const Handle y = detail::unary(jit::Op::sqrt, e[0], e.site);
  const std::vector<Handle> inner =
      detail::record_call(jit::intern_call(four, std::string_view()), std::vector{&y}, e.site);
  return {inner[0], inner[0], detail::constant(7.0, e[0]->dtype, e[0]->shape, e.site), inner[3]};
}
constinit const CallDefinition nested{
    .name = "test.nested", .traits = jit::call_trait::kNoThrow, .infer = infer_four, .expand = expand_nested};

std::vector<Handle> twice_the_gradient(const jit::CallGradients& g) {
  return {detail::binary("four", jit::Op::add, g.gradients[0], g.gradients[0], g.site)};
}
constinit const CallDefinition with_derivative{.name = "test.with_derivative",
                                               .traits = jit::call_trait::kNoThrow,
                                               .infer = infer_four,
                                               .expand = expand_four,
                                               .vjp = twice_the_gradient};

std::vector<Tensor> call(const CallDefinition& d, const Tensor& x, Site s = Site::current()) {
  std::vector<Tensor> out;
  for (Handle& h : detail::record_call(jit::intern_call(d, std::string_view()), std::vector{&x.handle()}, s))
    out.emplace_back(std::move(h));
  return out;
}
std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

struct Intentions : fresh::Fixture {
  Intentions() { expansions = 0, fails = Fails::no; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(intentions, Intentions)

BOOST_AUTO_TEST_CASE(outputs_are_what_the_ops_would_give) {
  const Tensor x = numbers({37}), a = x * 0.5;
  const std::vector<Tensor> all = call(four, a);
  BOOST_TEST(expansions == 0);  // nothing was asked for yet
  const Tensor more = all[3] - all[2];
  BOOST_TEST(floats(more) == floats(exp(x * 0.5)), boost::test_tools::per_element());
  BOOST_TEST(expansions == 1);
  BOOST_TEST(floats(all[0]) == floats(exp(x * 0.5)), boost::test_tools::per_element());
  BOOST_TEST(floats(all[1]) == floats(x * 0.5), boost::test_tools::per_element());
  BOOST_TEST(floats(all[2]) == floats(-exp(x * 0.5)), boost::test_tools::per_element());
  BOOST_TEST(floats(all[3]) == std::vector<float>(37, 0), boost::test_tools::per_element());
  BOOST_TEST(expansions == 1);
}

BOOST_AUTO_TEST_CASE(one_output_alone) {
  for (size_t i = 0; i < 4; ++i) {
    const Tensor x = numbers({8});
    const Tensor y = call(four, x)[i];
    const Tensor expected[] = {exp(x), x, -exp(x), zeros_like(x)};
    BOOST_TEST(floats(y) == floats(expected[i]), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_intention_that_nobody_reads_is_not_expanded) {
  Tensor y;
  {
    const Tensor x = numbers({8});
    y = x + 1;
    (void)call(four, y);
  }
  (void)floats(y);
  BOOST_TEST(expansions == 0);
}

BOOST_AUTO_TEST_CASE(an_expansion_has_intentions_constants_and_one_value_twice) {
  const Tensor x = asarray(std::vector<float>{0, 1, 4, 9});
  const std::vector<Tensor> all = call(nested, x);
  const Tensor total = all[0] + all[1] + all[2] + all[3];
  BOOST_TEST(floats(total) == floats(exp(sqrt(x)) + exp(sqrt(x)) + 7), boost::test_tools::per_element());
  BOOST_TEST(floats(all[1]) == floats(exp(sqrt(x))), boost::test_tools::per_element());
  BOOST_TEST(floats(all[2]) == std::vector<float>(4, 7), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_same_bits_at_once) {
  const Tensor x = numbers({100});
  const auto run = [&] {
    const std::vector<Tensor> a = call(nested, x), b = call(four, a[0]);
    return floats(b[0] + a[3] * b[1]);
  };
  const std::vector<float> deferred = run();
  const Override eager("LAZY_EAGER", "1");
  BOOST_TEST(run() == deferred, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_program_serves_all_sizes) {
  std::vector<Tensor> inputs;
  for (const int64_t n : {5, 6, 7, 1000}) inputs.push_back(numbers({n}).eval());
  const uint64_t before = metrics().program_misses;
  for (const Tensor& x : inputs) (void)floats(call(four, x)[0]);
  BOOST_TEST(metrics().program_misses - before == 1u);
}

BOOST_AUTO_TEST_CASE(an_expansion_that_fails_leaves_all_as_it_was) {
  const Tensor x = numbers({16}), a = x + 1;
  const std::vector<Tensor> all = call(four, call(four, a)[0]);
  const Tensor z = all[0] * 2 + (all[1] - all[1]);
  for (const Fails how : {Fails::throws, Fails::wrong_shape, Fails::evaluates}) {
    fails = how;
    BOOST_CHECK_THROW((void)floats(z), Error);
  }
  fails = Fails::no;
  BOOST_TEST(floats(z) == floats(exp(exp(x + 1)) * 2), boost::test_tools::per_element());
  BOOST_TEST(floats(all[1]) == floats(exp(x + 1)), boost::test_tools::per_element());
  BOOST_TEST(floats(a) == floats(x + 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_second_of_two_expansions_fails) {
  const Tensor x = numbers({16});
  const Tensor first = call(nested, x)[0], second = call(four, first + 1)[0];
  fails = Fails::throws;  // the inner one of the first
  BOOST_CHECK_THROW((void)floats(second), ShapeError);
  fails = Fails::no;
  BOOST_TEST(floats(second) == floats(exp(exp(sqrt(x)) + 1)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(another_thread_asks) {
  const Tensor x = numbers({16}), y = call(nested, x)[0] + call(four, x)[2];
  std::vector<float> there;
  std::thread([&] { there = floats(y); }).join();
  BOOST_TEST(there == floats(exp(sqrt(x)) - exp(x)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(accuracy_is_that_of_where_it_was_recorded) {
  const Tensor x = numbers({64});
  const auto in_fast = [&](auto&& f) {
    const accuracy_scope scope(jit::Accuracy::fast);
    return f();
  };
  const Tensor y = in_fast([&] { return call(four, x)[0]; }), direct = in_fast([&] { return exp(x); });
  BOOST_TEST(floats(y) == floats(direct), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_derivative_gradients_go_by_the_ops) {
  Tensor x = numbers({9});
  x.requires_grad_();
  sum(call(nested, x)[0]).backward();
  Tensor expected = numbers({9});
  expected.requires_grad_();
  sum(exp(sqrt(expected))).backward();
  BOOST_TEST(floats(x.grad()) == floats(expected.grad()), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_derivative_is_taken_in_place_of_the_ops) {
  Tensor x = numbers({9});
  x.requires_grad_();
  const Tensor y = call(with_derivative, x)[0];
  sum(y).backward();
  BOOST_TEST(floats(x.grad()) == std::vector<float>(9, 2), boost::test_tools::per_element());
  BOOST_TEST(floats(y) == floats(exp(x.detach())), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_input_that_dies_is_overwritten) {
  const auto run = [](auto&& f) {
    Tensor x = numbers({1 << 16}).eval();
    const uint64_t before = metrics().bytes_donated;
    x = f(std::move(x));
    x.eval();
    return metrics().bytes_donated - before;
  };
  const uint64_t by_ops = run([](Tensor x) { return exp(std::move(x)); });
  BOOST_TEST(by_ops > 0u);
  BOOST_TEST(run([](Tensor x) { return call(four, std::move(x))[0]; }) == by_ops);
}

// What a node says of its layout goes on through views that were recorded before it was expanded: a product
// goes by that, and sums in the same order.
BOOST_AUTO_TEST_CASE(views_of_outputs_know_how_they_lie) {
  const Tensor image = numbers({2, 3, 20, 20}), w = numbers({5, 3, 3, 3}), v = numbers({5});
  const auto run = [&] {
    const Tensor y = conv2d(image, w), rows = reshape(permute_dims(y, {0, 2, 3, 1}), {2 * 18 * 18, 5});
    return floats(matmul(rows, v));
  };
  const std::vector<float> deferred = run();
  const Override eager("LAZY_EAGER", "1");
  BOOST_TEST(run() == deferred, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_meant_is_one_node) {
  const auto nodes = [](auto&& f) {
    const uint64_t before = metrics().nodes_recorded;
    const Tensor y = f();
    return metrics().nodes_recorded - before;
  };
  const Tensor image = numbers({2, 3, 12, 12}).eval(), w = numbers({4, 3, 3, 3}).eval(),
               q = numbers({2, 3, 36, 4}).eval(), c = numbers({3}).eval(), m = numbers({5, 12}).eval();
  BOOST_TEST(nodes([&] { return conv2d(image, w, {.padding = 1}); }) == 1u);
  BOOST_TEST(nodes([&] { return scaled_dot_product_attention(q, q, q, {}, true); }) == 1u);
  BOOST_TEST(nodes([&] { return linear(image, m); }) == 1u);
  BOOST_TEST(nodes([&] { return batch_norm(image, c, c, c, c); }) == 1u);
}

BOOST_AUTO_TEST_CASE(ops_of_an_expansion_have_its_name) {
  const Override detail("LAZY_LOG", "fusion+");
  const fresh::LogLines log;
  (void)floats(call(four, numbers({8}))[2]);
  BOOST_TEST(fresh::contains(log.text(), "(test.four)"), log.text());
}

BOOST_AUTO_TEST_SUITE_END()
