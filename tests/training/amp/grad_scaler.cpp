// Tests GradScaler against torch's (tests/golden/make_grad_scaler.py), and what it promises beside: one
// flush a step, steps that are skipped leave no trace, nothing is read.
#include "lazy/amp/grad_scaler.hpp"

#include "lazy/amp/autocast.hpp"
#include "lazy/io/safetensors.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/common/folder.hpp"
#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

const float kInfinity = std::numeric_limits<float>::infinity();

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

std::unique_ptr<Optimizer> as_in_file(const std::string& name, const ParameterList& p) {
  if (name == "SGD")
    return std::make_unique<SGD>(p, SGDOptions{.lr = 0.125, .momentum = 0.5, .dampening = 0.25});
  if (name == "Adam") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.125});
  if (name == "NAdam") return std::make_unique<NAdam>(p, NAdamOptions{.lr = 0.125});
  if (name == "RAdam") return std::make_unique<RAdam>(p, RAdamOptions{.lr = 0.125});
  return std::make_unique<Adagrad>(
      p, AdagradOptions{.lr = 0.125, .lr_decay = 0.5, .initial_accumulator_value = 0.25});
}

/// Is a step by the squares of the weights, infinite ones if `finite` is not 1.
Tensor step(GradScaler& scaler, Optimizer& o, const Parameter& w, float finite = 1) {
  o.zero_grad();
  const Tensor loss = sum(w * w) * full({}, finite == 1 ? 1.0f : kInfinity).eval();
  scaler.scale(loss).backward();
  scaler.step(o);
  scaler.update();
  return loss;
}

const std::initializer_list<std::pair<DType, DType>> kParameterTypes = {
    {float32, float32}, {float64, float64}, {bfloat16, float32}, {float16, float32}};

/// Returns optimizers that differ in what their steps are computed from.
std::map<std::string, golden::Make> all_optimizers() {
  std::map<std::string, golden::Make> all = golden::optimizers();
  all["SGD with momentum"] = [](const ParameterList& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<SGD>(p, SGDOptions{.momentum = 0.5, .dampening = 0.25});
  };
  all["RMSprop, centered"] = [](const ParameterList& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<RMSprop>(p, RMSpropOptions{.momentum = 0.5, .centered = true});
  };
  all["Adam, amsgrad"] = [](const ParameterList& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Adam>(p, AdamOptions{.amsgrad = true});
  };
  all["Adagrad from 0.5"] = [](const ParameterList& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Adagrad>(p, AdagradOptions{.lr_decay = 0.5, .initial_accumulator_value = 0.5});
  };
  return all;
}

void same_state(const Optimizer& a, const Optimizer& b) {
  const NamedTensors x = a.state_dict(), y = b.state_dict();
  BOOST_TEST(x.size() == y.size());
  for (const auto& [key, value] : x)
    BOOST_TEST(array_equal(value, y.at(key), true).item<bool>(), key << ": " << value << y.at(key));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(grad_scaler)

BOOST_AUTO_TEST_CASE(as_torch) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/grad_scaler.txt");
  BOOST_REQUIRE(in.good());
  std::vector<float> finite;
  int seen = 0;
  const auto numbers = [](const std::string& field) {
    std::vector<double> all;
    for (const std::string& w : golden::words(field)) all.push_back(std::stod(w));
    return all;
  };
  for (std::string text; std::getline(in, text);) BOOST_TEST_CONTEXT(text.substr(0, 12)) {
      const std::vector<std::string> fields = golden::fields(text), head = golden::words(fields[0]);
      if (head[0] == "finite") {
        for (double v : numbers(fields[1])) finite.push_back(static_cast<float>(v));
        continue;
      }
      Parameter w(tensor({1.0f, -2.0f, 0.5f}));
      const auto o = as_in_file(head[0], w);
      GradScaler scaler({.init_scale = 8, .growth_interval = std::stoi(head[1])});
      std::vector<double> scales, weights;
      for (size_t i = 0; i < finite.size(); ++i) {
        step(scaler, *o, w, i == 0 && head[2] == "0" ? 0 : finite[i]);
        scales.push_back(scaler.get_scale());
        for (float v : w.to_vector<float>()) weights.push_back(v);
      }
      BOOST_TEST(scales == numbers(fields[1]), boost::test_tools::per_element());
      golden::close(weights, numbers(fields[2]), 1e-5);
      ++seen;
    }
  BOOST_TEST(seen == 30);
}

