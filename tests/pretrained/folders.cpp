// Tests what is read of a folder, and what is said of one that can't be read.
#include "tests/pretrained/folders.hpp"
#include "lazy/inference/session.hpp"

using namespace lazy;
using namespace pretrained_test;

namespace {

const Tensor kIds = tensor<int64_t>({{1, 2, 3, 4}, {5, 6, 7, 8}});

/// Returns what loading a folder throws.
std::string load_error(const fs::path& folder) {
  return thrown<Error>([&] { (void)pretrained::load(folder); });
}

/// Saves a small Llama, changes its config, and returns what loading it throws.
template <class F>
std::string llama_error(F&& change) {
  const Folder folder;
  models::save_pretrained(models::Llama(small_llama_config()), folder.path());
  change_config(folder.path(), change);
  return load_error(folder.path());
}
template <class F>
std::string bert_error(F&& change) {
  const Folder folder;
  models::save_pretrained(small_bert(), folder.path());
  change_config(folder.path(), change);
  return load_error(folder.path());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pretrained_folders)

BOOST_AUTO_TEST_CASE(what_is_saved_is_loaded) {
  const Folder folder;
  models::Bert bert = small_bert();
  bert.eval();
  models::save_pretrained(bert, folder.path());
  const auto again = models::from_pretrained<models::Bert>(folder.path());
  BOOST_TEST(!again.training());
  BOOST_TEST(all(again(kIds).last_hidden_state == bert(kIds).last_hidden_state).item<bool>());
  BOOST_TEST(all(again(kIds).pooler_output == bert(kIds).pooler_output).item<bool>());
}

BOOST_AUTO_TEST_CASE(any_architecture_is_found_by_its_name) {
  const Folder folder;
  const models::Llama llama(small_llama_config());
  models::save_pretrained(llama, folder.path());
  pretrained::Model model = pretrained::load(folder.path());
  BOOST_TEST(model.architecture() == "LlamaForCausalLM");
  BOOST_TEST(model.inputs().size() == 1u);
  BOOST_TEST(model.get<models::Llama>()->config().num_key_value_heads == 1);
  BOOST_TEST(model.get<models::Bert>() == nullptr);
  BOOST_TEST(all(model({{"input_ids", kIds}}).at("logits") == llama(kIds)).item<bool>());
  pretrained::Model copy = model;
  model = pretrained::Model();
  BOOST_TEST(copy(std::vector{kIds}).size() == 1u);
  BOOST_TEST(copy.num_parameters() == llama.num_parameters());
  BOOST_TEST(says(thrown<Error>([&] { (void)model.inputs(); }), "was not loaded"));
  BOOST_TEST(says(thrown<Error>([&] { (void)copy({{"ids", kIds}}); }), "the input input_ids is missing"));
  BOOST_TEST(says(thrown<Error>([&] {
                    (void)copy({{"input_ids", kIds}, {"mask", kIds}});
                  }),
                  "there is no input 'mask'"));
}

BOOST_AUTO_TEST_CASE(weights_share_the_file_and_are_not_drawn) {
  const Folder folder;
  models::BertConfig c{.vocab_size = 5000,
                       .hidden_size = 64,
                       .num_hidden_layers = 1,
                       .num_attention_heads = 2,
                       .intermediate_size = 64};
  models::save_pretrained(models::Bert(c), folder.path());
  manual_seed(7);
  const Tensor first = rand({4}).eval();
  manual_seed(7);
  const uint64_t before = metrics().bytes_live;
  const auto bert = models::from_pretrained<models::Bert>(folder.path());
  const auto ids = bert(kIds).last_hidden_state;
  BOOST_TEST(metrics().bytes_live - before < 5000u * 64);  // a quarter of the words' weights
  BOOST_TEST(all(rand({4}) == first).item<bool>());
}

BOOST_AUTO_TEST_CASE(dtypes_are_the_configs_or_the_options) {
  const Folder folder;
  models::Llama llama(small_llama_config());
  llama.to(bfloat16);
  models::save_pretrained(llama, folder.path());
  BOOST_TEST((models::from_pretrained<models::Llama>(folder.path()).model.norm.weight.dtype() == bfloat16));
  const auto wide = models::from_pretrained<models::Llama>(folder.path(), {.dtype = float32});
  BOOST_TEST((wide.model.norm.weight.dtype() == float32));
  BOOST_TEST((pretrained::load(folder.path()).inputs()[0].dtype == int64));
  BOOST_TEST((pretrained::load(folder.path()).outputs()[0].dtype == bfloat16));
  BOOST_TEST(says(thrown<DtypeError>([&] { (void)pretrained::load(folder.path(), {.dtype = int8}); }),
                  "weights are floating-point numbers, not int8"));
  change_config(folder.path(), [](auto& j) { j["torch_dtype"] = "float32"; });
  BOOST_TEST((models::from_pretrained<models::Llama>(folder.path()).model.norm.weight.dtype() == float32));
  change_config(folder.path(), [](auto& j) { j["torch_dtype"] = "float8"; });
  BOOST_TEST(
      says(load_error(folder.path()),
           "torch_dtype is \"float8\", which is not supported; supported: float32, float16, bfloat16"));
}

BOOST_AUTO_TEST_CASE(rows_of_one_matrix_are_several_of_the_model) {
  const Folder folder;
  models::LlamaConfig c = small_llama_config();
  c.sliding_window = 3;
  c.rope_scaling = {.type = models::RopeType::longrope,
                    .original_max_position_embeddings = 3,
                    .factors = {1, 2},
                    .long_factors = {3, 4}};
  models::Llama llama(c);
  models::save_pretrained(llama, folder.path());
  const Safetensors file = load_safetensors((folder.path() / "model.safetensors").string());
  BOOST_TEST((file.at("model.layers.1.self_attn.qkv_proj.weight").shape() == Shape{16, 8}));
  BOOST_TEST((file.at("model.layers.1.mlp.gate_up_proj.weight").shape() == Shape{24, 8}));
  BOOST_TEST(!file.contains("model.layers.1.mlp.up_proj.weight"));
  // transformers takes these three and no more.
  BOOST_TEST(nlohmann::json::parse(read(folder.path() / "config.json")).at("rope_scaling").dump() ==
             R"({"long_factor":[3.0,4.0],"short_factor":[1.0,2.0],"type":"longrope"})");
  pretrained::Model model = pretrained::load(folder.path());
  BOOST_TEST(model.architecture() == "Phi3ForCausalLM");
  BOOST_TEST(all(model({{"input_ids", kIds}}).at("logits") == llama(kIds)).item<bool>());
  const auto narrow = models::from_pretrained<models::Llama>(folder.path(), {.dtype = bfloat16});
  BOOST_TEST(all(narrow.model.layers[1].self_attn.k_proj.weight ==
                 llama.model.layers[1].self_attn.k_proj.weight.astype(bfloat16))
                 .item<bool>());
  change_config(folder.path(), [](auto& j) { j["num_key_value_heads"] = 2; });
  BOOST_TEST(says(load_error(folder.path()),
                  "'model.layers.0.self_attn.v_proj.weight' is [8, 8] by the config, and [0, 8] float32"));
  change_weights(folder.path(), [](const NamedTensors& from) {
    NamedTensors all;
    for (const auto& [name, t] : from)
      if (!name.ends_with("0.self_attn.qkv_proj.weight")) all.set(name, t);
    return all;
  });
  BOOST_TEST(says(load_error(folder.path()), "'model.layers.0.self_attn.q_proj.weight'"));
}

BOOST_AUTO_TEST_CASE(names_that_differ_are_all_listed_with_the_nearest) {
  const Folder folder;
  models::save_pretrained(small_bert(), folder.path());
  change_weights(folder.path(), [](const NamedTensors& from) {
    NamedTensors all;
    for (const auto& [name, t] : from)
      if (name == "encoder.layer.0.output.dense.bias") all.set("encoder.layer.0.output.dens.bias", t);
      else if (name != "pooler.dense.bias") all.set(name, t);
    all.set("another", ones({2}));
    return all;
  });
  const std::string e = load_error(folder.path());
  BOOST_TEST(says(e, "the weights are not those of a Bert of this config"));
  BOOST_TEST(says(e,
                  "the model has, and the file lacks:\n  'encoder.layer.0.output.dense.bias' (the nearest "
                  "there is: 'encoder.layer.0.output.dens.bias')"));
  BOOST_TEST(says(e, "'pooler.dense.bias'"));
  BOOST_TEST(says(e, "the file has, and the model lacks:"));
  BOOST_TEST(says(e, "'another'"));
  BOOST_TEST(says(e, (folder.path() / "model.safetensors").string()));
}

BOOST_AUTO_TEST_CASE(shapes_that_differ_are_listed) {
  BOOST_TEST(
      says(bert_error([](auto& j) { j["vocab_size"] = 21; }),
           "shapes differ:\n  'embeddings.word_embeddings.weight' is [21, 8] by the config, and [20, 8] "
           "float32 in the file"));
}

BOOST_AUTO_TEST_CASE(what_a_config_asks_for_and_no_model_does_is_refused) {
  BOOST_TEST(says(bert_error([](auto& j) { j["hidden_act"] = "snake"; }),
                  "config.json: hidden_act is \"snake\", which is not supported; supported: gelu, gelu_new"));
  BOOST_TEST(
      says(bert_error([](auto& j) { j["position_embedding_type"] = "relative_key"; }),
           "position_embedding_type is \"relative_key\", which is not supported; supported: \"absolute\""));
  BOOST_TEST(says(bert_error([](auto& j) { j["is_decoder"] = true; }), "is_decoder is true"));
  BOOST_TEST(says(bert_error([](auto& j) {
                    j["quantization_config"] = {{"bits", 4}};
                  }),
                  "quantization_config"));
  BOOST_TEST(says(bert_error([](auto& j) { j["architectures"] = {"T5Model"}; }),
                  "architectures is [\"T5Model\"], which is not supported; supported: BertForMaskedLM, "));
  BOOST_TEST(says(llama_error([](auto& j) {
                    j["rope_scaling"] = {{"rope_type", "ntk"}};
                  }),
                  "rope_scaling.rope_type is \"ntk\", which is not supported; supported: default, linear"));
  BOOST_TEST(says(
      llama_error([](auto& j) {
        j["rope_scaling"] = {{"rope_type", "longrope"}, {"short_factor", {1, 2, 3}}, {"long_factor", {1}}};
      }),
      "rope_scaling.short_factor is [1,2,3], which is not supported; supported: lists of "));
  BOOST_TEST(says(llama_error([](auto& j) {
                    j["rope_scaling"] = {{"rope_type", "longrope"}, {"short_factor", {1, 0}}};
                  }),
                  "expected rope_scaling.short_factor to be a list of numbers above 0"));
  BOOST_TEST(says(llama_error([](auto& j) { j["model_type"] = "qwen2"; }), "architectures"));
  BOOST_TEST(
      says(llama_error([](auto& j) { j["partial_rotary_factor"] = 0.5; }), "partial_rotary_factor is 0.5"));
}

BOOST_AUTO_TEST_CASE(values_of_other_types_and_ranges_are_refused) {
  BOOST_TEST(says(llama_error([](auto& j) { j["hidden_size"] = "8"; }),
                  "expected hidden_size to be an integer from 1 to 268435456, found \"8\""));
  BOOST_TEST(says(llama_error([](auto& j) { j.erase("hidden_size"); }), "found nothing"));
  BOOST_TEST(says(llama_error([](auto& j) { j["hidden_size"] = 18446744073709551615u; }),
                  "found 18446744073709551615"));
  BOOST_TEST(says(llama_error([](auto& j) { j["num_hidden_layers"] = -1; }), "found -1"));
  BOOST_TEST(says(llama_error([](auto& j) { j["num_hidden_layers"] = 9999; }), "has 9999 layers, but"));
  BOOST_TEST(says(llama_error([](auto& j) { j["rms_norm_eps"] = 2; }), "a number from 0 to 1, found 2"));
  BOOST_TEST(says(llama_error([](auto& j) { j["tie_word_embeddings"] = 1; }), "true or false, found 1"));
  BOOST_TEST(
      says(llama_error([](auto& j) { j["num_attention_heads"] = 3; }), "3 heads don't divide a width of 8"));
  BOOST_TEST(says(llama_error([](auto& j) { j = {1, 2}; }), "expected an object of JSON, found array"));
}

BOOST_AUTO_TEST_CASE(configs_are_of_a_bounded_size_and_depth) {
  const Folder folder;
  models::save_pretrained(small_bert(), folder.path());
  constexpr size_t kDeep = 500'000;
  write(folder.path() / "config.json",
        "{\"hidden_act\": " + std::string(kDeep, '[') + std::string(kDeep, ']') + "}");
  BOOST_TEST(says(load_error(folder.path()), "values lie in each other more than 32 deep"));
  write(folder.path() / "config.json", "{" + std::string(3 << 20, ' ') + "}");
  BOOST_TEST(says(load_error(folder.path()), "is above 2 MiB"));
  write(folder.path() / "config.json", "{\"hidden_act\": }");
  BOOST_TEST(says(load_error(folder.path()), "config.json: at byte 15: expected JSON in UTF-8"));
}

BOOST_AUTO_TEST_CASE(folders_without_files_say_what_is_expected) {
  const Folder folder;
  BOOST_TEST(says(load_error(folder.path()), "config.json"));
  models::save_pretrained(small_bert(), folder.path());
  fs::rename(folder.path() / "model.safetensors", folder.path() / "pytorch_model.bin");
  BOOST_TEST(says(load_error(folder.path()),
                  "expected model.safetensors or model.safetensors.index.json; pytorch_model.bin has to be "
                  "converted"));
  BOOST_TEST(says(thrown<Error>([&] { (void)models::from_pretrained<models::Llama>(folder.path()); }),
                  "expected model.safetensors"));
}

BOOST_AUTO_TEST_CASE(a_type_that_is_not_the_folders_is_refused) {
  const Folder folder;
  models::save_pretrained(small_bert(), folder.path());
  BOOST_TEST(says(thrown<Error>([&] { (void)models::from_pretrained<models::Llama>(folder.path()); }),
                  "model_type is \"bert\", which is not supported; supported: llama, mistral, qwen2"));
}

BOOST_AUTO_TEST_CASE(a_model_without_its_head_is_taken_from_one_with) {
  const Folder folder;
  const models::BertConfig c = small_bert().config();
  models::BertForSequenceClassification whole(c, 3);
  whole.eval();
  models::save_pretrained(whole, folder.path());
  const auto bert = models::from_pretrained<models::Bert>(folder.path());
  BOOST_TEST(all(bert(kIds).pooler_output == whole.bert(kIds).pooler_output).item<bool>());
}

BOOST_AUTO_TEST_CASE(models_in_several_files_are_checked_against_their_index) {
  const Folder folder;
  fs::copy(fs::path(LAZY_SOURCE_DIR "/tests/golden/pretrained/llama_head_dim"), folder.path());
  const fs::path index = folder.path() / "model.safetensors.index.json";
  const std::string good = read(index);
  nlohmann::json j = nlohmann::json::parse(good);
  j["weight_map"]["another"] = j["weight_map"].begin().value();
  write(index, j.dump());
  BOOST_TEST(says(load_error(folder.path()), "expected 'another', as "));
  j = nlohmann::json::parse(good);
  j["weight_map"]["lm_head.weight"] = "../model.safetensors";
  write(index, j.dump());
  BOOST_TEST(
      says(load_error(folder.path()), "expected the name of a file beside the index for 'lm_head.weight'"));
  j = nlohmann::json::parse(good);
  const std::string shard = j["weight_map"].begin().value();
  fs::remove(folder.path() / shard);
  write(index, good);
  BOOST_TEST(says(load_error(folder.path()), shard));
}

BOOST_AUTO_TEST_CASE(what_no_architecture_has_is_not_saved) {
  const Folder folder;
  models::LlamaConfig c = small_llama_config();
  c.qkv_bias = true;
  c.sliding_window = 4;
  BOOST_TEST(says(thrown<Error>([&] { models::save_pretrained(models::Llama(c), folder.path()); }),
                  "no architecture has this config"));
  BOOST_TEST(fs::is_empty(folder.path()));
}

BOOST_AUTO_TEST_CASE(models_can_be_frozen_and_served) {
  const Folder folder;
  models::save_pretrained(models::Llama(small_llama_config()), folder.path());
  pretrained::Model model = pretrained::load(folder.path());
  const Tensor expected = model({{"input_ids", kIds}}).at("logits").eval();
  auto session = inference::session<std::vector<Tensor>(const std::vector<Tensor>&)>(model);
  BOOST_TEST(all(session(std::vector{kIds})[0] == expected).item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()
