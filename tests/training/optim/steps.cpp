// Tests what every step promises: one flush, no compile from the third on, no memory beyond parameters,
// gradients and state; what is skipped; saving and going on; errors.
#include <cstdio>

#include "tests/common/folder.hpp"
#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

/// Is a network of two layers.
struct Net {
  Parameter w1{wave({8, 32}, 1.7) * 0.3}, b1{wave({32}, 0.3)}, w2{wave({32, 4}, 0.9) * 0.2},
      b2{wave({4}, 0.1)};
  std::vector<std::pair<std::string, ParameterRef>> named_parameters() {
    return {{"w1", w1.ref()}, {"b1", b1.ref()}, {"w2", w2.ref()}, {"b2", b2.ref()}};
  }
  Tensor loss(int64_t n) const {
    const Tensor x = wave({n, 8}, 0.11);
    return mean(square(matmul(tanh(matmul(x, w1) + b1), w2) + b2 - x(_, slice(0, 4))));
  }
};

std::vector<float> all_values(const Net& m) {
  std::vector<float> all;
  for (const Parameter* p : {&m.w1, &m.b1, &m.w2, &m.b2})
    for (float v : p->to_vector<float>()) all.push_back(v);
  return all;
}

/// Returns how many tensors of n elements there are.
uint64_t of_shape(const NamedTensors& all, int64_t n) {
  uint64_t count = 0;
  for (const auto& [name, value] : all) count += value.size() == n;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optim_steps)

// Forward, backward, clipping, update and average; the rate changes each step, the batch is a smaller one at
// times.
BOOST_AUTO_TEST_CASE(one_flush_one_program) {
  for (const auto& [name, make] : golden::optimizers()) BOOST_TEST_CONTEXT(name) {
      Net net, average;
      const auto o = make(net.named_parameters());
      o->set_lr(name == "Adadelta" ? 1 : 0.01);
      lr_scheduler::CosineAnnealingWarmRestarts schedule(*o, 7);
      uint64_t misses = 0;
      float first = 0, last = 0;
      for (int i = 0; i < 25; ++i) {
        const Tensor batch = wave({i % 5 == 4 ? 17 : 64, 8}, 0.11);
        const uint64_t flushes = metrics().flushes;
        o->zero_grad();
        const Tensor loss = mean(
            square(matmul(tanh(matmul(batch, net.w1) + net.b1), net.w2) + net.b2 - batch(_, slice(0, 4))));
        loss.backward();
        const Tensor norm = clip_grad_norm_(net.named_parameters(), 1);
        {
          const no_flush only_records;
          o->step();
          update_averages(average.named_parameters(), net.named_parameters(), i == 0 ? 1 : 0.1);
          schedule.step();
        }
        last = loss.item<float>();
        BOOST_TEST(norm.item<float>() > 0);
        BOOST_TEST(metrics().flushes == flushes + 1);
        if (i == 0) first = last;
        if (i == 2) misses = metrics().program_misses;
      }
      BOOST_TEST(metrics().program_misses == misses);
      BOOST_TEST(last < first);
    }
}

// A step takes no memory but for gradients: parameters and state are written where they were.
BOOST_AUTO_TEST_CASE(memory) {
  for (const auto& [name, make] : golden::optimizers()) BOOST_TEST_CONTEXT(name) {
      constexpr int64_t n = 1 << 20;
      constexpr uint64_t bytes = n * 4;
      Parameter p(wave({n}, 0.1));
      const auto o = make(p);
      uint64_t before = 0;
      for (int i = 0; i < 4; ++i) {
        p.set_grad(wave({n}, 0.3));
        o->step();
        reset_metrics();
        before = metrics().bytes_live;
        p.eval();
        p.zero_grad();
      }
      const uint64_t between =
          name == "LAMB" ? bytes : 0;  // the step, whose norm is needed before it is made
      BOOST_TEST(metrics().bytes_peak <= before + between + bytes / 8);
      BOOST_TEST(metrics().bytes_donated >= bytes * (1 + of_shape(o->state_dict(), n)));
    }
}

