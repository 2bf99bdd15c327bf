// Compares the schedules with torch's over 50 steps, and saves and loads them on the way.
#include <cmath>

#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;
using namespace lazy::optim::lr_scheduler;

namespace {

/// Holds a schedule, and those it is made of.
struct Made {
  std::vector<std::unique_ptr<LRScheduler>> parts;
  LRScheduler& whole() { return *parts.back(); }
  template <class S, class... A>
  LRScheduler* add(A&&... a) {
    parts.push_back(std::make_unique<S>(std::forward<A>(a)...));
    return parts.back().get();
  }
};

std::vector<int64_t> integers(const std::string& s) {
  std::vector<int64_t> all;
  for (const std::string& w : golden::words(s, ',')) all.push_back(std::stoll(w));
  return all;
}

void add_cycles(Made& m, Optimizer& o, const golden::Line& l) {
  if (l.name == "OneCycleLR") {
    OneCycleOptions c{.max_lr = {l.number("max_lr", 0)}, .total_steps = l.integer("total_steps", 0)};
    c.pct_start = l.number("pct_start", c.pct_start);
    if (l.option("anneal_strategy", "cos") == "linear") c.anneal_strategy = Annealing::linear;
    c.div_factor = l.number("div_factor", c.div_factor);
    c.final_div_factor = l.number("final_div_factor", c.final_div_factor);
    c.three_phase = l.number("three_phase", 0) != 0;
    m.add<OneCycleLR>(o, c);
  } else if (l.name == "CyclicLR") {
    CyclicOptions c{.base_lr = {l.number("base_lr", 0)}, .max_lr = {l.number("max_lr", 0)}};
    c.step_size_up = l.integer("step_size_up", 0), c.step_size_down = l.integer("step_size_down", 0);
    if (l.option("mode", "") == "triangular2") c.mode = Cycle::triangular2;
    if (l.option("mode", "") == "exp_range") c.mode = Cycle::exp_range;
    c.gamma = l.number("gamma", 1);
    m.add<CyclicLR>(o, c);
  }
}

void add_composed(Made& m, Optimizer& o, const golden::Line& l) {
  using Parts = std::vector<LRScheduler*>;
  if (l.name == "WarmUp") {
    LRScheduler* const a = m.add<LinearLR>(o, 0.01, 1.0, 8);
    LRScheduler* const b = m.add<CosineAnnealingLR>(o, 42);
    m.add<SequentialLR>(o, Parts{a, b}, std::vector<int64_t>{8});
  } else if (l.name == "ThreeInTurn") {
    LRScheduler* const a = m.add<ConstantLR>(o, 0.1, 20);
    LRScheduler* const b = m.add<ExponentialLR>(o, 0.9);
    LRScheduler* const c = m.add<CosineAnnealingWarmRestarts>(o, 6);
    m.add<SequentialLR>(o, Parts{a, b, c}, std::vector<int64_t>{5, 20});
  } else if (l.name == "OneAfterOther") {
    LRScheduler* const a = m.add<ConstantLR>(o, 0.1, 5);
    LRScheduler* const b = m.add<ExponentialLR>(o, 0.95);
    LRScheduler* const c = m.add<StepLR>(o, 20);
    m.add<ChainedScheduler>(Parts{a, b, c});
  }
}

Made made(Optimizer& o, const golden::Line& l) {
  Made m;
  const auto n = [&](const char* key, double otherwise) { return l.number(key, otherwise); };
  if (l.name == "StepLR") m.add<StepLR>(o, l.integer("step_size", 0), n("gamma", 0.1));
  else if (l.name == "MultiStepLR")
    m.add<MultiStepLR>(o, integers(l.option("milestones", "")), n("gamma", 0.1));
  else if (l.name == "ExponentialLR") m.add<ExponentialLR>(o, n("gamma", 0));
  else if (l.name == "ConstantLR") m.add<ConstantLR>(o, n("factor", 1.0 / 3), l.integer("total_iters", 5));
  else if (l.name == "LinearLR")
    m.add<LinearLR>(o, n("start_factor", 1.0 / 3), n("end_factor", 1), l.integer("total_iters", 5));
  else if (l.name == "PolynomialLR") m.add<PolynomialLR>(o, l.integer("total_iters", 5), n("power", 1));
  else if (l.name == "CosineAnnealingLR") m.add<CosineAnnealingLR>(o, l.integer("T_max", 0), n("eta_min", 0));
  else if (l.name == "CosineAnnealingWarmRestarts")
    m.add<CosineAnnealingWarmRestarts>(o, l.integer("T_0", 0), l.integer("T_mult", 1), n("eta_min", 0));
  else if (l.name == "LambdaLR")
    m.add<LambdaLR>(o, [](int64_t e) { return std::pow(0.95, static_cast<double>(e)); });
  else if (l.name == "MultiplicativeLR")
    m.add<MultiplicativeLR>(o, [](int64_t e) { return 1 - 0.1 / (1 + static_cast<double>(e)); });
  add_cycles(m, o, l);
  add_composed(m, o, l);
  BOOST_REQUIRE(!m.parts.empty());
  return m;
}

std::unique_ptr<Optimizer> optimizer_for(Parameter& p, const golden::Line& l) {
  if (l.option("of", "") == "betas") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.5});
  return std::make_unique<SGD>(p, SGDOptions{.lr = 0.5, .momentum = 0.9});
}