// Skipped steps leave no trace: the others are as if there had been no bad ones, to the bit. Scales are
// powers of two, which change no digits.
BOOST_AUTO_TEST_CASE(skipped_steps_leave_no_trace) {
  for (const auto& [name, make] : all_optimizers())
    for (const auto& [t, work] : kParameterTypes) BOOST_TEST_CONTEXT(name << " " << name_of(t)) {
        Parameter w(wave({3, 5}, 1.3).astype(t)), b(wave({5}, 0.7).astype(t)), v(w), c(b);
        const auto o = make({w, b}), expected = make({v, c});
        GradScaler scaler({.init_scale = 64, .growth_interval = 2}), other({.init_scale = 64});
        const auto train = [](GradScaler& s, Optimizer& with, Parameter& x, Parameter& y, float by) {
          with.zero_grad();
          const Tensor loss = (sum(x * x) + sum(y * y * y)) * full({}, by).astype(x.dtype()).eval();
          s.scale(loss).backward();
          s.step(with);
          s.update();
          eval(loss);
        };
        for (int i = 0; i < 4; ++i) {
          train(scaler, *o, w, b, kInfinity);
          train(scaler, *o, w, b, 0.5f);
          train(other, *expected, v, c, 0.5f);
        }
        check::same(w, v);
        check::same(b, c);
        same_state(*o, *expected);
        BOOST_TEST(o->state_dict().at("state.0.step").item<int64_t>() == 4);
      }
}

// Without bad gradients it trains as without a scaler.
BOOST_AUTO_TEST_CASE(changes_nothing_else) {
  for (const auto& [name, make] : all_optimizers()) BOOST_TEST_CONTEXT(name) {
      Parameter w(wave({40}, 1.3)), v(w);
      const auto o = make(w), plain = make(v);
      GradScaler scaler({.init_scale = 64, .growth_interval = 3});
      for (int i = 0; i < 12; ++i) {
        step(scaler, *o, w);
        plain->zero_grad();
        sum(v * v).backward();
        plain->step();
        eval({w, v});
      }
      // Corrections for the beginning are computed by another pow, and rounded to float32 then.
      BOOST_TEST(allclose(w, v, 1e-6, 1e-7).item<bool>(), w - v);
    }
}

BOOST_AUTO_TEST_CASE(one_flush_one_program) {
  for (const bool clipped : {false, true})
    for (const auto& [name, make] : all_optimizers()) BOOST_TEST_CONTEXT(name << clipped) {
        Parameter w(wave({8, 32}, 1.7) * 0.3), b(wave({32}, 0.3));
        const auto o = make({w, b});
        GradScaler scaler({.growth_interval = 3});
        uint64_t misses = 0;
        for (int i = 0; i < 12; ++i) {
          const Tensor x = wave({16, 8}, 0.1 * i), by = full({}, i % 5 == 2 ? kInfinity : 1.0f).eval();
          const uint64_t flushes = metrics().flushes;
          Tensor loss;
          {
            const no_flush only_records;
            o->zero_grad();
            {
              const autocast scope(float16);
              loss = mse_loss(tanh(matmul(x, w) + b), zeros({16, 32})) * by;
            }
            scaler.scale(loss).backward();
            if (clipped) {
              scaler.unscale_(*o);
              clip_grad_norm_(o->parameters(), 0.5);
            }
            scaler.step(*o);
            scaler.update();
          }
          eval(loss);
          BOOST_TEST(metrics().flushes == flushes + 1);
          const double scale = scaler.get_scale();
          BOOST_TEST(scale > 0);
          BOOST_TEST(isfinite(w).all().item<bool>());
          BOOST_TEST(metrics().flushes == flushes + 2);  // of isfinite alone
          if (i == 1) misses = metrics().program_misses;
        }
        BOOST_TEST(metrics().program_misses == misses);
      }
}