// All parameters have one compiled kernel, and after the norm each is read and written in one.
BOOST_AUTO_TEST_CASE(many_parameters) {
  std::vector<Parameter> p, average;
  for (int64_t i = 0; i < 80; ++i) p.emplace_back(wave({2 + i * 7}, 0.1)), average.emplace_back(p.back());
  Adam o(p);
  const auto step = [&](bool clipped) {
    for (Parameter& x : p) x.set_grad(wave(x.shape(), 0.3));
    const Metrics before = metrics();
    if (clipped) clip_grad_norm_(p, 1);
    o.step();
    if (clipped) update_averages(average, p, 0.1);
    std::vector<Tensor> all(p.begin(), p.end());
    all.insert(all.end(), average.begin(), average.end());
    eval(all);
    Metrics after = metrics();
    BOOST_TEST(after.flushes == before.flushes + 1);
    after.launches -= before.launches, after.kernels_compiled -= before.kernels_compiled;
    after.program_misses -= before.program_misses;
    return after;
  };
  cache::clear();
  step(false);
  const Metrics second = step(false), third = step(false);
  BOOST_TEST(second.kernels_compiled == 1u);
  BOOST_TEST(third.launches == 80u);
  BOOST_TEST(third.program_misses == 0u);
  step(true);
  const Metrics clipped = step(true);
  BOOST_TEST(clipped.program_misses == 0u);
  BOOST_TEST(clipped.launches <= 80u * 2 + 4);
}

// A parameter without a gradient keeps its value and its state.
BOOST_AUTO_TEST_CASE(without_gradient) {
  Parameter a(ones({2})), b(ones({2}));
  Adam o({a, b}, {.lr = 0.5, .weight_decay = 1});
  a.set_grad(ones({2}));
  o.step();
  check::equal(b, float32, {2}, {1, 1});
  BOOST_TEST(!o.state_dict().contains("state.1.step"));
  BOOST_TEST(a.to_vector<float>()[0] != 1.0f);
  o.zero_grad();
  const std::vector<float> before = a.to_vector<float>();
  o.step();
  BOOST_TEST(a.to_vector<float>() == before);
  b.set_grad(zeros({2}));  // no gradient is not zeros: weight decay moves it
  o.step();
  BOOST_TEST(b.to_vector<float>()[0] != 1.0f);
  BOOST_TEST(o.state_dict().at("state.1.step").item<int64_t>() == 1);
  // torch writes the number of steps as a float.
  NamedTensors torch_s = o.state_dict();
  torch_s.set("state.0.step", tensor(7.0f));
  o.load_state_dict(torch_s);
  BOOST_TEST(o.state_dict().at("state.0.step").item<int64_t>() == 7);
}

BOOST_AUTO_TEST_CASE(groups) {
  Parameter a(ones({2})), b(ones({2}));
  SGD o(a, {.lr = 0.5});
  o.add_param_group(b, {.lr = 0.25, .maximize = true});
  BOOST_TEST(o.size() == 2u);
  a.set_grad(ones({2}));
  b.set_grad(ones({2}));
  o.step();
  check::equal(a, float32, {2}, {0.5, 0.5});
  check::equal(b, float32, {2}, {1.25, 1.25});
  o.param_groups()[0].lr = 1;
  o.set_lr(2, 1);
  o.step();
  check::equal(a, float32, {2}, {-0.5, -0.5});
  check::equal(b, float32, {2}, {3.25, 3.25});
  AdamW w(a);
  BOOST_TEST(w.param_groups()[0].weight_decay == 0.01);
  w.add_param_group(b, {.weight_decay = 0});
  BOOST_TEST(w.param_groups()[1].weight_decay == 0);
  BOOST_TEST(w.param_groups()[1].decoupled_weight_decay);
}

