// Learns to write a text letter by letter with a small transformer, and writes some of it as it learns.
#include <cstdio>

#include "demo.hpp"
#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/training.hpp"
#include "steps.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(gpt [TEXT [STEPS]]
Learns a text (default: /usr/share/common-licenses/GPL-3, 1500 steps) and writes four pieces of its own.
)";

constexpr int64_t kWidth = 64, kHeads = 4, kContext = 64, kBatch = 16;

/// Says which letters a layer goes on with, and where it keeps their keys and values.
struct Cached {
  nn::PagedCache& cache;
  const nn::PagedStep& step;
  int64_t layer = 0;
};
nn::PagedCache empty_cache(size_t layers) {
  return nn::PagedCache(
      {.layers = static_cast<int64_t>(layers), .heads = kHeads, .width = kWidth / kHeads, .blocks = 8});
}

struct Block : nn::Module {
  nn::LayerNorm norm{{kWidth}}, norm2{{kWidth}};
  nn::Linear qkv{kWidth, 3 * kWidth}, proj{kWidth, kWidth}, up{kWidth, 4 * kWidth}, down{4 * kWidth, kWidth};
  LAZY_MODULE(norm, qkv, proj, norm2, up, down)

  /// Takes whole texts (n, t, width), or, with a cache, the next t letters of n texts.
  Tensor operator()(const Tensor& x, const Cached* cached = nullptr) const {
    const int64_t n = x.size(0), t = x.size(1), width = kWidth / kHeads;
    const Tensor split = qkv(norm(x)).reshape({n, t, 3, kHeads, width});
    if (cached) {
      const Tensor rows = split.reshape({n * t, 3, kHeads, width}).permute({1, 0, 2, 3});
      return rest(x, cached->cache.attend(cached->step, cached->layer, rows(0), rows(1), rows(2)));
    }
    const Tensor heads = split.permute({2, 0, 3, 1, 4});
    return rest(x,
                scaled_dot_product_attention(heads(0), heads(1), heads(2), {}, true).permute({0, 2, 1, 3}));
  }
  /// Goes on with what the letters attend to.
  Tensor rest(const Tensor& x, const Tensor& seen) const {
    const Tensor y = x + proj(seen.reshape(x.shape()));
    return y + down(gelu(up(norm2(y))));
  }
};

struct Gpt : nn::Module {
  nn::Embedding letters, places{kContext, kWidth};
  std::vector<Block> blocks{2};
  nn::LayerNorm norm{{kWidth}};
  nn::Linear out;
  LAZY_MODULE(letters, places, blocks, norm, out)
  explicit Gpt(int64_t size) : letters(size, kWidth), out(kWidth, size) {}

  /// Returns for each letter of (n, t) the scores of the next one.
  Tensor operator()(const Tensor& text) const {
    Tensor x = letters(text) + places(arange(text.size(1)));
    for (const Block& b : blocks) x = b(x);
    return out(norm(x));
  }
  /// Does so for the next letter (1, 1) of a text, given those before it.
  Tensor next(const Tensor& letter, nn::PagedCache& cache, int64_t text) const {
    Tensor x = letters(letter) + places(full({1, 1}, cache.length(text)));
    const nn::PagedStep step = cache.extend({text}, {1});
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Cached cached{cache, step, static_cast<int64_t>(i)};
      x = blocks[i](x, &cached);
    }
    return out(norm(x));
  }
};

/// Goes on with a text up to the context's end, each letter in one flush.
std::string written(const Gpt& model, const data::CharVocabulary& vocabulary, const std::string& begin,
                    demo::Steps& counted) {
  const no_grad scope;
  std::vector<int64_t> text = vocabulary.encode(begin);
  nn::PagedCache cache = empty_cache(model.blocks.size());
  const int64_t own = cache.add();
  Tensor letter;
  for (int64_t at = 0; at + 1 < kContext; ++at)
    counted.run([&] {
      const auto given = static_cast<size_t>(at);
      if (given < text.size()) letter = full({1, 1}, text[given]);
      const Tensor scores = model.next(letter, cache, own);
      letter = multinomial(softmax(scores(0) / 0.7, -1), 1);
      const int64_t drawn = letter.item<int64_t>();
      if (given + 1 >= text.size()) text.push_back(drawn);
    });
  std::string shown = vocabulary.decode(text);
  for (char& c : shown) c = c == '\n' ? ' ' : c;
  return shown;
}

/// Returns by how much scores of the cache differ from those of the whole text at once.
double off(const Gpt& model, const Tensor& text) {
  const no_grad scope;
  nn::PagedCache cache = empty_cache(model.blocks.size());
  const int64_t own = cache.add();
  Tensor last;
  for (int64_t at = 0; at < kContext; ++at) {
    last = model.next(text(slice(at, at + 1)).reshape({1, 1}), cache, own);
    last.eval();
  }
  return max(abs(last(0, 0) - model(text.reshape({1, kContext}))(0, -1))).item<double>();
}

void learn(const demo::Arguments& arguments) {
  const std::string text = data::read_text(demo::argument(arguments, 0, "/usr/share/common-licenses/GPL-3"));
  const long steps = demo::number(arguments, 1, 1500, 4, 1000000);
  if (text.size() <= static_cast<size_t>(kContext)) throw demo::Failure("the text is too short");
  manual_seed(2);
  const data::CharVocabulary vocabulary(text);
  Gpt model(vocabulary.size());
  std::printf("%zu letters, %lld different ones; %lld parameters\n", text.size(),
              static_cast<long long>(vocabulary.size()), static_cast<long long>(model.num_parameters()));

  const data::TextDataset pieces(vocabulary.encode(text), kContext);
  const auto order =
      std::make_shared<data::RandomSampler>(pieces.size(), default_generator(), true, steps * kBatch);
  data::DataLoader loader(pieces, {.batch_size = kBatch, .workers = 1, .sampler = order});
  optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  optim::lr_scheduler::OneCycleLR schedule(
      optimizer, {.max_lr = {3e-3}, .total_steps = steps + 1, .pct_start = 0.1, .cycle_momentum = false});
  training::Progress progress(steps, "gpt", demo::on_standard_output());
  demo::Steps trained, letters;
  const std::string begin = text.substr(text.find_first_not_of(" \n\t"), 1);
  double loss_now = 0;
  long step = 0;
  std::fflush(stdout);
  for (const auto& [x, y] : loader) {
    Tensor loss;
    trained.run([&, &x = x, &y = y] {
      optimizer.zero_grad();
      loss = cross_entropy(model(x).reshape({kBatch * kContext, -1}), y.reshape({-1}));
      loss.backward();
      optim::clip_grad_norm_(model.parameters(), 1);
      optimizer.step();
      schedule.step();
      progress.update(loss);
    });
    if (++step % (steps / 4) != 0) continue;
    loss_now = loss.item<double>();
    progress.say("step " + std::to_string(step) + ": " + written(model, vocabulary, begin, letters));
  }
  progress.finish();
  std::printf("%s in the end\n", loss_now < 2.2 ? "it writes words" : "it has not learned much");
  const double differs = off(model, pieces.get(0).x.tensor());
  std::printf("with and without a cache scores differ by %.1e: %s\n", differs,
              differs < 1e-4 ? "ok" : "wrong");
  std::printf("learning: ");
  trained.report();
  std::printf("writing: ");
  letters.report();
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, learn); }
