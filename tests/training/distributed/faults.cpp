// Tests what ranks that wait are told when another one stops, dies, leaves, or does not come: in time, on
// each engine between processes, with its number, what it was doing and the line.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "lazy/distributed/collectives.hpp"
#include "lazy/lazy.hpp"
#include "tests/common/folder.hpp"
#include "tests/training/distributed/worlds.hpp"

using namespace lazy;

namespace {

/// Runs a world whose rank `bad` does something wrong, and checks that the others pass; then ends that rank.
void run_fault(const std::string& engine, const std::string& fault, int ranks, int bad) {
  const auto begin = std::chrono::steady_clock::now();
  const auto children = test::start_world("distributed_faults/a_rank", engine, ranks,
                                          {{"LAZY_TEST_FAULT", fault},
                                           {"LAZY_TEST_BAD", std::to_string(bad)},
                                           {"LAZY_COMM_SILENCE", "2"},
                                           {"LAZY_COMM_TIMEOUT", fault == "sleeps" ? "2" : "60"}});
  for (size_t r = 0; r < children.size(); ++r)
    if (static_cast<int>(r) != bad)
      test::wait_for(children[r], engine + ", rank " + std::to_string(bad) + " " + fault);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  BOOST_TEST(seconds < 30.0, fault << " took " << seconds << " s");
  ::kill(children[static_cast<size_t>(bad)], SIGKILL);
  ::waitpid(children[static_cast<size_t>(bad)], nullptr, 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_faults)

/// Runs as one process of a world, if it is one.
BOOST_AUTO_TEST_CASE(a_rank) {
  const char* const text = std::getenv("LAZY_TEST_FAULT");
  if (!text) return;
  const std::string fault = text, bad = std::getenv("LAZY_TEST_BAD");
  distributed::init();
  const Tensor x = ones({1000});
  BOOST_TEST(distributed::all_reduce(x).to_vector<float>()[0] == distributed::world_size());
  const uint32_t line = __LINE__ - 1;
  if (std::to_string(distributed::rank()) == bad) {
    if (fault == "stops") ::raise(SIGSTOP);
    if (fault == "dies") ::raise(SIGKILL);
    if (fault == "exits") ::_exit(0);
    if (fault == "leaves") distributed::finalize();
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  try {
    (void)distributed::all_reduce(x * 2).eval();
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    const std::string what = e.what();
    const auto says = [&](const std::string& part) {
      BOOST_TEST(what.find(part) != std::string::npos, "'" << what << "' lacks '" << part << "'");
    };
    const std::string peer = "rank " + bad;
    if (fault == "stops") says("nothing has been heard of " + peer);
    else if (fault == "sleeps") says("not in time, 2 s:"), says(peer + ", which computes");
    else says(peer);
    if (fault == "stops" || fault == "sleeps") says("faults.cpp:" + std::to_string(line));
    says("is at all_reduce of 1000 x float32, sum, "), says("its number 2, at faults.cpp:");
  }
  // The program goes on, alone.
  BOOST_TEST((x + 1).to_vector<float>()[0] == 2);
  BOOST_CHECK_THROW((void)distributed::all_reduce(x).eval(), CommunicationError);
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(the_others_are_told) {
  for (const std::string& engine : test::engines()) {
    if (engine == "mpi") continue;  // mpirun ends all ranks when one dies
    for (const char* const fault : {"stops", "dies", "exits", "leaves", "sleeps"})
      run_fault(engine, fault, 2, 1);
    run_fault(engine, "stops", 3, 0);
    run_fault(engine, "dies", 3, 2);
  }
}

/// Runs as one process of a world, if it is one: waits in a group of two for the next rank, which waits in
/// another group for the one after it.
BOOST_AUTO_TEST_CASE(a_rank_in_a_circle) {
  if (!std::getenv("LAZY_TEST_CIRCLE")) return;
  distributed::init();
  const int me = distributed::rank(), ranks = distributed::world_size();
  std::vector<distributed::Group> pairs;
  for (int i = 0; i < ranks; ++i) pairs.push_back(distributed::new_group({i, (i + 1) % ranks}));
  const Tensor x = ones({10});
  const auto begin = std::chrono::steady_clock::now();
  try {
    (void)distributed::all_reduce(x, distributed::ReduceOp::sum, pairs[static_cast<size_t>(me)]).eval();
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    const std::string what = e.what();
    BOOST_TEST(what.find("faults.cpp:" + std::to_string(__LINE__ - 4)) != std::string::npos, what);
    for (int r = 0; r < ranks; ++r)
      BOOST_TEST(what.find("rank " + std::to_string(r) + " waits for rank " +
                           std::to_string((r + 1) % ranks) + " in all_reduce at faults.cpp:") != what.npos,
                 what);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  BOOST_TEST(seconds < 20.0);
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_each_other_are_told) {
  for (const std::string& engine : test::engines())
    if (engine != "mpi")
      test::run_world("distributed_faults/a_rank_in_a_circle", engine, 3,
                      {{"LAZY_TEST_CIRCLE", "1"}, {"LAZY_COMM_TIMEOUT", "60"}});
}

/// Runs as one process of a world, if it is one: gets SIGUSR2, tells, and goes on.
BOOST_AUTO_TEST_CASE(a_rank_that_is_asked) {
  if (!std::getenv("LAZY_TEST_ASKED")) return;
  distributed::init();
  const Tensor x = ones({1000});
  (void)distributed::all_reduce(x).eval();
  const std::string file =
      config::get().dump_dir.get() + "/collectives_" + std::to_string(distributed::rank()) + ".json";
  for (const char* const last : {"all_reduce", "all_gather"}) {
    ::raise(SIGUSR2);
    std::string text;
    for (int i = 0; i < 400 && text.find(last) == text.npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      std::stringstream all;
      all << std::ifstream(file).rdbuf();
      text = all.str();
    }
    BOOST_TEST(text.find(std::string("\"kind\": \"") + last) != text.npos, text);
    BOOST_TEST(text.find("faults.cpp") != text.npos, text);
    (void)distributed::all_gather(x).eval();
  }
  distributed::finalize();
}

BOOST_AUTO_TEST_CASE(tells_when_it_is_asked) {
  const test::Folder folder;
  test::run_world("distributed_faults/a_rank_that_is_asked", "tcp", 2,
                  {{"LAZY_TEST_ASKED", "1"}, {"LAZY_DUMP_DIR", folder.path()}});
}

// Ranks of different engines, or of worlds of different sizes, do not meet.
BOOST_AUTO_TEST_CASE(worlds_that_differ) {
  const std::string port = std::to_string(test::next_port());
  const auto start = [&](int r, const char* size, const char* engine) {
    return test::start_again("distributed_faults/does_not_meet", {{"LAZY_TEST_RANKS", "2"},
                                                                  {"RANK", std::to_string(r)},
                                                                  {"WORLD_SIZE", size},
                                                                  {"MASTER_PORT", port},
                                                                  {"LAZY_COMM", engine}});
  };
  for (const pid_t child : {start(0, "2", "tcp"), start(1, "3", "tcp")}) test::wait_for(child, "sizes");
  for (const pid_t child : {start(0, "2", "tcp"), start(1, "2", "memory")}) test::wait_for(child, "engines");
}

BOOST_AUTO_TEST_CASE(does_not_meet) {
  if (!std::getenv("LAZY_TEST_RANKS")) return;
  try {
    distributed::init({.timeout = 20});
    BOOST_TEST(false, "nothing was thrown");
  } catch (const CommunicationError& e) {
    const std::string what = e.what();
    BOOST_TEST((what.find("world of 3") != what.npos || what.find("uses memory") != what.npos ||
                what.find("uses tcp") != what.npos || what.find("closed its connection") != what.npos),
               what);
  }
  BOOST_TEST(!distributed::is_initialized());
}

BOOST_AUTO_TEST_SUITE_END()