// Gradients are clipped after they are unscaled: as without a scaler.
BOOST_AUTO_TEST_CASE(clipping) {
  Parameter w(wave({16}, 1.3)), v(w);
  SGD o(w, {.lr = 0.1}), plain(v, {.lr = 0.1});
  GradScaler scaler;
  for (int i = 0; i < 5; ++i) {
    o.zero_grad();
    scaler.scale(sum(w * w * 8)).backward();
    scaler.unscale_(o);
    const Tensor norm = clip_grad_norm_(w, 0.5);
    scaler.step(o);
    scaler.update();
    plain.zero_grad();
    sum(v * v * 8).backward();
    const Tensor expected = clip_grad_norm_(v, 0.5);
    plain.step();
    check::same(norm, expected);
    check::same(w, v);
    check::same(w.grad(), v.grad());
  }
  // An infinite gradient is found although clipping makes it NaN.
  o.zero_grad();
  (scaler.scale(sum(w)) * full({}, kInfinity).eval()).backward();
  scaler.unscale_(o);
  clip_grad_norm_(w, 0.5);
  scaler.step(o);
  scaler.update();
  check::same(w, v);
  BOOST_TEST(scaler.get_scale() == 32768);
}

// After step() gradients are those of the loss.
BOOST_AUTO_TEST_CASE(gradients_are_unscaled) {
  for (const auto& [t, work] : kParameterTypes) {
    Parameter w(wave({7}, 1.3).astype(t));
    SGD o(w);
    GradScaler scaler({.init_scale = 1024});
    scaler.scale(sum(w * 3)).backward();
    check::same(w.grad(), full({7}, 3072).astype(t));
    scaler.step(o);
    check::same(w.grad(), full({7}, 3).astype(t));
  }
}

// Gradients that float16 cannot hold reach the parameters.
BOOST_AUTO_TEST_CASE(small_gradients) {
  Parameter w(full({4}, 1.0f)), h(full({4}, 1.0f, float16));
  SGD o({w, h}, {.lr = 1e4, .master_weights = true});
  const auto loss = [&] {
    const autocast scope(float16);
    return sum(matmul(w.reshape({1, 4}), h.reshape({4, 1})).astype(float32) *
               2e-8f);  // of gradients 2e-8 < 6e-8
  };
  loss().backward();
  check::same(h.grad(), zeros({4}, float16));
  GradScaler scaler;
  o.zero_grad();
  scaler.scale(loss()).backward();
  scaler.step(o);
  scaler.update();
  BOOST_TEST(scaler.get_scale() == 65536);
  BOOST_TEST(allclose(w, full({4}, 1 - 2e-4f), 1e-6).item<bool>(), w);
  const Tensor master = o.state_dict().at("state.1.master_param");
  BOOST_TEST(allclose(master, full({4}, 1 - 2e-4f), 1e-6).item<bool>(), master);
}

BOOST_AUTO_TEST_CASE(several_optimizers) {
  Parameter w(full({3}, 2.0f)), v(full({3}, 2.0f)), unused(ones({2}));
  SGD a(w, {.lr = 0.125}), b(v, {.lr = 0.125}), c(unused);
  GradScaler scaler({.init_scale = 8});
  scaler.scale(sum(w)).backward();
  scaler.scale(sum(v) * full({}, kInfinity)).backward();
  scaler.step(a);
  scaler.step(b);
  scaler.step(c);
  scaler.update();
  check::same(w, full({3}, 1.875f));
  check::same(v, full({3}, 2.0f));
  BOOST_TEST(scaler.get_scale() == 4);
}

BOOST_AUTO_TEST_CASE(errors) {
  Parameter w(full({3}, 2.0f)), h(full({3}, 2.0f, float16));
  SGD o(w), of_half(h);
  LBFGS search(w);
  GradScaler scaler({.init_scale = 1024});  // which float16 can hold
  THROWS(Error, scaler.step(o), "GradScaler.step: there is no scaled loss: scale() was not called");
  THROWS(Error, scaler.update(), "GradScaler.update: there was no step() or unscale_() since the last one");
  scaler.scale(sum(w) + sum(h)).backward();
  scaler.unscale_(o);
  THROWS(Error, scaler.unscale_(o), "GradScaler.unscale_: was called for this SGD since the last update()");
  scaler.step(o);
  THROWS(Error, scaler.step(o), "GradScaler.step: was called for this SGD since the last update()");
  THROWS(Error, scaler.unscale_(o), "GradScaler.unscale_: step(SGD) was called since the last update()");
  THROWS(
      Error, scaler.unscale_(of_half),
      "GradScaler.unscale_: a gradient is of float16, in which it would vanish: leave it to step(), or keep "
      "parameters in float32 and compute in an autocast(float16)");
  THROWS(Error, scaler.step(search),
         "LBFGS: has no step of scaled gradients: its search reads the losses of many points");
  scaler.step(of_half);
  scaler.update();
  THROWS(Error, scaler.update(), "GradScaler.update: there was no step() or unscale_() since the last one");
  THROWS(Error, GradScaler({.init_scale = 0}),
         "GradScaler: the scale is 0.000000, not above 0 and finite in float32");
  THROWS(Error, GradScaler({.growth_factor = 1}), "GradScaler: growth_factor is 1.000000, not above 1");
  THROWS(Error, GradScaler({.backoff_factor = 1}), "GradScaler: backoff_factor is 1.000000, not in (0, 1)");
  THROWS(Error, GradScaler({.growth_interval = 0}),
         "GradScaler: growth_interval is 0.000000, not at least 1");
  THROWS(Error, scaler.load_state_dict({}), "GradScaler: load_state_dict: there is no scale");
  BOOST_TEST(scaler.get_scale() == 1024);
  check::same(w, full({3}, 1.999f));
}

