// Tests the machinery of modules: names, state, copies, containers, printing.
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"

namespace {

using namespace lazy;
namespace init = nn::init;

struct Block : nn::Module {
  nn::Linear a{4, 4};
  std::optional<nn::Linear> b;
  LAZY_MODULE(a, b)
  explicit Block(bool two = false) {
    if (two) b.emplace(4, 4, nn::LinearOptions{.bias = false});
  }
  Tensor operator()(const Tensor& x) const { return b ? a(x) + (*b)(x) : a(x); }
};

/// Has a member of each kind.
struct Net : nn::Module {
  nn::Linear in{3, 4};
  std::vector<Block> blocks;
  std::array<nn::LayerNorm, 2> norms{nn::LayerNorm{4}, nn::LayerNorm{4, {.elementwise_affine = false}}};
  std::map<std::string, nn::Linear> heads;
  std::unique_ptr<nn::Linear> extra;
  std::vector<Parameter> scales;
  Parameter shift{zeros({4})}, none;
  Tensor offset = full({2}, 0.5), nothing;
  nn::Sequential tail{nn::Linear{4, 2}, nn::Tanh{}, [](const Tensor& x) { return x * 2; }};
  std::string comment = "not a member of the state";
  LAZY_MODULE(in, blocks, norms, heads, extra, scales, shift, none, offset, nothing, tail)
  Net() {
    blocks.emplace_back(true);
    blocks.emplace_back();
    heads.emplace("left", nn::Linear(2, 1));
    scales.emplace_back(ones({4}));
  }
};

const char* const kNames[] = {"in.weight",
                              "in.bias",
                              "blocks.0.a.weight",
                              "blocks.0.a.bias",
                              "blocks.0.b.weight",
                              "blocks.1.a.weight",
                              "blocks.1.a.bias",
                              "norms.0.weight",
                              "norms.0.bias",
                              "heads.left.weight",
                              "heads.left.bias",
                              "scales.0",
                              "shift",
                              "offset",
                              "tail.0.weight",
                              "tail.0.bias"};

std::vector<std::string> names_of(const NamedTensors& t) {
  std::vector<std::string> r;
  for (const auto& [name, value] : t) r.push_back(name);
  return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(modules)

BOOST_AUTO_TEST_CASE(members_have_names) {
  Net net;
  const std::vector<std::string> expected(std::begin(kNames), std::end(kNames));
  BOOST_TEST(names_of(net.state_dict()) == expected, boost::test_tools::per_element());
  std::vector<std::string> parameters;
  int64_t elements = 0;
  for (const auto& [name, p] : net.named_parameters()) {
    parameters.push_back(name);
    elements += p->size();
    BOOST_TEST(p->requires_grad());
  }
  std::vector<std::string> trained = expected;
  std::erase(trained, "offset");
  BOOST_TEST(parameters == trained, boost::test_tools::per_element());
  BOOST_TEST(net.num_parameters() == elements);
  BOOST_TEST(net.parameters().size() == trained.size());
  BOOST_TEST(names_of(net.named_buffers()) == std::vector<std::string>{"offset"});
  BOOST_TEST(net.buffers().size() == 1u);
  net.extra = std::make_unique<nn::Linear>(1, 1);
  BOOST_TEST(net.state_dict().contains("extra.bias"));
}

BOOST_AUTO_TEST_CASE(children_and_modules) {
  Net net;
  std::vector<std::string> children, all;
  for (const auto& [name, m] : net.named_children()) children.push_back(name + " " + m->name());
  const std::vector<std::string> expected = {"in Linear",         "blocks.0 Block",    "blocks.1 Block",
                                             "norms.0 LayerNorm", "norms.1 LayerNorm", "heads.left Linear",
                                             "tail Sequential"};
  BOOST_TEST(children == expected, boost::test_tools::per_element());
  for (const auto& [name, m] : net.named_modules()) all.push_back(name);
  BOOST_TEST(all.size() == 14u);
  BOOST_TEST(all[0].empty());
  BOOST_TEST(all[2] == "blocks.0");
  BOOST_TEST(all[3] == "blocks.0.a");
  BOOST_TEST(net.modules()[1] == &net.in);
  BOOST_TEST(net.children().front() == &net.in);
}

BOOST_AUTO_TEST_CASE(what_is_derived_has_the_members_of_both) {
  struct Derived : Block {
    Parameter more{ones({1})};
    LAZY_MODULE_OF(Block, more)
  };
  const Derived d;
  BOOST_TEST(names_of(d.state_dict()) == (std::vector<std::string>{"a.weight", "a.bias", "more"}));
  struct Empty : nn::Module {
    LAZY_MODULE()
  };
  BOOST_TEST(Empty().state_dict().empty());
  BOOST_TEST(nn::ReLU().parameters().empty());
}

BOOST_AUTO_TEST_CASE(train_and_eval_reach_everything) {
  Net net;
  for (const nn::Module* m : net.modules()) BOOST_TEST(m->training());
  net.eval();
  for (const nn::Module* m : net.modules()) BOOST_TEST(!m->training());
  BOOST_TEST(!Net(std::move(net)).blocks[1].a.training());
  nn::Sequential drop{nn::Dropout{1.0}};
  check::equal(drop.eval().training() ? ones({2}) : drop(ones({2})), float32, {2}, {1, 1});
  drop.train();
  check::equal(drop(ones({2})), float32, {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(states_go_from_one_to_another) {
  Net a, b;
  a.offset = full({2}, 7.0);
  BOOST_TEST(a.in.weight.to_vector<float>() != b.in.weight.to_vector<float>());
  const nn::IncompatibleKeys keys = b.load_state_dict(a.state_dict());
  BOOST_TEST(keys.missing_keys.empty());
  BOOST_TEST(keys.unexpected_keys.empty());
  for (const auto& [name, t] : a.state_dict()) check::same(b.state_dict().at(name), t);
  const test::Folder folder;
  save_safetensors(folder / "net.safetensors", a.state_dict());
  Net c;
  c.load_state_dict(load_safetensors(folder / "net.safetensors"));
  for (const auto& [name, t] : a.state_dict()) check::same(c.state_dict().at(name), t);
  BOOST_TEST(c.in.weight.requires_grad());
  BOOST_TEST(!c.state_dict().at("in.weight").requires_grad());
}

BOOST_AUTO_TEST_CASE(states_that_do_not_fit) {
  nn::Linear l{3, 2};
  const Tensor w = ones({2, 3});
  const nn::IncompatibleKeys keys = l.load_state_dict({{"weight", w}, {"gain", w}}, false);
  BOOST_TEST(keys.missing_keys == std::vector<std::string>{"bias"});
  BOOST_TEST(keys.unexpected_keys == std::vector<std::string>{"gain"});
  check::equal(l.weight, float32, {2, 3}, {1, 1, 1, 1, 1, 1});
  const NamedTensors other{{"weight", zeros({2, 3})}, {"gain", w}};
  THROWS(Error, l.load_state_dict(other),
         "load_state_dict: the dictionary lacks 'bias'; the model has no 'gain'");
  const NamedTensors wide{{"weight", zeros({2, 4})}, {"bias", zeros({})}};
  THROWS(ShapeError, l.load_state_dict(wide, false),
         "load_state_dict: 'weight' is [2, 3] in the model and [2, 4] in the dictionary; 'bias' is [2] in "
         "the model "
         "and [] in the dictionary");
  check::equal(l.weight, float32, {2, 3}, {1, 1, 1, 1, 1, 1});  // nothing has changed
}

BOOST_AUTO_TEST_CASE(loading_keeps_dtypes_and_freezing) {
  nn::Linear l{1, 1, {.dtype = float64}};
  l.bias.requires_grad_(false);
  l.load_state_dict({{"weight", tensor({{2}})}, {"bias", tensor({0.5f})}});
  check::equal(l.weight, float64, {1, 1}, {2});
  check::equal(l.bias, float64, {1}, {0.5});
  BOOST_TEST(l.weight.requires_grad());
  BOOST_TEST(!l.bias.requires_grad());
}

BOOST_AUTO_TEST_CASE(dtypes_and_devices) {
  nn::Sequential net{nn::Linear{2, 3}, nn::BatchNorm1d{3}};
  const std::vector<ParameterRef> before = net.parameters();
  net.to(float64).to(cpu);
  for (const auto& [name, t] : net.state_dict()) BOOST_TEST((t.dtype() == (t.ndim() ? float64 : int64)));
  BOOST_TEST((net.parameters() == before));
  BOOST_TEST((net(ones({4, 2}, float64)).dtype() == float64));
  THROWS(DtypeError, net.to(int32), "Module::to: parameters are of floating point, not int32");
}

BOOST_AUTO_TEST_CASE(functions_are_applied_below_first) {
  Net net;
  std::string order;
  net.apply([&](nn::Module& m) { order += m.name() + " "; });
  BOOST_TEST(order ==
             "Linear Linear Linear Block Linear Block LayerNorm LayerNorm Linear Linear Tanh Function "
             "Sequential Net ");
  int linears = 0;
  net.apply([&](nn::Linear& l) {
    nn::init::constant_(l.weight, 0.25);
    ++linears;
  });
  BOOST_TEST(linears == 6);
  check::equal(net.blocks[0].b->weight(0), float32, {4}, {0.25, 0.25, 0.25, 0.25});
}

BOOST_AUTO_TEST_CASE(sequences) {
  nn::Sequential s{nn::Linear{2, 2}, nn::ReLU{}};
  s.push_back([](const Tensor& x) { return x + 1; }).push_back("last", nn::Linear{2, 1, {.bias = false}});
  nn::init::eye_(s.get<nn::Linear>(0).weight);
  nn::init::zeros_(s.get<nn::Linear>(0).bias);
  nn::init::ones_(s.get<nn::Linear>(-1).weight);
  check::equal(s(tensor({{1.0, -2.0}})), float32, {1, 1}, {3});
  const nn::Sequential& constant = s;
  check::equal(constant(tensor({{1.0, -2.0}})), float32, {1, 1}, {3});
  BOOST_TEST(s.size() == 4u);
  BOOST_TEST(names_of(s.state_dict()) == (std::vector<std::string>{"0.weight", "0.bias", "last.weight"}));
  nn::Sequential copy = s;
  nn::init::zeros_(copy.get<nn::Linear>(3).weight);
  check::equal(copy(tensor({{1.0, -2.0}})), float32, {1, 1}, {0});
  check::equal(s(tensor({{1.0, -2.0}})), float32, {1, 1}, {3});
  check::equal(nn::Sequential()(tensor({1.0})), float32, {1}, {1});
  THROWS(IndexError, s[4], "Sequential: there is no module 4 of 4");
  THROWS(IndexError, s.get<nn::Linear>(-5), "Sequential: there is no module -5 of 4");
  THROWS(Error, s.get<nn::Linear>(1), "get: the module is a ReLU, not a Linear");
  THROWS(Error, s.push_back("last", nn::ReLU{}), "Sequential: the name 'last' is there twice");
  THROWS(Error, s.push_back("a.b", nn::ReLU{}),
         "Sequential: 'a.b' can't be a module's name: it is empty or has a dot");
  THROWS(ShapeError, s(ones({2, 3})), "linear: x [2, 3] and weights [2, 2] do not fit");
}

BOOST_AUTO_TEST_CASE(sequences_of_what_is_not_const) {
  struct Counting : nn::Module {
    int calls = 0;
    Tensor operator()(const Tensor& x) {
      ++calls;
      return x;
    }
  };
  nn::Sequential s{Counting{}};
  (void)s(ones({1}));
  BOOST_TEST(s.get<Counting>(0).calls == 1);
  const nn::Sequential& constant = s;
  THROWS(Error, constant(ones({1})), "call: Counting can't be called with a tensor while it is const");
  nn::Sequential losses{nn::MSELoss{}};
  THROWS(Error, losses(ones({1})), "call: MSELoss does not take one tensor; get<MSELoss>() gives it");
  const nn::Sequential norm{nn::BatchNorm1d{2}};
  THROWS(Error, norm(ones({2, 2})),
         "BatchNorm1d: is const, and in training it moves its running statistics: call eval() first, or a "
         "model that "
         "is not const");
}

BOOST_AUTO_TEST_CASE(lists_and_dictionaries) {
  nn::ModuleList list{nn::Linear{1, 1}, nn::Tanh{}};
  list.push_back(Block(true));
  BOOST_TEST(list.size() == 3u);
  BOOST_TEST(names_of(list.state_dict()) ==
             (std::vector<std::string>{"0.weight", "0.bias", "2.a.weight", "2.a.bias", "2.b.weight"}));
  Tensor x = ones({1});
  for (auto& [name, m] : list)
    if (name == "1") x = m(x);
  check::close(x, {std::tanh(1.0)}, 1e-6);
  BOOST_TEST(list.get<Block>(2).b.has_value());
  THROWS(IndexError, list[-4], "ModuleList: there is no module -4 of 3");
  nn::ModuleDict dict{{"relu", nn::ReLU{}}, {"linear", nn::Linear{2, 1}}};
  dict.insert("tanh", nn::Tanh{});
  check::equal(dict["relu"](tensor({-1.0})), float32, {1}, {0});
  BOOST_TEST(dict.contains("tanh"));
  BOOST_TEST(!dict.contains("gelu"));
  BOOST_TEST(dict.get<nn::Linear>("linear").in_features() == 2);
  THROWS(IndexError, dict["gelu"], "ModuleDict: there is no 'gelu' among 'relu', 'linear', 'tanh'");
  THROWS(Error, dict.insert("", nn::ReLU{}),
         "ModuleDict: '' can't be a module's name: it is empty or has a dot");
}

BOOST_AUTO_TEST_CASE(models_print_as_trees) {
  Net net;
  net.shift.requires_grad_(false);
  std::ostringstream out;
  out << net;
  BOOST_TEST(out.str() == R"(Net(  # scales.0 [4], shift [4]: 8
  (in): Linear(in_features=3, out_features=4, bias=True)  # weight [4, 3], bias [4]: 16
  (blocks): ModuleList(
    (0): Block(
      (a): Linear(in_features=4, out_features=4, bias=True)  # weight [4, 4], bias [4]: 20
      (b): Linear(in_features=4, out_features=4, bias=False)  # weight [4, 4]: 16
    )
    (1): Block(
      (a): Linear(in_features=4, out_features=4, bias=True)  # weight [4, 4], bias [4]: 20
    )
  )
  (norms): ModuleList(
    (0): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)  # weight [4], bias [4]: 8
    (1): LayerNorm((4,), eps=1e-05, elementwise_affine=False, bias=False)
  )
  (heads): ModuleDict(
    (left): Linear(in_features=2, out_features=1, bias=True)  # weight [1, 2], bias [1]: 3
  )
  (tail): Sequential(
    (0): Linear(in_features=4, out_features=2, bias=True)  # weight [2, 4], bias [2]: 10
    (1): Tanh()
    (2): Function()
  )
)
# 101 parameters, 97 of them trained)");
}

BOOST_AUTO_TEST_CASE(parameters_as_a_vector) {
  nn::Linear l{2, 1};
  init::zeros_(l.weight);
  init::ones_(l.bias);
  const std::vector<ParameterRef> parameters = l.parameters();
  check::equal(nn::utils::parameters_to_vector(parameters), float32, {3}, {0, 0, 1});
  nn::utils::vector_to_parameters(tensor({1, 2, 3}), parameters);
  check::equal(l.weight, float32, {1, 2}, {1, 2});
  check::equal(l.bias, float32, {1}, {3});
  BOOST_TEST(l.weight.requires_grad());
  sum(square(nn::utils::parameters_to_vector(parameters))).backward();
  check::equal(l.weight.grad(), float32, {1, 2}, {2, 4});
  THROWS(ShapeError, (nn::utils::vector_to_parameters(ones({4}), parameters), 0),
         "vector_to_parameters: the parameters have 3 elements; a vector of these, not [4]");
  std::vector<ParameterRef> gone;
  gone = nn::Linear(1, 1).parameters();
  THROWS(Error, nn::utils::parameters_to_vector(gone), "parameters_to_vector: a parameter was destroyed");
}

BOOST_AUTO_TEST_CASE(fractional_pools_draw) {
  Generator g(4);
  const nn::FractionalMaxPool2d pool{2, {.output_ratio = {0.5}, .generator = &g}};
  const Tensor x = reshape(arange(100.0), {1, 10, 10});
  const auto [values, indices] = pool.with_indices(x);
  check::equal(indices.to(float32), float32, {1, 5, 5},
               values.to_vector<double>());  // each value is its position
  const std::vector<double> v = values.to_vector<double>();
  BOOST_TEST(v.back() == 99);
  BOOST_TEST(std::is_sorted(v.begin(), v.end()));
  BOOST_TEST(g.position() == 1u);
}

BOOST_AUTO_TEST_CASE(clusters_of_classes) {
  const nn::AdaptiveLogSoftmaxWithLoss a{6, 9, {3, 5}};
  const Tensor x = lazy::randn({4, 6}), labels = tensor({0, 3, 8, 5});
  const Tensor all = a.log_prob(x);
  check::close(sum(exp(all), -1), {1, 1, 1, 1}, 1e-5);
  check::same(a.predict(x), argmax(all, -1));
  const auto [output, loss] = a(x, labels);
  check::close(output, take_along_axis(all, labels.unsqueeze(-1), -1).flatten().to_vector<double>(), 1e-6);
  check::close(a(x(0), tensor(0)).output, {output(0).item<double>()}, 1e-6);
}

BOOST_AUTO_TEST_CASE(a_padding_row_has_no_gradient) {
  nn::Embedding e{3, 2, {.padding_idx = 1}};
  check::equal(e.weight(1), float32, {2}, {0, 0});
  sum(e(tensor({1, 2, 1}))).backward();
  check::equal(e.weight.grad(), float32, {3, 2}, {0, 0, 0, 0, 1, 1});
  const nn::Embedding given = nn::Embedding::from_pretrained(tensor({{1.0, 2.0}}));
  check::equal(given(tensor({0, 0})), float32, {2, 2}, {1, 2, 1, 2});
  BOOST_TEST(!given.weight.requires_grad());
}

BOOST_AUTO_TEST_SUITE_END()
