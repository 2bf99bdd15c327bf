// Ranks of one machine read each other's memory, and notice where that counts no more.
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <optional>
#include <thread>

#include "lazy/distributed/engines/neighbours.hpp"
#include "tests/training/distributed/worlds.hpp"

namespace lazy {
namespace {

using distributed::PeerLost;
using distributed::detail::Clock;
using distributed::detail::Meeting;
using distributed::detail::Neighbours;

BOOST_AUTO_TEST_SUITE(distributed_neighbours)

BOOST_AUTO_TEST_CASE(memory_is_read_until_its_owner_gives_up) {
  constexpr int kRanks = 3;
  const int port = test::next_port();
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(60);
  std::vector<std::optional<Neighbours>> all(kRanks);
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] {
      Meeting meeting = Meeting::at("127.0.0.1", port, r, kRanks, deadline);
      all[static_cast<size_t>(r)].emplace(meeting, deadline);
    });
  for (std::thread& t : threads) t.join();
  Neighbours &first = *all[0], &second = *all[1];
  if (!first.all_near()) {
    for (int r = 0; r < kRanks; ++r) BOOST_TEST((first.near(r) == all[static_cast<size_t>(r)]->near(0)));
    BOOST_TEST_MESSAGE("the system lets no process read another's memory: left out");
    return;
  }
  std::vector<int> sent(1'000'000), got(sent.size());
  std::iota(sent.begin(), sent.end(), 1);
  first.read(1, reinterpret_cast<uint64_t>(sent.data()), got.data(), sent.size() * sizeof(int));
  BOOST_TEST((got == sent));
  BOOST_TEST(first.holds(1));
  second.give_up();
  BOOST_TEST(!first.holds(1));
  BOOST_TEST(first.holds(2));
  BOOST_CHECK_THROW(first.read(1, 8, got.data(), 64), PeerLost);  // nothing is mapped there
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lazy