BOOST_AUTO_TEST_CASE(disabled) {
  Parameter w(full({3}, 2.0f));
  SGD o(w, {.lr = 0.5});
  GradScaler scaler({.enabled = false});
  const Tensor loss = sum(w);
  BOOST_TEST(scaler.scale(loss).handle().get() == loss.handle().get());
  scaler.scale(loss).backward();
  scaler.unscale_(o);
  scaler.step(o);
  scaler.update();
  check::same(w, full({3}, 1.5f));
  BOOST_TEST(scaler.get_scale() == 1);
  BOOST_TEST(scaler.state_dict().size() == 0u);
  scaler.load_state_dict({});
}

// Training goes on from files with the same bits.
BOOST_AUTO_TEST_CASE(goes_on_from_a_file) {
  for (const auto& [name, make] : all_optimizers()) BOOST_TEST_CONTEXT(name) {
      Parameter w(wave({5}, 1.3)), v(w);
      const auto o = make(w), again = make(v);
      GradScaler scaler({.init_scale = 8, .growth_interval = 2}), resumed;
      for (const float finite : {0, 1, 1, 0, 1}) step(scaler, *o, w, finite);
      const test::Folder folder;
      NamedTensors all = o->state_dict();
      for (const auto& [key, value] : scaler.state_dict()) all.set("scaler." + key, value);
      all.set("w", w);
      save_safetensors(folder / "state.safetensors", all);
      NamedTensors of_scaler, of_optimizer;
      for (const auto& [key, value] : load_safetensors(folder / "state.safetensors")) {
        if (key == "w") v = value;
        else if (key.starts_with("scaler.")) of_scaler.set(key.substr(7), value);
        else of_optimizer.set(key, value);
      }
      resumed.load_state_dict(of_scaler);
      again->load_state_dict(of_optimizer);
      BOOST_TEST(resumed.options().growth_interval == 2);
      for (const float finite : {1, 1, 0, 1, 1, 1}) {
        step(scaler, *o, w, finite);
        step(resumed, *again, v, finite);
        BOOST_TEST(scaler.get_scale() == resumed.get_scale());
      }
      BOOST_TEST(allclose(w, v, 1e-6, 1e-7).item<bool>(), w - v);
    }
}

// A batch that cannot be computed leaves no trace.
BOOST_AUTO_TEST_CASE(bad_batches) {
  for (const auto& [name, make] : all_optimizers()) BOOST_TEST_CONTEXT(name) {
      Parameter w(wave({6, 4}, 1.3)), v(w);
      const auto o = make(w), expected = make(v);
      GradScaler scaler({.init_scale = 8, .growth_interval = 2}),
          other({.init_scale = 8, .growth_interval = 2});
      const auto train = [](GradScaler& s, Optimizer& with, Parameter& x, int label, float by = 1) {
        with.zero_grad();
        const Tensor loss = cross_entropy(x, tensor({0, 1, 2, 3, 0, label}).eval()) * full({}, by).eval();
        s.scale(loss).backward();
        s.step(with);
        s.update();
        return loss;
      };
      for (int i = 0; i < 6; ++i) {
        const float by = i % 3 == 1 ? kInfinity : 1;
        eval(train(scaler, *o, w, i % 4, by));
        eval(train(other, *expected, v, i % 4, by));
        BOOST_CHECK_THROW(eval(train(scaler, *o, w, 4)), IndexError);
        BOOST_TEST(scaler.get_scale() == other.get_scale());
      }
      check::same(w, v);
      same_state(*o, *expected);
    }
}