/// Checks rates and momenta over all steps. At step `reload` everything is saved and goes on in new objects.
void follow(const golden::Line& l, size_t reload) {
  Parameter p(zeros({1}));
  std::unique_ptr<Optimizer> o = optimizer_for(p, l);
  std::optional<Made> m = made(*o, l);
  const std::vector<double>& rates = l.fields[0];
  for (size_t i = 0; i < rates.size(); ++i) {
    if (i > 0) m->whole().step();
    if (i == reload) {
      const NamedTensors of_optimizer = o->state_dict(), of_schedule = m->whole().state_dict();
      m.reset();
      o = optimizer_for(p, l);
      m = made(*o, l);
      o->load_state_dict(of_optimizer);
      m->whole().load_state_dict(of_schedule);
    }
    golden::close(m->whole().get_last_lr(), {rates[i]}, 1e-12);
    if (l.fields.size() < 2) continue;
    const char* const momentum = o->has_option("momentum") ? "momentum" : "betas.0";
    golden::close({o->option(momentum)}, {l.fields[1][i]}, 1e-12);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optim_schedules)

BOOST_AUTO_TEST_CASE(as_torch) {
  std::vector<double> metrics;
  size_t cases = 0;
  for (const golden::Line& l : golden::lines("schedules")) BOOST_TEST_CONTEXT(l.text) {
      if (l.name == "metrics") metrics = l.fields[0];
      if (l.name == "metrics" || l.name == "ReduceLROnPlateau") continue;
      follow(l, 1000);
      follow(l, 13);
      follow(l, 0);
      ++cases;
    }
  BOOST_TEST(cases > 25u);
}

BOOST_AUTO_TEST_CASE(plateaus) {
  std::vector<double> metrics;
  for (const golden::Line& l : golden::lines("schedules")) BOOST_TEST_CONTEXT(l.text) {
      if (l.name == "metrics") metrics = l.fields[0];
      if (l.name != "ReduceLROnPlateau") continue;
      PlateauOptions options{.patience = l.integer("patience", 10), .cooldown = l.integer("cooldown", 0)};
      options.factor = l.number("factor", 0.1);
      options.threshold = l.number("threshold", 1e-4);
      options.min_lr = {l.number("min_lr", 0)};
      if (l.option("mode", "") == "max") options.mode = PlateauOptions::Mode::max;
      if (l.option("threshold_mode", "") == "abs") options.threshold_mode = PlateauOptions::Threshold::abs;
      Parameter p(zeros({1}));
      SGD o(p, {.lr = 0.5});
      ReduceLROnPlateau first(o, options), second(o, options);
      for (size_t i = 0; i < metrics.size(); ++i) {
        if (i == 20) second.load_state_dict(first.state_dict());
        (i < 20 ? first : second).step(metrics[i]);
        golden::close(second.get_last_lr(), {l.fields[0][i + 1]}, 1e-12);
      }
    }
}

// Each group has its own base rate.
BOOST_AUTO_TEST_CASE(groups) {
  Parameter a(zeros({1})), b(zeros({1}));
  SGD o(a, {.lr = 1});
  o.add_param_group(b, {.lr = 0.1});
  ExponentialLR e(o, 0.5);
  e.step();
  e.step();
  BOOST_TEST(o.lr(0) == 0.25);
  BOOST_TEST(o.lr(1) == 0.025);
  LambdaLR each(o, {[](int64_t) { return 2.0; }, [](int64_t) { return 3.0; }});
  BOOST_TEST(o.lr(0) == 2);
  BOOST_TEST(o.lr(1) == 0.1 * 3);
  o.add_param_group({}, {});
  THROWS(Error, e.step(), "ExponentialLR: the optimizer has 3 groups now, 2 when the schedule was made");
}

BOOST_AUTO_TEST_CASE(errors) {
  Parameter p(zeros({1}));
  SGD o(p, {.lr = 1}), other(p, {.lr = 1});
  Adagrad plain(p);
  THROWS(Error, StepLR(o, 0), "StepLR: step_size is 0, not >= 1");
  THROWS(Error, ConstantLR(o, 2), "ConstantLR: factor is 2.000000, not in [0, 1]");
  THROWS(Error, LinearLR(o, 0), "LinearLR: start_factor is 0.000000, not in (0, 1]");
  THROWS(Error, LinearLR(o, 1, 2), "LinearLR: end_factor is 2.000000, not in [0, 1]");
  THROWS(Error, PolynomialLR(o, 0), "PolynomialLR: total_iters is 0, not >= 1");
  THROWS(Error, CosineAnnealingLR(o, 0), "CosineAnnealingLR: T_max is 0, not >= 1");
  THROWS(Error, CosineAnnealingWarmRestarts(o, 0), "CosineAnnealingWarmRestarts: T_0 is 0, not >= 1");
  THROWS(Error, CosineAnnealingWarmRestarts(o, 1, 0), "CosineAnnealingWarmRestarts: T_mult is 0, not >= 1");
  THROWS(Error, OneCycleLR(o, 1, 0),
         "OneCycleLR: total_steps is 0, not >= 1: give it, or epochs and steps_per_epoch");
  THROWS(Error, OneCycleLR(plain, 1, 5),
         "OneCycleLR: cycle_momentum needs an optimizer with a momentum or betas, not Adagrad");
  THROWS(Error, CyclicLR(o, {.base_lr = {1, 2}, .max_lr = {1}}),
         "CyclicLR: base_lr has 2 numbers for 1 groups");
  THROWS(Error, LambdaLR(o, std::vector<Lambda>{}), "LambdaLR: lr_lambda has 0 numbers for 1 groups");
  ExponentialLR e(o, 0.5), f(other, 0.5);
  THROWS(Error, SequentialLR(o, {&e}, {3}),
         "SequentialLR: 1 schedules need a milestone between any two, not 1");
  THROWS(Error, SequentialLR(o, {&e, &f}, {3}), "SequentialLR: a schedule is of another optimizer");
  THROWS(Error, ChainedScheduler({}), "ChainedScheduler: there are no schedules");
  THROWS(Error, ChainedScheduler({&e, &f}), "ChainedScheduler: a schedule is of another optimizer");
  THROWS(Error, e.load_state_dict({}), "ExponentialLR: load_state_dict: there is no last_epoch");
  THROWS(Error, ReduceLROnPlateau(o, {.factor = 1}), "ReduceLROnPlateau: factor is 1.000000, not in [0, 1)");
}

BOOST_AUTO_TEST_SUITE_END()
