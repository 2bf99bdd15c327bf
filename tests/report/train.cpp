// Trains a small model, whose modules are named in the trace.
#include <lazy/lazy.hpp>
#include <lazy/nn/nn.hpp>
#include <lazy/optim/optim.hpp>

using namespace lazy;

namespace {

struct Block : nn::Module {
  nn::LayerNorm norm{64};
  nn::Linear inner{64, 128}, outer{128, 64};
  LAZY_MODULE(norm, inner, outer)
  Tensor operator()(const Tensor& x) const { return x + outer(gelu(inner(norm(x)))); }
};
struct Net : nn::Module {
  std::vector<Block> blocks;
  nn::Linear head{64, 4};
  Net() : blocks(3) {}
  LAZY_MODULE(blocks, head)
  Tensor operator()(Tensor x) const {
    for (const Block& b : blocks) x = b(x);
    return head(x);
  }
};

}  // namespace

int main() {
  Net net;
  const TraceModules named(net);
  optim::AdamW step(net.parameters(), {.lr = 1e-3});
  const Tensor x = rand({32, 64}).eval();
  for (int i = 0; i < 8; ++i) {
    step.zero_grad();
    const Tensor loss = mean(square(net(x)));
    loss.backward();
    step.step();
    (void)loss.item<float>();
  }
}
