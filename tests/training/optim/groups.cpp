// Tests groups of parameters: what they inherit, by every optimizer; optimizers that have nothing to train.
#include <type_traits>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

/// AdamW's options have no word of what AdamW is.
const AdamOptions& of_constructor(const AdamOptions& o, const Adam*) { return o; }
AdamWOptions of_constructor(const AdamOptions& o, const AdamW*) {
  return {o.lr, o.betas, o.eps, o.weight_decay, o.amsgrad, o.maximize, o.master_weights};
}
template <class Options>
const Options& of_constructor(const Options& o, const void*) {
  return o;
}

/// Changes each option, then looks at a group that sets only its rate, and at one that sets nothing.
template <class O>
void inherits(typename O::Options given) {
  using Options = typename O::Options;
  Options::each(
      [](const char* name, auto& v) {
        if constexpr (requires { v.size(); }) v = {0.25, 0.75};
        else if constexpr (std::is_same_v<decltype(v), bool&>) v = std::string(name) != "centered";
        else if constexpr (std::is_same_v<decltype(v), double&>) v = v / 2 + 0.01;
        else if constexpr (std::is_same_v<decltype(v), int64_t&>) v = v + 1;
      },
      given);
  if constexpr (requires { given.nesterov; }) given.dampening = 0;
  Parameter a(ones({2})), b(ones({2})), c(ones({2})), d(ones({2}));
  O o({a}, of_constructor(given, static_cast<const O*>(nullptr)));
  o.set_lr(7);  // of the first group: another one has what was given
  o.add_param_group({b}, {.lr = 0.5});
  o.add_param_group({c});
  auto copied = o.param_groups()[1];
  copied.lr = 0.125;
  o.add_param_group({d}, copied);
  BOOST_TEST(o.lr(0) == 7);
  BOOST_TEST(o.lr(1) == 0.5);
  BOOST_TEST(o.lr(2) == given.lr);
  BOOST_TEST(o.lr(3) == 0.125);
  for (size_t group = 1; group < 4; ++group)
    Options::each(
        [&](const char* name, const auto& is, const auto& was) {
          if (std::string(name) != "lr")
            BOOST_TEST((is == was), o.name() << " " << name << " of group " << group);
        },
        o.param_groups()[group], given);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optim_groups)

BOOST_AUTO_TEST_CASE(groups_inherit) {
  inherits<SGD>({});
  inherits<Lion>({});
  inherits<Adam>({});
  inherits<AdamW>(AdamWOptions{});
  inherits<NAdam>({});
  inherits<RAdam>({});
  inherits<Adamax>({});
  inherits<LAMB>({});
  inherits<RMSprop>({});
  inherits<Adagrad>({});
  inherits<Adadelta>({});
  inherits<LBFGS>({});
}

// An option that is set counts, also where it is the default of the class.
BOOST_AUTO_TEST_CASE(set_to_the_default) {
  Parameter a(ones({2})), b(ones({2})), c(ones({2}));
  AdamW o({a}, {.lr = 3e-4, .betas = {0.8, 0.9}, .weight_decay = 0.1});
  o.add_param_group({b}, {.betas = {0.9, 0.999}, .weight_decay = 0.01});
  const auto g = o.param_groups()[1];
  BOOST_TEST(g.weight_decay == 0.01);
  BOOST_TEST(g.betas[0] == 0.9);
  BOOST_TEST(g.lr == 3e-4);
  BOOST_TEST(g.decoupled_weight_decay);
  o.add_param_group({c}, AdamWOptions{.lr = 0.5});  // all of them
  BOOST_TEST(o.param_groups()[2].weight_decay == 0.01);
  BOOST_TEST(o.param_groups()[2].decoupled_weight_decay);
  BOOST_TEST(o.option("betas.1", 1) == 0.999);
}

BOOST_AUTO_TEST_CASE(refused_options_add_nothing) {
  Parameter a(ones({2})), b(ones({2}));
  SGD o({a}, {.lr = 0.1, .momentum = 0.9});
  BOOST_CHECK_THROW(o.add_param_group({b}, {.momentum = -1}), Error);
  BOOST_TEST(o.size() == 1u);
  SGD nesterov({a}, {.lr = 0.1, .momentum = 0.9, .nesterov = true});
  BOOST_CHECK_THROW(nesterov.add_param_group({b}, {.momentum = 0}), Error);
}

namespace {
struct Forgetful : nn::Module {  // no LAZY_MODULE
  nn::Linear fc{2, 1};
};
}  // namespace

BOOST_AUTO_TEST_CASE(nothing_to_train) {
  Forgetful net;
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    Adam o(net.parameters(), {.lr = 0.1});
    BOOST_ERROR("nothing was thrown");
  } catch (const Error& e) {
    BOOST_TEST(std::string(e.what()).find("LAZY_MODULE") != std::string::npos, e.what());
    BOOST_TEST(e.where().line() == line);
    BOOST_TEST(std::string(file_name(e.where())) == "groups.cpp");
  }
  BOOST_CHECK_THROW(LBFGS(std::vector<Parameter*>{}), Error);
}

namespace {
/// Returns how often a text is in another one.
size_t times(const std::string& part, const std::string& text) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_step_without_gradients_is_told) {
  nn::Linear net(2, 1);
  const nn::Linear copy = net;
  SGD o(net.parameters(), {.lr = 0.1});
  unsigned line = 0;
  const std::string text = fresh::standard_error_of([&] {
    for (int i = 0; i < 3; ++i) {
      sum(copy(ones({1, 2}))).backward();  // of the copy
      line = __LINE__ + 1;
      o.step();
    }
  });
  const std::string said = "SGD: step() at groups.cpp:" + std::to_string(line) + " changes nothing";
  BOOST_TEST(times(said, text) == 1u, text);
  SGD good(net.parameters(), {.lr = 0.1});
  const std::string nothing = fresh::standard_error_of([&] {
    net(ones({1, 2})).backward();
    good.step();
  });
  BOOST_TEST(nothing == "");
}

BOOST_AUTO_TEST_CASE(gradients_that_are_never_set_to_zero_are_told) {
  nn::Linear net(2, 1), other(2, 1);
  SGD o(net.parameters(), {.lr = 1e-3}), good(other.parameters(), {.lr = 1e-3});
  unsigned line = 0;
  const std::string text = fresh::standard_error_of([&] {
    for (int i = 0; i < 30; ++i) {
      sum(net(ones({1, 2}))).backward();
      line = __LINE__ + 1;
      o.step();
    }
  });
  BOOST_TEST(times("SGD: step() at groups.cpp:" + std::to_string(line), text) == 1u, text);
  BOOST_TEST(times("zero_grad() was not called", text) == 1u, text);
  // Two batches a step.
  const std::string nothing = fresh::standard_error_of([&] {
    for (int i = 0; i < 30; ++i) {
      other.zero_grad();
      for (int k = 0; k < 2; ++k) sum(other(ones({1, 2}))).backward();
      good.step();
    }
  });
  BOOST_TEST(nothing == "");
}

BOOST_AUTO_TEST_SUITE_END()
