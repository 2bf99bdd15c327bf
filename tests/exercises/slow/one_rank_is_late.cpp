// Has one rank do more than the other between their exchanges; of the other ones both do as much.
#include <chrono>
#include <thread>

#include "lazy/distributed/collectives.hpp"
#include "lazy/distributed/world.hpp"
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void work(int rank_of_more) {
  distributed::run_ranks(2, [&] {
    Tensor x = ones({100});
    for (int i = 0; i < 300; ++i) {
      const bool more = rank_of_more < 0 || distributed::rank() == rank_of_more;
      std::this_thread::sleep_for(std::chrono::microseconds(more ? 3000 : 500));
      distributed::all_reduce(x).eval();  // cause: rank 0 waits for rank 1 for .* longest at HERE
    }
  });
}

void slow() { work(1); }

void innocent() { work(-1); }

const exercises::Program program("one_rank_is_late", slow, innocent);

}  // namespace
