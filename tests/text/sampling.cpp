// Tests how tokens are drawn: filters against those of transformers, frequencies, seeds, programs.
#include "lazy/text/sampling.hpp"

#include <cmath>

#include "lazy/lazy.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;

namespace {

template <class T>
Tensor matrix(const Json& rows) {
  std::vector<T> all;
  for (const Json& row : rows)
    for (const Json& v : row) all.push_back(v.get<T>());
  return from_span(all, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())});
}

text::Sampling options_of(const Json& o) {
  text::Sampling s;
  s.temperature = o.value("temperature", 1.0);
  s.top_k = o.value("top_k", 0);
  s.top_p = o.value("top_p", 1.0);
  s.min_p = o.value("min_p", 0.0);
  s.repetition_penalty = o.value("repetition_penalty", 1.0);
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_sampling)

BOOST_AUTO_TEST_CASE(filters_leave_what_those_of_transformers_leave) {
  const Json golden = Json::parse(read_file(LAZY_SOURCE_DIR "/tests/golden/sampling.json"));
  const Tensor logits = matrix<float>(golden["logits"]);
  const Tensor counts = text::token_counts(matrix<int64_t>(golden["history"]), logits.size(1));
  BOOST_TEST(golden["cases"].size() == 12u);
  for (const Json& c : golden["cases"]) BOOST_TEST_CONTEXT(c["options"]) {
      const auto found = text::filter_scores(logits, options_of(c["options"]), counts).to_vector<float>();
      size_t i = 0;
      for (const Json& row : c["scores"])
        for (const Json& v : row) {
          if (v.is_null()) BOOST_TEST((std::isinf(found[i]) && found[i] < 0));
          else BOOST_TEST(std::abs(found[i] - v.get<float>()) < 1e-4f);
          ++i;
        }
    }
}

BOOST_AUTO_TEST_CASE(penalties_count_the_history) {
  const Tensor history = from_span(std::vector<int64_t>{1, 1, 2, -1, 0, 0, 0, 0}, {2, 4});
  const Tensor counts = text::token_counts(history, 3);
  BOOST_TEST(counts.to_vector<float>() == (std::vector<float>{0, 2, 1, 4, 0, 0}),
             boost::test_tools::per_element());
  const auto found =
      text::filter_scores(zeros({2, 3}), {.frequency_penalty = 0.5, .presence_penalty = 2}, counts)
          .to_vector<float>();
  BOOST_TEST(found == (std::vector<float>{0, -3, -2.5, -4, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tokens_are_drawn_as_often_as_is_probable) {
  const std::vector<float> p{0.5f, 0.25f, 0.15f, 0.1f};
  std::vector<float> scores;
  constexpr int kRows = 20000;
  for (int i = 0; i < kRows; ++i)
    for (const float v : p) scores.push_back(std::log(v) + 3);
  Generator g(7);
  const Tensor logits = from_span(scores, {kRows, 4});
  std::vector<int> counts(4);
  for (const int64_t id : text::sample(g, logits).to_vector<int64_t>()) ++counts[static_cast<size_t>(id)];
  for (size_t i = 0; i < 4; ++i)
    BOOST_TEST(std::abs(counts[i] / double(kRows) - p[i]) < 5 * std::sqrt(p[i] / kRows));
  // Of the two most probable ones two thirds are the first.
  counts.assign(4, 0);
  for (const int64_t id : text::sample(g, logits, {.top_k = 2}).to_vector<int64_t>())
    ++counts[static_cast<size_t>(id)];
  BOOST_TEST(counts[2] + counts[3] == 0);
  BOOST_TEST(std::abs(counts[0] / double(kRows) - 2. / 3) < 0.02);
}

BOOST_AUTO_TEST_CASE(seeds_say_what_is_drawn) {
  Generator a(3), b(3), c(4);
  const Tensor logits = randn(a, {50, 30});
  b.set_position(a.position());
  const auto first = text::sample(a, logits, {.top_p = 0.9}).to_vector<int64_t>();
  BOOST_TEST(first == text::sample(b, logits, {.top_p = 0.9}).to_vector<int64_t>(),
             boost::test_tools::per_element());
  BOOST_TEST(first != text::sample(a, logits, {.top_p = 0.9}).to_vector<int64_t>());
  BOOST_TEST(first != text::sample(c, logits, {.top_p = 0.9}).to_vector<int64_t>());
  const auto greedy = text::sample(logits, {.greedy = true}).to_vector<int64_t>();
  BOOST_TEST(greedy == argmax(logits, {1}).to_vector<int64_t>(), boost::test_tools::per_element());
  BOOST_TEST(greedy == text::sample(logits, {.temperature = 0}).to_vector<int64_t>(),
             boost::test_tools::per_element());
  BOOST_TEST(greedy == text::sample(logits, {.top_p = 1e-6}).to_vector<int64_t>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_values_compile_nothing) {
  Generator g(1);
  const Tensor logits = randn(g, {2, 50});
  logits.eval();
  const auto draw = [&](double temperature, int64_t k, double p) {
    const Tensor ids = text::sample(g, logits, {.temperature = temperature, .top_k = k, .top_p = p});
    const Metrics before = metrics();
    (void)ids.to_vector<int64_t>();
    const Metrics after = metrics();
    BOOST_TEST(after.flushes - before.flushes == 1u);
    return after.program_misses - before.program_misses;
  };
  draw(0.7, 10, 0.9);
  BOOST_TEST(draw(0.8, 20, 0.5) == 0u);
  BOOST_TEST(draw(1.3, 33, 0.75) == 0u);
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto error = [](const text::Sampling& o) {
    return test::thrown<Error>([&] { (void)text::sample(zeros({2, 3}), o); });
  };
  const auto says = [](const std::string& e, const char* part) { return e.find(part) != e.npos; };
  BOOST_TEST(says(error({.temperature = -1}), "temperature is -1"));
  BOOST_TEST(says(error({.temperature = NAN}), "temperature is nan"));
  BOOST_TEST(says(error({.top_k = -1}), "top_k is -1"));
  BOOST_TEST(says(error({.top_p = 0}), "top_p is 0"));
  BOOST_TEST(says(error({.min_p = 2}), "min_p is 2"));
  BOOST_TEST(says(error({.repetition_penalty = 0}), "repetition_penalty is 0"));
  BOOST_TEST(says(error({.repetition_penalty = 2}), "penalties need counts"));
  BOOST_CHECK_THROW((void)text::sample(zeros({3})), ShapeError);
  BOOST_CHECK_THROW((void)text::sample(zeros({3, 0})), ShapeError);
  BOOST_CHECK_THROW((void)text::sample(zeros({3, 4}), {}, zeros({3, 3})), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