// Without a scaler after one: the number of steps stays on the device, and is right.
BOOST_AUTO_TEST_CASE(plain_steps_after_scaled_ones) {
  Parameter w(full({3}, 2.0f));
  Adam o(w);
  GradScaler scaler;
  step(scaler, o, w);
  step(scaler, o, w, 0);
  o.zero_grad();
  sum(w * w).backward();
  o.step();
  BOOST_TEST(o.state_dict().at("state.0.step").item<int64_t>() == 2);
  BOOST_TEST(o.parameters().size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(master_weights)

// Steps that are too small for 16 bits add up.
BOOST_AUTO_TEST_CASE(add_up) {
  for (const auto& [name, make] : all_optimizers())
    for (const DType t : {bfloat16, float16}) BOOST_TEST_CONTEXT(name << " " << name_of(t)) {
        const Tensor start = wave({3, 5}, 1.3).astype(t).eval();
        Parameter p(start), wide(start.astype(float32));
        const auto o = make(p), as_wide = make(wide);
        o->set_option("master_weights", 1);
        for (Optimizer* x : {o.get(), as_wide.get()}) x->set_lr(x->lr() * 0.01);
        for (int i = 0; i < 20; ++i) {
          const Tensor g = wave({3, 5}, 0.1 * i).astype(t).eval();
          p.set_grad(g);
          wide.set_grad(g.astype(float32));
          o->step();
          as_wide->step();
          check::same(p, wide.astype(t));
        }
        check::same(o->state_dict().at("state.0.master_param"), wide);
      }
}

BOOST_AUTO_TEST_CASE(are_saved) {
  Parameter p(ones({4}, bfloat16)), q(ones({4}, bfloat16));
  SGD o(p, {.lr = 1e-3, .momentum = 0.5, .master_weights = true}),
      again(q, {.lr = 1e-3, .momentum = 0.5, .master_weights = true});
  const auto step = [](Parameter& x, Optimizer& with) {
    x.set_grad(full({4}, 0.25f, bfloat16));
    with.step();
  };
  for (int i = 0; i < 5; ++i) step(p, o);
  const NamedTensors state = o.state_dict();
  const Tensor saved = p;
  again.load_state_dict(state);  // before the parameter, or after it
  q = saved;
  for (int i = 0; i < 5; ++i) step(p, o), step(q, again);
  check::same(o.state_dict().at("state.0.master_param"), again.state_dict().at("state.0.master_param"));
  check::same(p, q);
  // A file from before there were master weights.
  NamedTensors old;
  for (const auto& [key, value] : state)
    if (key.find("master") == key.npos) old.set(key, value);
  again.load_state_dict(old);
  BOOST_TEST(again.option("master_weights") == 1);
  NamedTensors bad = state;
  bad.set("state.0.master_param", ones({5}));
  THROWS(ShapeError, again.load_state_dict(bad),
         "SGD: load_state_dict: state.0.master_param has shape [5], the parameter [4]");
}

// Who assigns the parameter is obeyed.
BOOST_AUTO_TEST_CASE(follow_what_is_assigned) {
  Parameter p(ones({4}, bfloat16));
  SGD o(p, {.lr = 1, .master_weights = true});
  p.set_grad(full({4}, 1e-3f, bfloat16));
  o.step();
  BOOST_TEST(o.state_dict().contains("state.0.master_param"));
  p = full({4}, 8.0f, bfloat16);
  BOOST_TEST(!o.state_dict().contains("state.0.master_param"));
  o.step();
  const float step = full({}, 1e-3f, bfloat16).astype(float32).item<float>();
  check::same(o.state_dict().at("state.0.master_param"), full({4}, 8 - step));
  check::same(p, full({4}, 8.0f, bfloat16));
  // Nothing is kept for parameters that are wide themselves, nor without the option.
  Parameter wide(ones({4}));
  SGD other({p, wide}, {.lr = 1});
  p.set_grad(ones({4}, bfloat16));
  wide.set_grad(ones({4}));
  other.step();
  BOOST_TEST(!other.state_dict().contains("state.0.master_param"));
  other.set_option("master_weights", 1);
  other.step();
  BOOST_TEST(other.state_dict().contains("state.0.master_param"));
  BOOST_TEST(!other.state_dict().contains("state.1.master_param"));
}

BOOST_AUTO_TEST_SUITE_END()
