// Tests TraceModules: kernels of a trace say which module they are of, and nothing else changes.
#include "lazy/nn/modules/trace_modules.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/graph/node.hpp"
#include "jit/graph/places.hpp"
#include "lazy/insight/insight.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;

namespace {

struct Block : nn::Module {
  nn::Linear inner{32, 64}, outer{64, 32};
  LAZY_MODULE(inner, outer)
  Tensor operator()(const Tensor& x) const { return x + outer(tanh(inner(x))); }
};
struct Net : nn::Module {
  nn::Conv2d conv{1, 4, 3, {.padding = 1}};
  std::vector<Block> blocks;
  nn::Linear head{32, 1};
  Net() : blocks(2) {}
  LAZY_MODULE(conv, blocks, head)
  Tensor operator()(const Tensor& image) const {
    Tensor x = mean(relu(conv(image)), {1, 2});
    for (const Block& b : blocks) x = b(x);
    return head(x);
  }
};

/// Trains for a few steps; returns the losses.
std::vector<float> train(Net& net, bool named) {
  optim::AdamW step(net.parameters(), {.lr = 1e-3});
  std::optional<TraceModules> modules;
  if (named) modules.emplace(net);
  const Tensor images = arange(0, 8 * 8 * 32, 1, float32).reshape({8, 1, 8, 32}) * 1e-3f;
  std::vector<float> losses;
  for (int i = 0; i < 3; ++i) {
    step.zero_grad();
    const Tensor loss = mean(square(net(images) - 1.0f));
    loss.backward();
    step.step();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

/// Returns the purposes of a trace's kernels that say where they belong.
std::set<std::string> places_in(const std::string& trace) {
  std::set<std::string> places;
  const auto parsed = nlohmann::json::parse(std::ifstream(trace));
  for (const auto& e : parsed.at("traceEvents"))
    if (e.value("cat", "") == "kernel" && e.contains("args") && e.at("args").contains("purpose")) {
      const std::string purpose = e.at("args").at("purpose");
      places.insert(std::string(jit::place_of(purpose.c_str())));
    }
  return places;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trace_modules)

BOOST_AUTO_TEST_CASE(places_before_purposes) {
  BOOST_TEST(jit::place_of(nullptr) == "");
  BOOST_TEST(jit::place_of("gradient") == "");
  BOOST_TEST(jit::place_of("in need of nothing") == "");
  BOOST_TEST(jit::place_of("in a.b, forward") == "in a.b, forward");
  BOOST_TEST(jit::place_of("in a.b, update: conv2d: products") == "in a.b, update");
  const char* const placed = jit::in_place("in a.b, backward", "conv2d: products");
  BOOST_TEST(placed == std::string("in a.b, backward: conv2d: products"));
  BOOST_TEST(jit::in_place("in c, forward", placed) == placed);
  BOOST_TEST(jit::without_place(placed) == std::string("conv2d: products"));
  BOOST_TEST(jit::without_place("in a.b, forward") == nullptr);
  BOOST_TEST(jit::without_place("gradient") == std::string("gradient"));
}

BOOST_AUTO_TEST_CASE(what_an_optimizer_computes_is_of_the_update) {
  const lazy::test::Folder folder;
  Net net;
  optim::AdamW step(net.parameters(), {.lr = 1e-3, .weight_decay = 0.1});
  mean(square(net(ones({8, 1, 8, 32})))).backward();
  for (const auto& [name, p] : net.named_parameters()) p->grad().eval();
  cache::clear();
  profile::start(folder / "trace.json");
  {
    const TraceModules named(net);
    step.step();
    for (const auto& [name, p] : net.named_parameters()) p->eval();
  }
  profile::stop();
  const std::set<std::string> places = places_in(folder / "trace.json");
  BOOST_TEST(places.size() >= 5u);
  for (const std::string& place : places) BOOST_TEST((place.empty() || place.ends_with(", update")), place);
}

BOOST_AUTO_TEST_CASE(a_step_of_training) {
  const lazy::test::Folder folder;
  const std::string path = folder / "trace.json";
  random::seed(1);
  Net plain;
  random::seed(1);
  Net net;
  const std::vector<float> expected = train(plain, false);
  cache::clear();  // programs keep the names with which they were recorded first
  profile::start(path);
  const std::vector<float> losses = train(net, true);
  profile::stop();
  BOOST_TEST(losses == expected);
  const std::set<std::string> places = places_in(path);
  for (const char* const module : {"conv", "blocks.0.inner", "blocks.0.outer", "blocks.1.inner", "head"}) {
    const auto any = [&](const char* phase) {
      return std::any_of(places.begin(), places.end(), [&](const std::string& p) {
        return p.starts_with(std::string("in ") + module) && p.ends_with(phase);
      });
    };
    BOOST_TEST(any("update"), module);
  }
  const auto some = [&](const char* phase) {
    return std::count_if(places.begin(), places.end(),
                         [&](const std::string& p) { return p.ends_with(phase); });
  };
  BOOST_TEST(some(", forward") >= 3);
  BOOST_TEST(some(", backward") >= 3);
}

BOOST_AUTO_TEST_CASE(nothing_without_a_trace) {
  Net net;
  const TraceModules named(net);
  const Tensor y = net(zeros({1, 1, 8, 32}).eval() + 1.0f);
  BOOST_TEST((jit::place_of(y.handle()->purpose) == ""));
}

BOOST_AUTO_TEST_SUITE_END()
