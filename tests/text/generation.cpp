// Tests generation with models whose answers are known, and with a small Llama and its cache.
#include "lazy/text/generation.hpp"

#include <cmath>
#include <limits>

#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

using Tokens = std::vector<std::vector<int64_t>>;

/// Returns scores by which the next token is surely this one and 1, of 10.
Tensor counting(const Tensor& ids, int64_t) { return one_hot((ids + 1) % 10, 10).astype(float32) * 50.0; }

models::Llama small_llama() {
  manual_seed(5);
  models::Llama llama({.vocab_size = 40,
                       .hidden_size = 16,
                       .intermediate_size = 24,
                       .num_hidden_layers = 2,
                       .num_attention_heads = 4,
                       .num_key_value_heads = 2,
                       .max_position_embeddings = 64});
  // Larger weights than models begin with: their scores differ more.
  for (Tensor* p : {&llama.lm_head->weight, &llama.model.embed_tokens.weight}) *p = (*p * 40.0).detach();
  return llama;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_generation)

BOOST_AUTO_TEST_CASE(prompts_of_several_lengths_go_on) {
  std::vector<std::pair<int64_t, int64_t>> told;
  const auto out = text::generate(
      counting, {{1}, {3, 4, 5}, {7, 8}},
      {.sampling = {.greedy = true}, .max_new_tokens = 3, .on_token = [&](int64_t row, int64_t id) {
         return told.emplace_back(row, id), true;
       }});
  BOOST_TEST((out.tokens == Tokens{{2, 3, 4}, {6, 7, 8}, {9, 0, 1}}));
  BOOST_TEST(told.size() == 9u);
  BOOST_TEST((told[0] == std::pair<int64_t, int64_t>{0, 2}));
  for (const auto f : out.finish) BOOST_TEST((f == text::Finish::length));
}

BOOST_AUTO_TEST_CASE(tokens_sequences_and_callbacks_end_it) {
  const auto out = text::generate(counting, {{1}, {5}, {8}},
                                  {.max_new_tokens = 20,
                                   .stop_tokens = {4},
                                   .stop_sequences = {{7, 8}},
                                   .on_token = [](int64_t row, int64_t id) { return row != 2 || id != 1; }});
  BOOST_TEST((out.tokens == Tokens{{2, 3}, {6, 7, 8}, {9, 0, 1}}));
  BOOST_TEST((out.finish ==
              std::vector{text::Finish::stop_token, text::Finish::stop_sequence, text::Finish::callback}));
  BOOST_TEST((text::generate(counting, {{1}}, {.max_new_tokens = 0}).tokens == Tokens{{}}));
}

// A batch of prompts of different lengths writes what each writes alone, token by token from a cache.
BOOST_AUTO_TEST_CASE(a_cache_gives_what_all_tokens_give) {
  const models::Llama llama = small_llama();
  const no_grad scope;
  const Tokens prompts{{3, 1, 4}, {1, 5, 9, 2, 6}, {5}};
  models::LlamaCache cache = llama.cache(3, 40);
  const auto step = [&](const Tensor& ids, int64_t position) {
    BOOST_TEST(position == cache.length);
    return llama(ids, cache);
  };
  const auto together = text::generate(step, prompts, {.sampling = {.greedy = true}, .max_new_tokens = 12});
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::vector<int64_t> all = prompts[i];
    for (int n = 0; n < 12; ++n) {
      const Tensor scores = llama(from_span(all, {1, static_cast<int64_t>(all.size())}));
      all.push_back(argmax(scores(0, -1)).item<int64_t>());
    }
    BOOST_TEST(together.tokens[i] ==
                   std::vector<int64_t>(all.begin() + static_cast<ptrdiff_t>(prompts[i].size()), all.end()),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_token_takes_one_flush_and_no_new_program) {
  const models::Llama llama = small_llama();
  const no_grad scope;
  models::LlamaCache cache = llama.cache(2, 60);
  std::vector<Metrics> seen;
  const auto step = [&](const Tensor& ids, int64_t) {
    seen.push_back(metrics());
    return llama(ids, cache);
  };
  text::generate(step, {{3, 1, 4}, {1, 5}},
                 {.sampling = {.temperature = 0.8, .top_k = 20, .top_p = 0.9, .repetition_penalty = 1.1},
                  .max_new_tokens = 20});
  BOOST_TEST(seen.size() >= 20u);
  for (size_t i = 6; i < seen.size(); ++i) {
    BOOST_TEST(seen[i].flushes - seen[i - 1].flushes == 1u,
               "step " << i << ": " << seen[i].flushes - seen[i - 1].flushes);
    BOOST_TEST(seen[i].program_misses == seen[i - 1].program_misses, "step " << i);
  }
}

BOOST_AUTO_TEST_CASE(seeds_say_what_is_written) {
  const models::Llama llama = small_llama();
  const no_grad scope;
  const auto write = [&](uint64_t seed) {
    models::LlamaCache cache = llama.cache(1, 40);
    Generator g(seed);
    return text::generate([&](const Tensor& ids, int64_t) { return llama(ids, cache); }, {{1, 2}},
                          {.sampling = {.temperature = 1.2}, .max_new_tokens = 30, .generator = &g})
        .tokens;
  };
  BOOST_TEST((write(1) == write(1)));
  BOOST_TEST((write(1) != write(2)));
}

// With as many beams as there are continuations the best of all is found.
BOOST_AUTO_TEST_CASE(beams_find_the_best_continuation) {
  constexpr int64_t kVocabulary = 4, kLength = 3;
  Generator g(11);
  const Tensor table = randn(g, {kVocabulary, kVocabulary}) * 2.0;  // scores of what follows a token
  const auto log_p = log_softmax(table, 1).to_vector<float>();
  const auto step = [&](const Tensor& ids, int64_t) { return take(table, ids, 0); };
  const auto beams = text::beam_search(step, [](const Tensor&) {}, {2},
                                       {.beams = 16, .max_new_tokens = kLength, .length_penalty = 0});
  double best = -1e9;
  std::vector<int64_t> tokens;
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t c = 0; c < 4; ++c) {
        const double sum = log_p[size_t(8 + a)] + log_p[size_t(4 * a + b)] + log_p[size_t(4 * b + c)];
        if (sum > best) best = sum, tokens = {a, b, c};
      }
  BOOST_TEST(beams.size() == 16u);
  BOOST_TEST(beams[0].tokens == tokens, boost::test_tools::per_element());
  BOOST_TEST(std::abs(beams[0].score - best) < 1e-4);
  for (size_t i = 1; i < beams.size(); ++i) BOOST_TEST(beams[i].score <= beams[i - 1].score);
}

