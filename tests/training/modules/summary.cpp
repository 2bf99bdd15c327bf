// Tests lazy::summary(model, input): numbers that are known of models, and that nothing changes by it.
#include <boost/test/unit_test.hpp>

#include "lazy/lazy.hpp"
#include "lazy/models/gpt2.hpp"
#include "lazy/models/resnet.hpp"
#include "lazy/nn/nn.hpp"

using namespace lazy;

namespace {

const ModuleRow& row(const ModuleSummary& s, const std::string& path) {
  for (const ModuleRow& r : s.rows)
    if (r.path == path) return r;
  BOOST_FAIL("no module " + path);
  return s.rows.front();
}

struct Mlp : nn::Module {
  nn::Linear hidden{784, 512}, out{512, 10, {.bias = false}};
  nn::Dropout drop{0.1};
  LAZY_MODULE(hidden, drop, out)
  Tensor operator()(const Tensor& x) const { return out(drop(relu(hidden(x)))); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(module_summaries)

// Parameters and multiply-adds as torchinfo counts them.
BOOST_AUTO_TEST_CASE(resnet18_at_224) {
  models::ResNet model = models::resnet18();
  const Metrics before = metrics();
  const ModuleSummary s = summary(model, zeros({1, 3, 224, 224}));
  BOOST_TEST(metrics().flushes == before.flushes);
  BOOST_TEST(s.total().path == "");
  BOOST_TEST(s.total().type == "ResNet");
  BOOST_TEST(s.total().parameters == 11689512);
  BOOST_TEST(s.total().trained == 11689512);
  BOOST_TEST(s.total().multiply_adds == 1814073344.0);
  BOOST_TEST(s.total().output == Shape({1, 1000}));
  const ModuleRow& stem = row(s, "conv1");
  BOOST_TEST(stem.type == "Conv2d");
  BOOST_TEST(stem.depth == 1);
  BOOST_TEST(stem.parameters == 9408);
  BOOST_TEST(stem.output == Shape({1, 64, 112, 112}));
  BOOST_TEST(stem.multiply_adds == 118013952.0);
  BOOST_TEST(stem.flops == 2 * 118013952.0);
  BOOST_TEST(stem.bytes == 4.0 * (3 * 224 * 224 + 9408 + 64 * 112 * 112));
  BOOST_TEST(row(s, "layer1.0.conv1").multiply_adds == 115605504.0);
  BOOST_TEST(row(s, "layer4.1.conv2").output == Shape({1, 512, 7, 7}));
  BOOST_TEST(row(s, "layer2.0.downsample.0").multiply_adds == 6422528.0);
  BOOST_TEST(row(s, "layer1.0").output == Shape({1, 64, 56, 56}));
  BOOST_TEST(row(s, "layer1.0").multiply_adds == 2 * 115605504.0);
  BOOST_TEST(row(s, "bn1").output == Shape({1, 64, 112, 112}));
  BOOST_TEST(row(s, "fc").multiply_adds == 512000.0);
  BOOST_TEST(row(s, "fc").parameters == 513000);
  BOOST_TEST(row(s, "fc").output == Shape({1, 1000}));
  BOOST_TEST(row(s, "layer1.0").depth == 1);
  BOOST_TEST(row(s, "layer1.0.conv1").depth == 2);
  BOOST_TEST(to_string(s).find("\n  layer1.0: ResidualBlock  ") != std::string::npos);
  BOOST_TEST(to_string(s).find("\n    conv1: Conv2d  ") != std::string::npos);
  double parts = 0;
  for (const ModuleRow& r : s.rows)
    if (r.type == "Conv2d" || r.type == "Linear") parts += r.multiply_adds;
  BOOST_TEST(parts == s.total().multiply_adds);
}

BOOST_AUTO_TEST_CASE(layers_of_matrices) {
  Mlp model;
  const ModuleSummary s = summary(model, zeros({32, 784}));
  BOOST_TEST(s.rows.size() == 4u);
  const ModuleRow &hidden = row(s, "hidden"), &out = row(s, "out"), &drop = row(s, "drop");
  BOOST_TEST(hidden.parameters == 784 * 512 + 512);
  BOOST_TEST(hidden.multiply_adds == 32.0 * 784 * 512);
  BOOST_TEST(hidden.flops == 2 * 32.0 * 784 * 512 + 32 * 512);
  BOOST_TEST(hidden.output == Shape({32, 512}));
  BOOST_TEST(hidden.bytes == 4.0 * (32 * 784 + 784 * 512 + 512 + 32 * 512));
  BOOST_TEST(out.multiply_adds == 32.0 * 512 * 10);
  BOOST_TEST(out.output == Shape({32, 10}));
  BOOST_TEST(!drop.called);
  // relu is the model's own.
  BOOST_TEST(s.total().flops == hidden.flops + out.flops + 32 * 512);
  BOOST_TEST(s.total().bytes == 4.0 * (32 * 784 + 784 * 512 + 512 + 512 * 10 + 32 * 10));
}

BOOST_AUTO_TEST_CASE(nothing_changes) {
  struct Net : nn::Module {
    nn::Conv2d conv{3, 4, 3};
    nn::BatchNorm2d norm{4};
    nn::Linear frozen{4, 2};
    LAZY_MODULE(conv, norm, frozen)
    Tensor operator()(const Tensor& x) { return frozen(mean(norm(conv(x)), {2, 3})); }
  } net;
  net.frozen.eval();
  net.frozen.requires_grad_(false);
  const auto state = net.state_dict();
  const ModuleSummary s = summary(net, rand({2, 3, 8, 8}));
  BOOST_TEST(net.training());
  BOOST_TEST(net.conv.training());
  BOOST_TEST(net.norm.training());
  BOOST_TEST(!net.frozen.training());
  for (const auto& [name, value] : net.state_dict())
    BOOST_TEST(value.to_vector<float>() == state.at(name).to_vector<float>(), name);
  BOOST_TEST(s.total().trained == s.total().parameters - 10);
  BOOST_TEST(row(s, "norm").output == Shape({2, 4, 6, 6}));
  for (const auto& p : net.parameters()) BOOST_TEST(!p->grad().defined());
}

BOOST_AUTO_TEST_CASE(several_inputs_by_a_call) {
  models::GPT2 model({.vocab_size = 100, .n_positions = 32, .n_embd = 16, .n_layer = 2, .n_head = 2});
  const Tensor ids = zeros({1, 8}, int64);
  const ModuleSummary s = summary(model, [&] { (void)model(ids); });
  BOOST_TEST(s.total().called);
  BOOST_TEST(s.total().parameters == model.num_parameters());
  BOOST_TEST(s.total().output.size() == 3);
  std::string text = to_string(s);
  BOOST_TEST(text.find("module ") == 0u);
  BOOST_TEST(text.find("GPT2") != text.npos);
}

BOOST_AUTO_TEST_CASE(the_table) {
  Mlp model;
  const std::string text = to_string(summary(model, zeros({1, 784})));
  BOOST_TEST(text ==
                 "module            output    parameters  multiply-adds    flops     bytes\n"
                 "Mlp               [1, 10]      407,040          407 K    814 K   1.6 MiB\n"
                 "  hidden: Linear  [1, 512]     401,920          401 K    803 K   1.5 MiB\n"
                 "  drop: Dropout   -                  -              -        -         -\n"
                 "  out: Linear     [1, 10]        5,120         5.12 K  10.24 K  22.0 KiB\n"
                 "407,040 parameters, 407,040 of them trained; 407 K multiply-adds, 814 K flops, 1.6 MiB to "
                 "read and "
                 "write at least\n",
             text);
}

BOOST_AUTO_TEST_CASE(what_the_call_throws) {
  Mlp model;
  BOOST_CHECK_THROW(summary(model, zeros({1, 3})), ShapeError);
  BOOST_TEST(model.training());
}

BOOST_AUTO_TEST_SUITE_END()