// Parameters may be listed in several ways.
BOOST_AUTO_TEST_CASE(lists) {
  Parameter a(ones({2})), b(ones({2}));
  std::vector<Parameter> owned{Parameter(a), Parameter(b)};
  std::vector<Parameter*> pointers{&a, &b};
  std::vector<ParameterRef> references{a.ref(), b.ref()};
  const std::vector<std::pair<std::string, ParameterRef>> named{{"a", a.ref()}, {"b", b.ref()}};
  for (const ParameterList& l : {ParameterList{a, b}, ParameterList(owned), ParameterList(pointers),
                                 ParameterList(references), ParameterList(named), ParameterList{&a, &b}})
    BOOST_TEST(l.size() == 2u);
  BOOST_TEST(ParameterList(a).size() == 1u);
  BOOST_TEST(ParameterList(named)[1].name == "b");
  // A parameter that is moved is the same one.
  SGD o(owned, {.lr = 1});
  const std::vector<Parameter> moved = std::move(owned);
  const_cast<Parameter&>(moved[0]).set_grad(ones({2}));
  o.step();
  check::equal(moved[0], float32, {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(closures) {
  Parameter a(ones({2}));
  SGD o(a, {.lr = 0.5});
  const Tensor loss = o.step([&] {
    o.zero_grad();
    const Tensor l = sum(a * a);
    l.backward();
    return l;
  });
  BOOST_TEST(loss.item<float>() == 2);
  check::equal(a, float32, {2}, {0, 0});
}

// Saved in the middle, loaded into new objects: the same bits as without.
BOOST_AUTO_TEST_CASE(going_on) {
  const test::Folder folder;
  for (const auto& [name, make] : golden::optimizers()) BOOST_TEST_CONTEXT(name) {
      Net whole, net;
      const auto straight = make(whole.named_parameters());
      auto o = make(net.named_parameters());
      const auto train = [](Net& m, Optimizer& by) {
        by.zero_grad();
        m.loss(16).backward();
        by.step();
        eval(m.w1, m.b1, m.w2, m.b2);
      };
      for (int i = 0; i < 8; ++i) {
        if (i == 4) {
          const std::string file = folder / "optimizer.safetensors";
          save_safetensors(file, o->state_dict());
          o = make(net.named_parameters());
          o->load_state_dict(load_safetensors(file));
        }
        train(whole, *straight);
        train(net, *o);
      }
      BOOST_TEST(all_values(whole) == all_values(net));
    }
}

BOOST_AUTO_TEST_CASE(errors) {
  Parameter a(ones({2})), b(ones({3}));
  THROWS(Error, SGD(a, {.lr = -1}), "SGD: lr is -1.000000, not in [0, inf)");
  THROWS(Error, SGD(a, {.lr = check::NaN}), "SGD: lr is nan, not in [0, inf)");
  THROWS(Error, SGD(a, {.nesterov = true}), "SGD: nesterov needs a momentum above 0 and a dampening of 0");
  THROWS(Error, Adam(a, {.betas = {0.9, 1}}), "Adam: betas.1 is 1.000000, not in [0, 1.000000)");
  THROWS(Error, AdamW(a, {.eps = -1}), "AdamW: eps is -1.000000, not in [0, inf)");
  THROWS(Error, NAdam(a, {.momentum_decay = -1}), "NAdam: momentum_decay is -1.000000, not in [0, inf)");
  THROWS(Error, RAdam(a, {.weight_decay = -1}), "RAdam: weight_decay is -1.000000, not in [0, inf)");
  THROWS(Error, Adamax(a, {.lr = -1}), "Adamax: lr is -1.000000, not in [0, inf)");
  THROWS(Error, LAMB(a, {.lr = -1}), "LAMB: lr is -1.000000, not in [0, inf)");
  THROWS(Error, Lion(a, {.betas = {-1, 0}}), "Lion: betas.0 is -1.000000, not in [0, 1.000000)");
  THROWS(Error, RMSprop(a, {.alpha = -1}), "RMSprop: alpha is -1.000000, not in [0, inf)");
  THROWS(Error, Adagrad(a, {.lr_decay = -1}), "Adagrad: lr_decay is -1.000000, not in [0, inf)");
  THROWS(Error, Adadelta(a, {.rho = 2}), "Adadelta: rho is 2.000000, not in [0, 1]");
  THROWS(Error, SGD({a, a}), "SGD: parameter 1 is there twice");
  THROWS(Error, SGD({static_cast<Parameter*>(nullptr)}), "SGD: parameter 0 holds nothing");
  Parameter none;
  THROWS(Error, SGD({a, none}), "SGD: parameter 1 holds nothing");
  SGD o(a, {.momentum = 0.9});
  THROWS(Error, o.add_param_group(a, {}), "SGD: parameter 1 is there twice");
  THROWS(IndexError, o.lr(1), "SGD: there is no group 1 of 1");
  THROWS(IndexError, o.set_option("betas", 1), "SGD: there is no option betas");
  THROWS(Error, o.set_lr(-1), "SGD: lr is -1.000000, not in [0, inf)");
  BOOST_TEST(o.lr() == 1e-3);
  NamedTensors state = o.state_dict();
  state.set("state.7.step", tensor(1));
  THROWS(Error, o.load_state_dict(state),
         "SGD: load_state_dict: state.7.step belongs to no parameter or group");
  THROWS(Error, o.load_state_dict({}), "SGD: load_state_dict: there is no param_groups.0.lr");
  a.set_grad(ones({2}));
  o.step();
  state = o.state_dict();
  state.set("state.0.momentum_buffer", ones({3}));
  THROWS(ShapeError, o.load_state_dict(state),
         "SGD: load_state_dict: state.0.momentum_buffer has shape [3], the parameter [2]");
  state = o.state_dict();
  state.set("param_groups.0.lr", tensor(-1.0));
  THROWS(Error, o.load_state_dict(state), "SGD: lr is -1.000000, not in [0, inf)");
  BOOST_TEST(o.lr() == 1e-3);
  auto gone = std::make_unique<Parameter>(ones({2}));
  SGD of_gone(*gone);
  gone.reset();
  THROWS(Error, of_gone.step(), "SGD: parameter 0 was destroyed");
}

BOOST_AUTO_TEST_SUITE_END()
