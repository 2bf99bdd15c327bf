// Compares training of complex parameters with torch 2.4, which updates their parts as real parameters.
#include <complex>

#include "lazy/amp/grad_scaler.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/clip_grad.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using namespace std::complex_literals;
using C = std::complex<double>;

namespace {

/// Holds a complex parameter and a real one, and a loss in which both depend on each other.
struct Pair {
  Parameter p{from_span(std::vector<C>{{1, 2}, {-0.5, 0.25}, {3, -1}})};
  Parameter q{tensor({0.5, -1.5}, float64)};

  optim::ParameterList parameters() { return {p, q}; }
  Tensor loss() {
    const Tensor t = from_span(std::vector<C>{{0.5, -1}, {0, 2}, 1});
    const Tensor off = sum(square(abs(p - t)) * tensor({1., 2., 0.5}, float64));
    return off + sum(real(p * p)) * 0.25 + sum(square(q - 1)) * sum(abs(p)) * 0.1;
  }
  void step(optim::Optimizer& o) {
    o.zero_grad();
    loss().backward();
    o.step();
  }
};

void near(const Tensor& x, const std::vector<C>& want, double tolerance = 1e-9) {
  const std::vector<C> got = x.to_vector<C>();
  BOOST_REQUIRE_EQUAL(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i])),
               "element " << i << " is " << got[i] << ", not " << want[i]);
}

