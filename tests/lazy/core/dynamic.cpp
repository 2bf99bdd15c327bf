// Tests marks on sizes, and scopes in which nothing may run.
#include "lazy/core/dynamic.hpp"

#include <boost/test/unit_test.hpp>

#include "lazy/lazy.hpp"
#include "support/config.hpp"

using namespace lazy;
using config::Override;

namespace {

struct Fixture {
  Fixture() { cache::clear(); }
};
/// Returns a value in memory; ones() would stay a recipe.
Tensor filled(const Shape& shape) {
  return from_span<float>(std::vector<float>(static_cast<size_t>(numel(shape)), 1.0f), shape);
}
uint64_t misses() { return metrics().program_misses; }
float twice(const Tensor& x) { return sum(x * 2 + 1).item<float>(); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dynamic, Fixture)

BOOST_AUTO_TEST_CASE(a_static_dimension_is_a_program_of_its_own) {
  const auto with = [](int64_t rows, int64_t columns) {
    Tensor x = filled({rows, columns});
    mark_static(x, -1);
    return x;
  };
  const uint64_t before = misses();
  BOOST_TEST(twice(with(4, 8)) == 4 * 8 * 3);
  BOOST_TEST(twice(with(5, 8)) == 5 * 8 * 3);
  BOOST_TEST(misses() == before + 1);
  jit::FlushListener listener;
  const Tensor other = with(4, 9);
  listener.flushes.clear();
  BOOST_TEST(twice(other) == 4 * 9 * 3);
  BOOST_TEST(misses() == before + 2);
  BOOST_REQUIRE(listener.flushes.size() == 1u);
  BOOST_TEST(contains(listener.flushes[0].miss, "extent: dimension 1 of v0: was 8, now 9"),
             listener.flushes[0].miss);
  BOOST_TEST(twice(with(7, 8)) == 7 * 8 * 3);
  BOOST_TEST(misses() == before + 2);
}

BOOST_AUTO_TEST_CASE(a_dynamic_dimension_stays_free) {
  const Override never("LAZY_DYNAMIC", "never");
  const auto run = [](int64_t rows, int64_t columns, bool mark) {
    Tensor x = filled({rows, columns});
    if (mark) mark_dynamic(x, 0, 2, 100);
    return sum(reshape(x + 1, {rows * columns})).item<float>();
  };
  run(4, 8, true);
  const uint64_t before = misses();
  BOOST_TEST(run(7, 8, true) == 7 * 8 * 2);
  BOOST_TEST(misses() == before);
  run(7, 9, true);
  BOOST_TEST(misses() == before + 1);
  run(7, 8, false);
  run(8, 8, false);
  BOOST_TEST(misses() == before + 3);
}

BOOST_AUTO_TEST_CASE(the_last_mark_counts) {
  Tensor x = filled({3, 4});
  mark_static(x, 0);
  twice(x);
  mark_dynamic(x, 0);
  const uint64_t before = misses();
  twice(x);
  BOOST_TEST(misses() == before + 1);  // another key
}

BOOST_AUTO_TEST_CASE(bounds_hold_for_every_tensor_that_is_marked) {
  const Override never("LAZY_DYNAMIC", "never");
  const auto step = [](int64_t rows) {
    const Tensor x = filled({rows, 3});
    mark_dynamic(x, 0, 2, 8);
    return sum(x + 1).item<float>();
  };
  step(4);
  const uint64_t before = misses();
  for (int64_t rows = 2; rows <= 8; ++rows) BOOST_TEST(step(rows) == static_cast<float>(rows * 6));
  BOOST_TEST(misses() == before);
  BOOST_CHECK_THROW(step(9), ShapeError);
  BOOST_CHECK_THROW(step(1), ShapeError);
  BOOST_TEST(step(5) == 30);
  // A refused value is not marked: its program is the one for its size alone.
  const Tensor y = filled({9, 3});
  BOOST_CHECK_THROW(mark_dynamic(y, 0, 2, 8), ShapeError);
  BOOST_TEST(sum(y + 1).item<float>() == 54);
  BOOST_TEST(misses() == before + 1);
  BOOST_TEST(sum(filled({9, 3}) + 1).item<float>() == 54);
  BOOST_TEST(misses() == before + 1);
}

BOOST_AUTO_TEST_CASE(wrong_marks) {
  const Tensor x = ones({3, 4});
  BOOST_CHECK_THROW(mark_static(x, 2), IndexError);
  BOOST_CHECK_THROW(mark_dynamic(x, -3), IndexError);
  BOOST_CHECK_THROW(mark_static(1.5, 0), DtypeError);
  BOOST_CHECK_EXCEPTION(mark_dynamic(x, 0, 4, 8), ShapeError, [](const ShapeError& e) {
    return contains(e.what(), "dimension 0 is 3, expected 4 to 8 (dynamic.cpp:");
  });
}

BOOST_AUTO_TEST_CASE(nothing_runs_where_nothing_may) {
  Tensor x = filled({3});
  Tensor y;
  {
    const no_flush guard;
    y = x * 2 + 1;
    const uint64_t flushes = metrics().flushes;
    const auto asks = [&] { y.eval(); };
    const int line = __LINE__ - 1;
    BOOST_CHECK_EXCEPTION(asks(), Error, [&](const Error& e) {
      BOOST_TEST(e.what() ==
                 "a flush where none is allowed: eval needs the value of add, recorded at dynamic.cpp:" +
                     std::to_string(line - 2) + " (dynamic.cpp:" + std::to_string(line) + ")");
      return true;
    });
    BOOST_CHECK_THROW(std::cout << y, Error);
    BOOST_CHECK_THROW(y.sum().item<float>(), Error);
    BOOST_TEST(x.to_vector<float>().size() == 3u);  // a value that exists needs no flush
    {
      const Override eager("LAZY_EAGER", "1");
      BOOST_CHECK_THROW(x + 1, Error);
    }
    const no_flush nested;
    BOOST_TEST(metrics().flushes == flushes);
  }
  BOOST_TEST(y.sum().item<float>() == 9);
}

BOOST_AUTO_TEST_CASE(programs_can_be_listed) {
  Tensor x = filled({64});
  cache::clear();
  for (int i = 0; i < 5; ++i) twice(x);
  const auto programs = cache::programs();
  BOOST_REQUIRE(programs.size() == 1u);
  const cache::ProgramInfo& p = programs[0];
  BOOST_TEST(p.runs == 5u);
  BOOST_TEST(p.kernels == 1u);
  BOOST_TEST(p.variant == "generic");
  BOOST_TEST(!p.from_disk);
  BOOST_TEST(p.code_bytes > 0u);
  BOOST_TEST(p.guards == p.guard_texts.size());
  BOOST_REQUIRE(!p.guard_texts.empty());
  BOOST_TEST(p.guard_texts[0] == "contiguous: v0 is row-major without gaps");
  BOOST_TEST(p.graph.at(0) == "v0 = input float32 [n]");
  const std::string table = to_string(programs);
  BOOST_TEST(contains(table, "       5 "), table);
  BOOST_TEST(cache::warmup() == 0u);  // LAZY_CACHE=off here
}

BOOST_AUTO_TEST_SUITE_END()
