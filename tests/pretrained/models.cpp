// Tests what configs choose in models, beside what tests/training/models compares.
#include "lazy/nn/modules/init.hpp"
#include "tests/pretrained/folders.hpp"

using namespace lazy;
using namespace pretrained_test;

namespace {

double difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<double>(); }

/// Returns the largest difference between logits of all tokens at once and of one after the other.
double cached_differs_by(const models::LlamaConfig& c) {
  const no_grad scope;
  manual_seed(5);
  models::Llama llama(c);
  llama.apply([](nn::Linear& l) { nn::init::normal_(l.weight, 0, 0.4); });
  const Tensor ids = randint(0, c.vocab_size, {2, 12});
  const Tensor whole = llama(ids);
  models::LlamaCache cache = llama.cache(2, 12);
  double most = difference(llama(ids(_, slice(5)), cache), whole(_, slice(5)));
  for (int64_t i = 5; i < 12; ++i)
    most = std::max(most, difference(llama(ids(_, slice(i, i + 1)), cache), whole(_, slice(i, i + 1))));
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(models_of_configs)

BOOST_AUTO_TEST_CASE(caches_agree_with_whole_texts) {
  models::LlamaConfig c = small_llama_config();
  BOOST_TEST(cached_differs_by(c) < 1e-4);
  c.sliding_window = 3;
  BOOST_TEST(cached_differs_by(c) < 1e-4);
  c.head_dim = 6;
  c.tie_word_embeddings = true;
  c.rope_scaling = {.type = models::RopeType::yarn, .factor = 4};
  BOOST_TEST(cached_differs_by(c) < 1e-4);
  // The first five tokens alone would be turned by the factors of short texts.
  c.rope_scaling = {.type = models::RopeType::longrope,
                    .original_max_position_embeddings = 8,
                    .factors = {1, 2, 3},
                    .long_factors = {2, 5, 9}};
  BOOST_TEST(cached_differs_by(c) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_sliding_window_hides_what_is_before_it) {
  const no_grad scope;
  models::LlamaConfig c = small_llama_config();
  c.num_hidden_layers = 1;
  c.sliding_window = 3;
  const models::Llama llama(c);
  const Tensor a = tensor<int64_t>({{1, 2, 3, 4, 5, 6}}), b = tensor<int64_t>({{9, 2, 3, 4, 5, 6}});
  const Tensor x = llama(a), y = llama(b);
  BOOST_TEST(difference(x(_, slice(3, 6)), y(_, slice(3, 6))) == 0);
  BOOST_TEST(difference(x(_, slice(1, 3)), y(_, slice(1, 3))) > 0);
}

BOOST_AUTO_TEST_CASE(frequencies_of_longer_texts) {
  using models::RopeType;
  const auto values = [](const models::RopeScaling& r, int64_t length = 10) {
    return models::rope_frequencies(r, 100, 4, 16, length).values;
  };
  BOOST_TEST(values({}).empty());
  BOOST_TEST(values({.type = RopeType::linear, .factor = 2}) == (std::vector<float>{0.5f, 0.05f}));
  BOOST_TEST(values({.type = RopeType::dynamic, .factor = 2}) == (std::vector<float>{1, 0.1f}));
  // 32 tokens of a model for 16: the base is 100 * 3^2.
  BOOST_TEST(values({.type = RopeType::dynamic, .factor = 2}, 32)[1] == static_cast<float>(1 / 30.0));
  BOOST_TEST(values({.factors = {2, 4}}) == (std::vector<float>{0.5f, 0.025f}));
  const models::RopeScaling longrope{.type = RopeType::longrope,
                                     .original_max_position_embeddings = 8,
                                     .factors = {1, 2},
                                     .long_factors = {2, 4}};
  BOOST_TEST(values(longrope, 8) == (std::vector<float>{1, 0.05f}));
  BOOST_TEST(values(longrope, 9) == (std::vector<float>{0.5f, 0.025f}));
  BOOST_TEST(models::rope_frequencies(longrope, 100, 4, 16, 1).scale == std::sqrt(4.0 / 3),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(
      models::rope_frequencies({.type = RopeType::yarn, .factor = std::exp(1.0)}, 100, 4, 16, 1).scale == 1.1,
      boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(rotations_by_frequencies_are_those_of_their_base) {
  const Tensor x = rand({2, 3, 5, 4}), places = arange(5).astype(float32);
  const Tensor frequencies = tensor({1.0f, 0.1f});
  for (const bool interleaved : {false, true})
    BOOST_TEST(difference(rotary_embedding(x, places, frequencies, interleaved),
                          rotary_embedding(x, places, 100.0, interleaved)) < 1e-6);
  BOOST_TEST(says(thrown<ShapeError>([&] { (void)rotary_embedding(x, places, ones({3})); }),
                  "frequencies [3] for [2, 3, 5, 4]"));
}

BOOST_AUTO_TEST_CASE(without_first_values_nothing_is_drawn) {
  manual_seed(3);
  const double expected = rand({1}).item<double>();
  manual_seed(3);
  {
    const nn::init::Skip skip;
    BOOST_TEST(nn::init::Skip::active());
    nn::Linear l(4, 3);
    nn::init::normal_(l.weight);
    BOOST_TEST(max(abs(l.weight)).item<double>() == 0);
    const models::Bert bert = small_bert();
    BOOST_TEST(max(abs(bert.embeddings.word_embeddings.weight)).item<double>() == 0);
    const models::GPT2 gpt({.vocab_size = 20, .n_positions = 4, .n_embd = 8, .n_layer = 1, .n_head = 2});
    BOOST_TEST(max(abs(gpt.transformer.h[0].attn.c_attn.weight)).item<double>() == 0);
  }
  BOOST_TEST(!nn::init::Skip::active());
  BOOST_TEST(rand({1}).item<double>() == expected);
  BOOST_TEST(max(abs(nn::Linear(4, 3).weight)).item<double>() > 0);
}

BOOST_AUTO_TEST_CASE(each_activation_is_its_formula) {
  using models::Activation;
  const Tensor x = tensor({-1.5f, 0.5f});
  BOOST_TEST(difference(models::activate(Activation::quick_gelu, x), x * sigmoid(x * 1.702)) < 1e-7);
  BOOST_TEST(difference(models::activate(Activation::gelu, x), gelu(x)) == 0);
  BOOST_TEST(difference(models::activate(Activation::gelu_tanh, x), gelu(x, Approximate::tanh)) == 0);
  BOOST_TEST(difference(models::activate(Activation::relu, x), relu(x)) == 0);
  BOOST_TEST(difference(models::activate(Activation::silu, x), silu(x)) == 0);
  BOOST_TEST(difference(models::activate(Activation::tanh, x), tanh(x)) == 0);
  BOOST_TEST(difference(models::activate(Activation::sigmoid, x), sigmoid(x)) == 0);
  BOOST_TEST(difference(models::activate(Activation::mish, x), mish(x)) == 0);
}

BOOST_AUTO_TEST_CASE(models_without_heads_say_so) {
  const models::ViT vit(
      {.image_size = 8, .patch_size = 4, .layers = 1, .heads = 2, .width = 8, .mlp = 8, .classes = 0});
  const Tensor x = rand({1, 3, 8, 8});
  BOOST_TEST((vit.encode(x).shape() == Shape{1, 5, 8}));
  BOOST_TEST(says(thrown<Error>([&] { (void)vit(x); }), "the model has no heads to classify with: encode()"));
  BOOST_TEST(says(thrown<Error>([] {
                    models::BertConfig c = small_bert().config();
                    c.pooler = false;
                    (void)models::BertForSequenceClassification(c, 2);
                  }),
                  "pooler = true"));
  models::BertConfig c = small_bert().config();
  c.type_vocab_size = 0;
  const Tensor ids = ones({1, 3}, int64);
  BOOST_TEST(says(thrown<Error>([&] { (void)models::Bert(c)(ids, {}, ids); }),
                  "token types for a model that has none"));
}

BOOST_AUTO_TEST_SUITE_END()
