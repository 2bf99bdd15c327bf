// Compares files in the GGUF format with what the format's own package and transformers make of them
// (tests/golden/make_gguf.py).
#include "lazy/pretrained/gguf/gguf.hpp"

#include "lazy/nn/nn.hpp"
#include "lazy/quant/weight.hpp"
#include "tests/pretrained/folders.hpp"

using namespace lazy;
using namespace pretrained_test;

namespace {

const std::string kFiles = LAZY_SOURCE_DIR "/tests/golden/gguf/";

double difference(const Tensor& found, const Tensor& expected) {
  BOOST_TEST_REQUIRE((found.shape() == expected.shape()));
  return max(abs(found - expected)).item<double>() / max(abs(expected)).item<double>();
}

double logits_differ_by(const std::string& name, const pretrained::Options& o = {}) {
  const no_grad scope;
  pretrained::Model model = pretrained::load(kFiles + name + ".gguf", o);
  const Safetensors golden = load_safetensors(kFiles + name + ".safetensors");
  return difference(model({{"input_ids", golden.at("input_ids")}}).at("logits"), golden.at("logits"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_files)

BOOST_AUTO_TEST_CASE(blocks_have_the_values_that_the_formats_package_gives) {
  const gguf::File f = gguf::load(kFiles + "blocks.gguf");
  const Safetensors golden = load_safetensors(kFiles + "blocks.safetensors");
  BOOST_TEST(f.tensors().size() == golden.size());
  for (const gguf::TensorInfo& t : f.tensors()) BOOST_TEST_CONTEXT(t.name) {
      BOOST_TEST(gguf::name_of(t.type) == t.name);
      const Tensor found = f.tensor(t.name), expected = golden.at(t.name);
      BOOST_TEST_REQUIRE((found.shape() == expected.shape()));
      BOOST_TEST(all(found == expected).item<bool>());
    }
}

BOOST_AUTO_TEST_CASE(metadata_is_of_all_kinds) {
  const gguf::File f = gguf::load(kFiles + "blocks.gguf");
  BOOST_TEST(f.at("general.architecture").text() == "test");
  BOOST_TEST(f.at("test.uint32").integer() == 7);
  BOOST_TEST(f.at("test.int64").integer() == -5);
  BOOST_TEST(f.at("test.float32").real() == 0.5);
  BOOST_TEST(f.at("test.bool").flag());
  BOOST_TEST(f.at("test.text").text() == "Grüße");
  BOOST_TEST((f.at("test.texts").texts() == std::vector<std::string_view>{"a", "", "bc"}));
  BOOST_TEST((f.at("test.integers").integers() == std::vector<int64_t>{1, -2, 3}));
  BOOST_TEST((f.at("test.reals").reals() == std::vector<double>{0.25, -1.5}));
  const std::vector<gguf::Value> lists = f.at("test.lists").elements();
  BOOST_TEST_REQUIRE(lists.size() == 2u);
  BOOST_TEST((lists[0].integers() == std::vector<int64_t>{1, 2}));
  BOOST_TEST((lists[1].integers() == std::vector<int64_t>{3}));
  BOOST_TEST(!f.contains("test.none"));
  BOOST_TEST(says(thrown<IndexError>([&] { (void)f.at("test.none"); }), "has no key 'test.none'"));
  BOOST_TEST(says(thrown<Error>([&] { (void)f.at("test.text").integer(); }),
                  "expected test.text to be an integer, found text"));
  BOOST_TEST(says(thrown<IndexError>([&] { (void)f.tensor("none"); }), "has no tensor 'none'"));
}

BOOST_AUTO_TEST_CASE(values_outlive_the_file) {
  gguf::Value v = gguf::load(kFiles + "blocks.gguf").at("test.text");
  BOOST_TEST(v.text() == "Grüße");
}

BOOST_AUTO_TEST_CASE(groups_are_what_the_blocks_stand_for) {
  const gguf::File f = gguf::load(kFiles + "blocks.gguf");
  int types = 0;
  for (const gguf::TensorInfo& t : f.tensors()) {
    if (!gguf::is_block(t.type) || t.shape.size() != 2) continue;
    BOOST_TEST_CONTEXT(t.name) {
      ++types;
      const gguf::Groups g = f.groups(t.name);
      BOOST_TEST((g.integers.dtype() == (g.bits == 4 ? uint8 : int8)));
      const quant::Scheme how{.bits = g.bits,
                              .is_signed = g.bits == 8,
                              .symmetric = !g.zeros.defined(),
                              .granularity = quant::Granularity::group,
                              .group = g.length};
      const Tensor q = g.bits == 4 ? quant::unpack_4(g.integers) : g.integers,
                   wide = quant::dequantize(q, {g.scales, g.zeros}, how), expected = f.tensor(t.name);
      BOOST_TEST((wide.shape() == expected.shape()));
      const Tensor sizes = max(abs(expected), 1, keepdims);
      BOOST_TEST(all(abs(wide - expected) <= sizes * (g.zeros.defined() ? 1e-6 : 0)).item<bool>());
      // A layer multiplies by them.
      const int64_t in = t.shape[1];
      const Tensor x = (arange(3 * in).astype(float32).reshape({3, in}) * 0.37f).sin();
      nn::Linear layer(in, t.shape[0], {.bias = false});
      nn::utils::parametrize::register_parametrization(
          layer.weight, quant::QuantizedWeight(how, {t.shape[0], in}, float32));
      auto& list = nn::utils::parametrize::parametrizations(layer.weight);
      list.original(0).reset(g.integers);
      list.original(1).reset(g.scales);
      if (g.zeros.defined()) list.original(2).reset(g.zeros);
      const no_grad scope;
      const Tensor bound = linear(abs(x), abs(expected)) * 1e-5;
      for (const int64_t rows : {1, 3})
        BOOST_TEST(
            all(abs(layer(x(slice(0, rows))) - linear(x(slice(0, rows)), expected)) <= bound(slice(0, rows)))
                .item<bool>());
    }
  }
  BOOST_TEST(types >= 10);
  BOOST_TEST(says(thrown<DtypeError>([&] { (void)f.groups("F32"); }), "which are no integers with scales"));
}

BOOST_AUTO_TEST_CASE(models_give_what_transformers_gives) {
  for (const char* name :
       {"llama_f32", "llama_f16", "llama_q8_0", "llama_q4_0", "llama_q5_0", "qwen2", "gpt2_f32", "gpt2_q8_0",
        "gpt2_q4_0", "phi3_f32", "phi3_q8_0", "phi3_long", "gemma_f32", "gemma_q8_0"})
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(logits_differ_by(name) < 1e-4);
      BOOST_TEST(logits_differ_by(name, {.dequantize = true}) < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(integers_stay_integers) {
  const pretrained::Model model = pretrained::load(kFiles + "llama_q4_0.gguf");
  const NamedTensors state = model.state_dict();
  const std::string q = "model.layers.0.mlp.up_proj.parametrizations.weight.original0";
  BOOST_TEST_REQUIRE(state.contains(q));
  BOOST_TEST((state.at(q).dtype() == uint8));
  BOOST_TEST((state.at(q).shape() == Shape{64, 16}));
  pretrained::Model wide = pretrained::load(kFiles + "llama_q4_0.gguf", {.dequantize = true});
  BOOST_TEST((wide.state_dict().at("model.layers.0.mlp.up_proj.weight").dtype() == float32));
}

BOOST_AUTO_TEST_CASE(integers_of_gpt2_and_phi3_are_where_their_models_have_them) {
  const NamedTensors gpt2 = pretrained::load(kFiles + "gpt2_q4_0.gguf").state_dict();
  const std::string part = ".parametrizations.weight.original0";
  BOOST_TEST((gpt2.at("transformer.h.1.attn.c_attn" + part).shape() == Shape{96, 16}));
  const pretrained::Model model = pretrained::load(kFiles + "gpt2_q8_0.gguf");
  BOOST_TEST((pretrained::Model(model).get<models::GPT2>()->transformer.h[0].mlp.c_fc.weight.shape() ==
              Shape{32, 64}));
  const NamedTensors phi3 = pretrained::load(kFiles + "phi3_q8_0.gguf").state_dict();
  BOOST_TEST((phi3.at("model.layers.0.self_attn.k_proj" + part).shape() == Shape{16, 32}));
  BOOST_TEST((phi3.at("model.layers.0.mlp.gate_proj" + part).dtype() == int8));
}

BOOST_AUTO_TEST_CASE(gpt2_of_a_file_goes_on_after_a_cache) {
  const no_grad scope;
  const auto gpt2 = models::from_pretrained<models::GPT2>(kFiles + "gpt2_q8_0.gguf");
  const Safetensors golden = load_safetensors(kFiles + "gpt2_q8_0.safetensors");
  const Tensor ids = golden.at("input_ids");
  models::GPT2Cache cache = gpt2.cache(2, 9);
  (void)gpt2(ids(_, slice(0, 5)), cache);
  const Tensor last = gpt2.next_scores(ids(_, slice(5, 9)), cache);
  BOOST_TEST(difference(last, golden.at("logits")(_, slice(8, 9))) < 1e-4);
}

BOOST_AUTO_TEST_CASE(files_are_models_of_a_type) {
  const auto llama = models::from_pretrained<models::Llama>(kFiles + "llama_q8_0.gguf");
  const Safetensors golden = load_safetensors(kFiles + "llama_q8_0.safetensors");
  BOOST_TEST(difference(llama(golden.at("input_ids")), golden.at("logits")) < 1e-4);
  BOOST_TEST(
      says(thrown<Error>([] { (void)models::from_pretrained<models::Bert>(kFiles + "llama_q8_0.gguf"); }),
           "llama_q8_0.gguf has a Llama, another type of model"));
}

BOOST_AUTO_TEST_CASE(what_was_in_blocks_is_saved_as_numbers) {
  const Folder folder;
  const std::string file = kFiles + "llama_q8_0.gguf";
  BOOST_TEST(says(thrown<Error>([&] {
                    models::save_pretrained(models::from_pretrained<models::Llama>(file), folder.path());
                  }),
                  "is loaded with .dequantize = true"));
  models::save_pretrained(models::from_pretrained<models::Llama>(file, {.dequantize = true}), folder.path());
  const Safetensors golden = load_safetensors(kFiles + "llama_q8_0.safetensors");
  const auto again = models::from_pretrained<models::Llama>(folder.path());
  BOOST_TEST(difference(again(golden.at("input_ids")), golden.at("logits")) < 1e-4);
}

BOOST_AUTO_TEST_CASE(other_architectures_are_refused) {
  BOOST_TEST(says(
      thrown<Error>([] { (void)pretrained::load(kFiles + "blocks.gguf"); }),
      "general.architecture is 'test', which is not supported; supported: llama, qwen2, phi3, gemma, gpt2"));
}

BOOST_AUTO_TEST_CASE(what_is_no_gguf_file_says_where) {
  const auto error = [](std::string bytes) {
    return thrown<Error>([&] { (void)gguf::load(std::as_bytes(std::span(bytes))); });
  };
  BOOST_TEST(says(error(""), "at byte 0: expected a GGUF file"));
  BOOST_TEST(says(error("GGML"), "at byte 0: expected a GGUF file"));
  const std::string start("GGUF\3\0\0\0", 8), none(8, '\0');
  BOOST_TEST(says(error(start), "at byte 8"));
  BOOST_TEST(says(error(std::string("GGUF\1\0\0\0", 8)), "version 1 is not supported; supported: 2, 3"));
  BOOST_TEST(says(error(std::string("GGUF\0\0\0\3", 8)), "of big-endian numbers"));
  BOOST_TEST(error(start + none + none).empty());
  const std::string one("\1\0\0\0\0\0\0\0", 8), huge(8, '\xff');
  BOOST_TEST(says(error(start + huge + none), "are above 100000"));
  BOOST_TEST(
      says(error(start + none + one + huge), "a key of 18446744073709551615 bytes goes beyond the end"));
  const std::string key = one + "k", list("\11\0\0\0", 4), texts("\10\0\0\0", 4);
  BOOST_TEST(says(error(start + none + one + key + list + texts + huge),
                  "a list of 18446744073709551615 elements goes beyond the end"));
  BOOST_TEST(says(error(start + none + one + key + std::string("\15\0\0\0", 4)),
                  "expected a type of metadata, 0 to 12, found 13"));
}

BOOST_AUTO_TEST_SUITE_END()
