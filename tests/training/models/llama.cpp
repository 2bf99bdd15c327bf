// The caches of decoders: what is computed token by token is what is computed at once, by one program.
#include <boost/test/unit_test.hpp>

#include "cases.hpp"
#include "formula.hpp"
#include "lazy/models/models.hpp"

using namespace lazy;

namespace {

/// Compares what a model computes token by token with what it computes at once.
template <class M>
void compare_with_cache(M& model) {
  parity::fill(model);
  model.eval();
  const no_grad scope;
  const Tensor ids = parity::integers("ids", {3, 20}, 30);
  const Tensor whole = model(ids);
  whole.eval();
  models::KeyValueCache cache = model.cache(3, 24);
  // A prompt, then a token at a time.
  Tensor found = model(ids(_, slice(0, 6)), cache);
  BOOST_TEST(max(abs(found - whole(_, slice(0, 6)))).item<double>() < 1e-4);
  for (int64_t t = 6; t < 20; ++t) {
    const Tensor token = ids(_, slice(t, t + 1)).copy();
    token.eval();
    const Metrics before = metrics();
    found = model(token, cache);
    found.eval();
    eval(cache.keys);
    eval(cache.values);
    const Metrics after = metrics();
    if (t >= 9) BOOST_TEST(after.program_misses == before.program_misses, "token " << t << " compiles");
    BOOST_TEST(max(abs(found - whole(_, slice(t, t + 1)))).item<double>() < 1e-4);
  }
  BOOST_TEST(cache.length == 20);
  BOOST_CHECK_THROW(model(ids(_, slice(0, 5)), cache), ShapeError);            // no place for them
  BOOST_CHECK_THROW(model(ids(slice(0, 2), slice(0, 1)), cache), ShapeError);  // another batch
  models::KeyValueCache none;
  BOOST_CHECK_THROW(model(ids, none), ShapeError);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training_models)

BOOST_AUTO_TEST_CASE(a_cache_gives_what_all_tokens_give) {
  models::Llama llama({.vocab_size = 30,
                       .hidden_size = 16,
                       .intermediate_size = 20,
                       .num_hidden_layers = 2,
                       .num_attention_heads = 4,
                       .num_key_value_heads = 2,
                       .max_position_embeddings = 32});
  compare_with_cache(llama);
}

BOOST_AUTO_TEST_CASE(a_cache_of_gpt2_gives_what_all_tokens_give) {
  for (const bool tied : {true, false}) {
    models::GPT2 gpt({.vocab_size = 30,
                      .n_positions = 32,
                      .n_embd = 12,
                      .n_layer = 2,
                      .n_head = 3,
                      .tie_word_embeddings = tied});
    compare_with_cache(gpt);
  }
}

// A cache may have more places than the model has positions.
BOOST_AUTO_TEST_CASE(positions_of_gpt2_end) {
  models::GPT2 gpt({.vocab_size = 30, .n_positions = 8, .n_embd = 12, .n_layer = 1, .n_head = 3});
  gpt.eval();
  const no_grad scope;
  models::GPT2Cache cache = gpt.cache(1, 20);
  gpt(zeros({1, 6}, int64), cache).eval();
  BOOST_CHECK_THROW(gpt(zeros({1, 3}, int64), cache), ShapeError);
  BOOST_CHECK_NO_THROW(gpt(zeros({1, 2}, int64), cache).eval());
}

BOOST_AUTO_TEST_CASE(rows_of_a_cache_take_others_places) {
  models::GPT2 gpt({.vocab_size = 30, .n_positions = 8, .n_embd = 12, .n_layer = 2, .n_head = 3});
  parity::fill(gpt);
  gpt.eval();
  const no_grad scope;
  const Tensor ids = parity::integers("ids", {3, 6}, 30), rows = tensor<int64_t>({2, 0, 0});
  models::GPT2Cache cache = gpt.cache(3, 8);
  gpt(ids(_, slice(0, 5)), cache).eval();
  cache.reorder(rows);
  const Tensor found = gpt(take(ids(_, slice(5, 6)), rows, 0), cache);
  const Tensor whole = gpt(take(ids, rows, 0))(_, slice(5, 6));
  BOOST_TEST(max(abs(found - whole)).item<double>() < 1e-4);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_of_models) {
  const models::GPT2 gpt({.vocab_size = 30, .n_positions = 8, .n_embd = 12, .n_layer = 1, .n_head = 3});
  BOOST_CHECK_THROW(gpt(zeros({2, 9}, int64)), ShapeError);
  BOOST_CHECK_THROW(gpt(zeros({9}, int64)), ShapeError);
  BOOST_CHECK_THROW(gpt(zeros({2, 4})), DtypeError);
  BOOST_CHECK_THROW(gpt(full({2, 4}, 30)).eval(), IndexError);
  BOOST_CHECK_THROW(models::GPT2({.n_embd = 10, .n_layer = 1, .n_head = 3}), ShapeError);
  BOOST_CHECK_THROW(models::ViT({.image_size = 20, .patch_size = 16}), ShapeError);
  const models::ViT vit({.image_size = 16, .patch_size = 8, .layers = 1, .heads = 2, .width = 8, .mlp = 8});
  BOOST_CHECK_THROW(vit(zeros({1, 3, 8, 8})), ShapeError);
  BOOST_CHECK_THROW(models::ResNet({.layers = {1, 1}}), Error);
  BOOST_CHECK_THROW(models::MobileNetV3({}), Error);
  BOOST_CHECK_THROW(models::DLRM({.bottom = {13, 5}}), ShapeError);
  const models::DLRM dlrm({.tables = {10, 20}, .dimension = 4, .bottom = {3, 4}, .top = {1}});
  BOOST_CHECK_THROW(dlrm(zeros({2, 3}), zeros({2, 3}, int64)), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
