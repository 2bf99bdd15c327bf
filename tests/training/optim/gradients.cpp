// Compares clipping, averages of weights and L-BFGS with torch's.
#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

const std::vector<golden::Line>& update_lines() {
  static const std::vector<golden::Line> all = golden::lines("updates");
  return all;
}

std::vector<double> gradients_of(const golden::Weights& p) {
  std::vector<double> all = p.w.grad().to_vector<double>();
  for (double x : p.b.grad().to_vector<double>()) all.push_back(x);
  return all;
}

/// Is the least that AveragedModel needs.
struct Model {
  Parameter w;
  std::vector<ParameterRef> parameters() { return {w.ref()}; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(optim_gradients)

BOOST_AUTO_TEST_CASE(norms) {
  for (const golden::Line& l : golden::lines("clip")) BOOST_TEST_CONTEXT(l.text) {
      golden::Weights p(update_lines()[0].fields[0]);
      Parameter untouched(zeros({3}));
      p.set_grad(update_lines()[1].fields[0]);
      const double type = std::stod(l.name), most = l.number("1", 0);
      const Tensor norm = clip_grad_norm_({p.w, p.b, untouched}, most, type);
      golden::close({norm.item<double>()}, l.fields[0], 1e-13);
      golden::close(gradients_of(p), l.fields[1], 1e-13);
      BOOST_TEST(!untouched.grad().defined());
    }
}

BOOST_AUTO_TEST_CASE(norms_of_dtypes) {
  Parameter a(zeros({2}, float16)), b(zeros({2}, float64)), c(zeros({0}));
  a.set_grad(tensor({300.0, 0.0}).astype(float16));  // the square is no float16
  b.set_grad(tensor({0.0, 400.0}).astype(float64));
  c.set_grad(zeros({0}));
  BOOST_TEST(clip_grad_norm_({a, b, c}, 50).item<double>() == 500);
  check::equal(a.grad(), float16, {2}, {30, 0});
  check::close(b.grad(), {0, 40}, 1e-8);
  check::equal(clip_grad_norm_({a, c}, 1, inf), float32, {}, {30});
  Parameter nothing(zeros({2}));
  check::equal(clip_grad_norm_({nothing}, 1), float32, {}, {0});
  Parameter bad(zeros({2}));
  bad.set_grad(tensor({check::NaN, 1.0}));
  BOOST_TEST(std::isnan(clip_grad_norm_(bad, 1).item<float>()));
  THROWS(Error, clip_grad_norm_({a}, -1), "clip_grad_norm_: max_norm is -1.000000, not >= 0");
  THROWS(Error, clip_grad_norm_({a}, 1, 0), "clip_grad_norm_: norm_type is 0.000000, not above 0");
  THROWS(Error, clip_grad_norm_({static_cast<Parameter*>(nullptr)}, 1),
         "clip_grad_norm_: parameter 0 holds nothing");
}

BOOST_AUTO_TEST_CASE(values) {
  Parameter a(zeros({5})), none(zeros({1}));
  a.set_grad(tensor({-3.0, -0.5, check::NaN, 2.0, inf}));
  clip_grad_value_({a, none}, 1.5);
  check::equal(a.grad(), float32, {5}, {-1.5, -0.5, check::NaN, 1.5, 1.5});
  THROWS(Error, clip_grad_value_(a, -1), "clip_grad_value_: clip_value is -1.000000, not >= 0");
}

BOOST_AUTO_TEST_CASE(averages) {
  for (const golden::Line& l : golden::lines("average")) BOOST_TEST_CONTEXT(l.text) {
      const Tensor start = golden::part(update_lines()[0].fields[0], 0, 6, {2, 3});
      Model model{Parameter(start)};
      const std::optional<double> decay =
          l.name == "-" ? std::nullopt : std::optional<double>(std::stod(l.name));
      AveragedModel<Model> averaged(model, decay);
      for (size_t i = 0; i < l.fields.size(); ++i) {
        model.w = start + golden::part(update_lines()[i + 1].fields[0], 0, 6, {2, 3});
        averaged.update_parameters(model);
        golden::close(averaged.module.w.to_vector<double>(), l.fields[i], 1e-13);
      }
      BOOST_TEST(averaged.n_averaged == 6);
    }
  Model model{Parameter(zeros({2}))};
  THROWS(Error, AveragedModel<Model>(model, 2), "AveragedModel: decay is 2.000000, not in [0, 1]");
  Parameter other(zeros({3}));
  THROWS(ShapeError, update_averages(other, model.w, 1),
         "update_averages: parameter 0 has shape [2], its average [3]");
  THROWS(Error, update_averages({}, model.w, 1), "update_averages: 0 averages of 1 parameters");
}

BOOST_AUTO_TEST_CASE(lbfgs) {
  for (const golden::Line& l : golden::lines("lbfgs")) BOOST_TEST_CONTEXT(l.text) {
      golden::Weights p(update_lines()[0].fields[0]);
      LBFGSOptions o{.lr = l.number("lr", 1), .max_iter = l.integer("max_iter", 20)};
      o.history_size = l.integer("history_size", 100);
      o.maximize = l.number("maximize", 0) != 0;
      if (l.option("line_search_fn", "") == "strong_wolfe") o.line_search_fn = LineSearch::strong_wolfe;
      std::unique_ptr<LBFGS> optimizer = std::make_unique<LBFGS>(ParameterList{p.w, p.b}, o);
      const auto closure = [&] {
        optimizer->zero_grad();
        const Tensor x = concat({p.w.flatten(), p.b});
        const Tensor head = x(slice(0, 8)), tail = x(slice(1, 9));
        const Tensor loss =
            (o.maximize ? -1.0 : 1.0) * (sum(10.0 * square(tail - head * head)) + sum(square(1.0 - head)));
        loss.backward();
        return loss;
      };
      for (size_t i = 0; i < l.fields.size(); ++i) {
        if (i == 2) {  // goes on in another object
          auto next = std::make_unique<LBFGS>(ParameterList{p.w, p.b}, o);
          next->load_state_dict(optimizer->state_dict());
          optimizer = std::move(next);
        }
        std::vector<double> got{optimizer->step(closure).item<double>()};
        for (double x : p.values()) got.push_back(x);
        golden::close(got, l.fields[i], 1e-6);  // rounding grows along the valley
      }
    }
  Parameter a(zeros({2})), b(zeros({2}));
  LBFGS o(a);
  THROWS(Error, o.step(), "LBFGS: step() needs a closure that computes the loss and its gradients");
  o.add_param_group(b, {});
  THROWS(Error, o.step([] { return Tensor(); }), "LBFGS: takes one group of parameters, not 2");
  THROWS(Error, LBFGS(a, {.max_iter = 0}), "LBFGS: max_iter is 0, not >= 1");
  THROWS(Error, LBFGS(a, {.max_eval = -1}), "LBFGS: max_eval is -1, not >= 0");
  THROWS(Error, LBFGS(a, {.history_size = 0}), "LBFGS: history_size is 0, not >= 1");
}

BOOST_AUTO_TEST_SUITE_END()