BOOST_AUTO_TEST_CASE(beams_reorder_the_cache) {
  const models::Llama llama = small_llama();
  const no_grad scope;
  models::LlamaCache cache = llama.cache(3, 30);
  const auto beams = text::beam_search([&](const Tensor& ids, int64_t) { return llama(ids, cache); },
                                       [&](const Tensor& rows) {
                                         for (Tensor& k : cache.keys) k = take(k, rows, 0);
                                         for (Tensor& v : cache.values) v = take(v, rows, 0);
                                       },
                                       {1, 2, 3}, {.beams = 3, .max_new_tokens = 8});
  for (const auto& beam : beams) {
    std::vector<int64_t> all{1, 2, 3};
    all.insert(all.end(), beam.tokens.begin(), beam.tokens.end());
    const Tensor log_p = log_softmax(llama(from_span(all, {1, static_cast<int64_t>(all.size())})), -1);
    double sum = 0;
    for (size_t i = 0; i < beam.tokens.size(); ++i)
      sum += log_p(0, static_cast<int64_t>(2 + i), beam.tokens[i]).item<float>();
    BOOST_TEST(std::abs(sum / static_cast<double>(beam.tokens.size()) - beam.score) < 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(beams_end_at_stop_tokens) {
  const auto beams = text::beam_search(counting, [](const Tensor&) {}, {1},
                                       {.beams = 2, .max_new_tokens = 8, .stop_tokens = {4}});
  BOOST_TEST((beams[0].tokens == std::vector<int64_t>{2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(errors_of_generation) {
  const auto error = [](const Tokens& prompts, const text::GenerateOptions& o = {}) {
    return test::thrown<Error>([&] { text::generate(counting, prompts, o); });
  };
  const auto says = [](const std::string& e, const char* part) { return e.find(part) != e.npos; };
  BOOST_TEST(says(error({}), "there are no prompts"));
  BOOST_TEST(says(error({{1}, {}}), "prompt 1 is empty"));
  BOOST_TEST(says(error({{1}}, {.max_new_tokens = -1}), "max_new_tokens is -1"));
  BOOST_TEST(says(error({{1}}, {.stop_sequences = {{}}}), "a stop sequence is empty"));
  const auto flat = [](const Tensor& ids, int64_t) { return ids.astype(float32); };
  BOOST_TEST(says(test::thrown<ShapeError>([&] { text::generate(flat, {{1}}); }), "expected (N, T, V)"));
  BOOST_TEST(
      says(test::thrown<Error>([&] { text::beam_search(counting, [](const Tensor&) {}, {1}, {.beams = 0}); }),
           "beams is 0"));
}

BOOST_AUTO_TEST_SUITE_END()
