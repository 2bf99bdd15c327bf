// Tests what is told of exchanges in a trace of several ranks.
#include "tools/launch/exchanges.hpp"

#include <boost/test/unit_test.hpp>

using lazy::tool::Exchanges;
using nlohmann::json;

namespace {

json exchange(int64_t number, double begin, double took, int64_t thread = 7) {
  return {{"name", "all_reduce"},
          {"cat", "comm"},
          {"ph", "X"},
          {"ts", begin},
          {"dur", took},
          {"tid", thread},
          {"args", {{"exchange", number}}}};
}
json kernel(double begin, double took) {
  return {{"name", "k"}, {"cat", "kernel"}, {"ph", "X"}, {"ts", begin}, {"dur", took}, {"tid", 1}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchanges)

BOOST_AUTO_TEST_CASE(the_last_to_come_is_told) {
  Exchanges e;
  for (const int rank : {0, 1}) e.add(kernel(0, 10'000), rank);
  e.add(kernel(90'000, 10'000), 0);
  e.add(kernel(90'000, 10'000), 1);
  e.add(exchange(5, 10'000, 50'000), 0);  // waits 40 ms of the 50
  e.add(exchange(5, 50'000, 10'000, 8), 1);
  e.add(exchange(6, 60'000, 1'000), 0);  // who comes last by half a millisecond is not late
  e.add(exchange(6, 60'500, 500), 1);
  BOOST_TEST(e.summary() ==
             "rank 0: 51.0% of its time in exchanges, 40.5% waiting for others; last to 0 of 2\n"
             "rank 1: 10.5% of its time in exchanges, 0.0% waiting for others; last to 1 of 2\n"
             "most was waited for rank 1: 40.5 ms\n");
  const auto arrows = e.arrows();
  BOOST_TEST_REQUIRE(arrows.size() == 4u);
  for (size_t i = 0; i < arrows.size(); i += 2) {
    BOOST_TEST(arrows[i]["ph"] == "s");
    BOOST_TEST(arrows[i]["pid"] == 1);
    BOOST_TEST(arrows[i + 1]["ph"] == "f");
    BOOST_TEST(arrows[i + 1]["pid"] == 0);
    BOOST_TEST(arrows[i]["id"] == arrows[i + 1]["id"]);
  }
  const size_t of_five = arrows[0]["ts"] == 50'000.0 ? 0 : 2;
  BOOST_TEST(arrows[of_five]["ts"] == 50'000.0);
  BOOST_TEST(arrows[of_five]["tid"] == 8);
  BOOST_TEST(arrows[of_five + 1]["ts"] == 60'000.0);
}

BOOST_AUTO_TEST_CASE(who_went_on_before_the_last_came_did_not_wait_for_it) {
  Exchanges e;
  e.add(exchange(5, 0, 1'000), 0);
  e.add(exchange(5, 50'000, 1'000), 1);
  BOOST_TEST(e.summary() ==
             "rank 0: 100.0% of its time in exchanges, 0.0% waiting for others; last to 0 of 1\n"
             "rank 1: 100.0% of its time in exchanges, 0.0% waiting for others; last to 0 of 1\n");
  BOOST_TEST(e.arrows().empty());
  e.add(exchange(6, 60'000, 40'000), 0);  // waits for rank 2, and goes on before rank 1 comes
  e.add(exchange(6, 90'000, 20'000), 2);
  e.add(exchange(6, 105'000, 5'000), 1);
  const auto arrows = e.arrows();
  BOOST_TEST_REQUIRE(arrows.size() == 4u);
  BOOST_TEST(arrows[0]["pid"] == 2);
  BOOST_TEST(arrows[1]["pid"] == 0);
  BOOST_TEST(arrows[2]["pid"] == 1);
  BOOST_TEST(arrows[3]["pid"] == 2);
}

BOOST_AUTO_TEST_CASE(without_exchanges_nothing_is_told) {
  Exchanges e;
  e.add(kernel(0, 10), 0);
  e.add({{"ph", "M"}, {"name", "process_name"}}, 1);
  BOOST_TEST(e.summary().empty());
  BOOST_TEST(e.arrows().empty());
}

BOOST_AUTO_TEST_SUITE_END()