template <class F>
void updates(F&& make, const std::vector<C>& p, const std::vector<C>& q, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    for (const bool late : {false, true}) {  // computed step by step, or at last
      Pair pair;
      auto o = make(pair.parameters());
      for (int i = 0; i < 4; ++i) {
        if constexpr (std::is_same_v<decltype(o), optim::LBFGS>) {
          o.step([&] {
            o.zero_grad();
            Tensor l = pair.loss();
            l.backward();
            return l;
          });
        } else {
          pair.step(o);
        }
        if (!late) pair.p.eval();
      }
      BOOST_TEST(pair.p.requires_grad());
      BOOST_TEST((pair.p.dtype() == complex128));
      near(pair.p, p);
      near(pair.q, q);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(complex_parameters)

BOOST_AUTO_TEST_CASE(optimizers) {
  updates(
      [&](const auto& all) { return optim::SGD(all, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}); },
      {{-0.0331058881234, -1.81511928589},
       {0.454672205621, 3.63611182648},
       {0.193709234269, -0.441175088591}},
      {0.91062342933, 0.584066421202});
  updates(
      [&](const auto& all) { return optim::Adam(all, {.lr = 0.1}); },
      {{0.608486380365, 1.60096088669}, {-0.113990891665, 0.648043057185}, {2.60143993627, -0.604631374456}},
      {0.883968334365, -1.10279427165});
  updates(
      [&](const auto& all) { return optim::Adam(all, {.lr = 0.1, .amsgrad = true}); },
      {{0.608486380365, 1.60096088669}, {-0.113990891665, 0.648043057185}, {2.60143993627, -0.604631374456}},
      {0.883968334365, -1.10279427165});
  updates(
      [&](const auto& all) { return optim::AdamW(all, {.lr = 0.1, .weight_decay = 0.1}); },
      {{0.576434491487, 1.52831566532}, {-0.10132921258, 0.632338877447}, {2.48965921648, -0.571781893855}},
      {0.859093692862, -1.05035284333});
  updates(
      [&](const auto& all) { return optim::NAdam(all, {.lr = 0.1}); },
      {{0.700467595573, 1.6754797763}, {-0.212412497017, 0.569708100372}, {2.67786373749, -0.690022038033}},
      {0.783260356218, -1.18374220752});
  updates(
      [&](const auto& all) { return optim::RAdam(all, {.lr = 0.1}); },
      {{0.429198267501, 0.069541196987}, {0.175241142055, 2.25251592456}, {1.58513693795, -0.739346020237}},
      {0.70366605554, -0.4816697223});
  updates(
      [&](const auto& all) { return optim::Adamax(all, {.lr = 0.1}); },
      {{0.649126132301, 1.61058531978}, {-0.163558376849, 0.630580540227}, {2.61488058018, -0.634651771664}},
      {0.830234317577, -1.12535679684});
  updates(
      [&](const auto& all) { return optim::RMSprop(all, {.lr = 0.1, .momentum = 0.5}); },
      {{0.620479051554, -1.36017227182}, {-0.22465912167, 2.76702341963}, {0.182267037882, 0.0784578464369}},
      {0.798097828511, 1.27375230676});
  updates([&](const auto& all) { return optim::Adagrad(all, {.lr = 0.1}); },
          {{0.746295418269, 1.7263585418}, {-0.255495517769, 0.5196031855}, {2.72830812462, -0.738128758001}},
          {0.740661378333, -1.23324481006});
  updates([&](const auto& all) { return optim::Adadelta(all, {.lr = 0.5}); },
          {{0.9934885011, 1.99347715435}, {-0.493492266899, 0.256519943235}, {2.9934783997, -0.993484411247}},
          {0.506503296148, -1.49348217114});
  updates(
      [&](const auto& all) { return optim::LBFGS(all, {.lr = 0.2, .max_iter = 3}); },
      {{0.475978996205, -0.463643486714}, {-0.129225652755, 1.8359026584}, {1.12696188868, -0.362039111809}},
      {0.755489965092, -0.222550174539});
}

// The trust ratio is that of the whole parameter: it is trained as its parts are side by side in a real one.
BOOST_AUTO_TEST_CASE(lamb) {
  const std::vector<C> begin{{1, 2}, {-0.5, 0.25}, {3, -1}};
  for (const bool conditional : {false, true}) {
    Parameter p{from_span(begin)}, other{from_span(begin) * 2.0}, parts{view_as_real(from_span(begin))};
    const optim::LAMBOptions options{.lr = 0.1, .weight_decay = 0.01};
    optim::LAMB o({p, other}, options), of_parts(parts, options);
    for (int i = 0; i < 5; ++i) {
      o.zero_grad(), of_parts.zero_grad();
      (sum(real(exp(p) * (1.0 - 2.0i))) + sum(square(abs(other)))).backward();
      sum(real(exp(view_as_complex(parts)) * (1.0 - 2.0i))).backward();
      const Tensor skip = full({}, i == 2);
      if (conditional) o.step_unless(skip), of_parts.step_unless(skip);
      else o.step(), of_parts.step();
    }
    near(p, view_as_complex(parts).to_vector<C>(), 1e-12);
    near(o.state_dict().at("state.0.exp_avg"),
         view_as_complex(of_parts.state_dict().at("state.0.exp_avg")).to_vector<C>(), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(states) {
  Pair a;
  optim::Adam o(a.parameters(), {.lr = 0.1});
  for (int i = 0; i < 4; ++i) a.step(o);
  const NamedTensors state = o.state_dict();
  near(state.at("state.0.exp_avg"), {{0.4567041707003325, 1.810571889168426},
                                     {-0.6467384993943255, -2.115506377370328},
                                     {1.3042466830125046, -0.19882392540359897}});
  near(state.at("state.0.exp_avg_sq"), {{0.007834915641337072, 0.11195098849102667},
                                        {0.016960409507258956, 0.15455043880407734},
                                        {0.058421998958339355, 0.0014115229307218823}});
  BOOST_TEST(state.at("state.0.step").item<int64_t>() == 4);
  // Through a file, and on from there.
  const test::Folder folder;
  save_npz(folder / "state.npz", state);
  Pair b;
  b.p = a.p + 0.0;
  b.q = a.q + 0.0;
  optim::Adam other(b.parameters(), {.lr = 0.5});
  other.load_state_dict(load_npz(folder / "state.npz"));
  BOOST_TEST(other.lr() == 0.1);
  a.step(o);
  b.step(other);
  near(b.p, a.p.to_vector<C>(), 1e-15);
}

BOOST_AUTO_TEST_CASE(clipped_gradients) {
  const double inf = check::inf;
  const std::vector<std::tuple<double, double, C>> expected = {
      {2, 10.758942930875417, {0.9916781384465805, 1.974061684352993}},
      {1, 21.01028633500541, {0.995738542723089, 1.9867175122711178}},
      {inf, 7.397601544105793, {0.9878968299094296, 1.9622757667712425}},
      {3, 8.90318015947149, {0.9899435448689596, 1.96865514935517}}};
  for (const auto& [order, total, first] : expected) {
    Pair a;
    optim::SGD o(a.parameters(), {.lr = 0.1});
    a.loss().backward();
    const Tensor norm = optim::clip_grad_norm_(a.parameters(), 0.5, order);
    BOOST_TEST((norm.dtype() == float64));
    BOOST_TEST(std::abs(norm.item<double>() - total) < 1e-9);
    o.step();
    BOOST_TEST(std::abs(a.p.to_vector<C>()[0] - first) < 1e-9);
  }
  Pair a;
  a.loss().backward();
  BOOST_CHECK_THROW(optim::clip_grad_value_(a.parameters(), 0.5), DtypeError);
}

BOOST_AUTO_TEST_CASE(parameters) {
  Pair a;
  BOOST_TEST(!a.p.grad().defined());
  a.loss().backward();
  BOOST_TEST(a.p.grad().defined());
  Parameter copy(a.p);
  BOOST_TEST(copy.requires_grad());
  BOOST_TEST(!copy.grad().defined());
  near(copy, a.p.to_vector<C>(), 0);
  a.p.set_grad(a.p * C(0, 1));
  near(a.p.grad(), (a.p * C(0, 1)).to_vector<C>(), 0);
  BOOST_CHECK_THROW(a.p.set_grad(ones({3}, float64)), ShapeError);
  a.p = a.p * 2.0;  // its gradient remains
  BOOST_TEST(a.p.grad().defined());
  near(a.p, {{2, 4}, {-1, 0.5}, {6, -2}}, 0);
  BOOST_CHECK_THROW(a.p = ones({3}, float64), DtypeError);
  a.p.zero_grad();
  BOOST_TEST(!a.p.grad().defined());
  a.p.requires_grad_(false);
  BOOST_TEST(!a.p.requires_grad());
  a.p.requires_grad_();
  BOOST_TEST(a.p.requires_grad());
  a.p.reset(ones({2}, complex64));
  BOOST_TEST((a.p.dtype() == complex64));
  a.p.freeze();
  BOOST_CHECK_THROW(a.p = a.p * 2.0f, Error);
  near(a.p, {1, 1}, 0);
  a.p.thaw();
  BOOST_TEST(a.p.requires_grad());
  // A value of ones is known to be real; as a parameter it has a gradient by its imaginary part.
  sum(imag(a.p * a.p)).backward();
  near(a.p.grad(), {{0, 2}, {0, 2}}, 0);
}

BOOST_AUTO_TEST_CASE(steps_that_cannot_be_computed_are_taken_back) {
  Pair a;
  optim::Adam o(a.parameters(), {.lr = 0.1});
  a.step(o);
  a.p.eval();
  const std::vector<C> before = a.p.to_vector<C>();
  o.zero_grad();
  const auto bad = [&] {
    sum(square(abs(take(Tensor(a.p), tensor({0, 7}))))).backward();
    o.step();
    a.p.eval();
  };
  BOOST_CHECK_THROW(bad(), IndexError);
  near(a.p, before, 0);
  a.step(o);  // and on from there
  near(o.state_dict().at("state.0.step"), {2}, 0);
}

// A step by scaled gradients is that of the gradients, and none where one of them is not finite in either
// part.
BOOST_AUTO_TEST_CASE(scaled_gradients) {
  Pair a, b;
  optim::Adam o(a.parameters(), {.lr = 0.1}), other(b.parameters(), {.lr = 0.1});
  GradScaler scaler({.init_scale = 1024});
  for (int i = 0; i < 2; ++i) {
    o.zero_grad();
    scaler.scale(a.loss()).backward();
    scaler.step(o);
    scaler.update();
    b.step(other);
  }
  near(a.p, b.p.to_vector<C>(), 1e-12);
  const std::vector<C> before = a.p.to_vector<C>();
  for (const C bad : {C(check::inf, 0), C(0, check::NaN)}) {
    o.zero_grad();
    scaler.scale(a.loss()).backward();
    a.p.set_grad(a.p.grad() + tensor({C(0), bad, C(0)}, complex128));
    scaler.step(o);
    scaler.update();
    near(a.p, before, 0);
  }
  near(o.state_dict().at("state.0.step"), {2}, 0);
}

namespace {

struct Mixing : nn::Module {
  Parameter w{astype(from_span(std::vector<C>{{1, 2}, {0, -1}}), complex64)};
  Parameter b{ones({2})};
  Tensor forward(const Tensor& x) const { return x * w + b; }
  LAZY_MODULE(w, b)
};

}  // namespace

BOOST_AUTO_TEST_CASE(of_modules) {
  const test::Folder folder;
  Mixing a, b;
  optim::AdamW o(a.named_parameters(), {.lr = 0.1});
  sum(square(abs(a.forward(ones({2}))))).backward();
  o.step();
  save_safetensors(folder / "model.safetensors", a.state_dict());
  b.load_state_dict(load_safetensors(folder / "model.safetensors"));
  near(b.w, a.w.to_vector<C>(), 0);
  BOOST_TEST(b.w.requires_grad());
  b.requires_grad_(false);
  BOOST_TEST(!b.w.requires_grad());
  b.requires_grad_();
  BOOST_TEST(b.w.requires_grad());
  b.to(float64);  // of real parameters
  BOOST_TEST((b.w.dtype() == complex64));
  BOOST_TEST((b.b.dtype() == float64));
  const Mixing copy = a;
  near(copy.w, a.w.to_vector<C>(), 0);
}

BOOST_AUTO_TEST_CASE(averages) {
  Pair a, b;
  optim::SGD o(a.parameters(), {.lr = 0.1});
  a.step(o);
  const std::vector<C> p = b.p.to_vector<C>(), q = a.p.to_vector<C>();
  optim::update_averages(b.parameters(), a.parameters(), 0.25);
  near(b.p, {p[0] + (q[0] - p[0]) * 0.25, p[1] + (q[1] - p[1]) * 0.25, p[2] + (q[2] - p[2]) * 0.25}, 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
