// Runs a case as the processes of a world, by each engine that was built.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lazy/core/device.hpp"
#include "lazy/distributed/engines/engines.hpp"
#include "tests/common/run_again.hpp"

namespace lazy::test {

/// Returns the engines between processes that can be used here; the one of LAZY_TEST_ENGINE alone if that is
/// set, as it is where each process has a GPU.
inline std::vector<std::string> engines() {
  if (const char* const only = std::getenv("LAZY_TEST_ENGINE")) return {only};
  std::vector<std::string> all{"tcp", "memory"};
#ifndef __SANITIZE_THREAD__  // the others' libraries are built without it: it does not see what orders their
                             // threads
  if (distributed::detail::has_plugin("gloo", nullptr)) all.emplace_back("gloo");
  // mpirun needs more of a machine than MPI does: what a container forbids it is no fault of the engine.
  static const bool launches =
      std::system("mpirun --allow-run-as-root --oversubscribe -n 2 true >/dev/null 2>&1") == 0;
  if (!launches) BOOST_TEST_MESSAGE("mpirun starts nothing here: MPI is left out");
  else if (distributed::detail::has_plugin("mpi", nullptr)) all.emplace_back("mpi");
#endif
  return all;
}

/// Returns true if there are not as many GPUs as ranks that need one each.
inline bool lacks_gpus(const std::string& engine, int ranks) {
  if (engine != "nccl" || std::getenv("LAZY_CUDA_PATH") || cuda_device_count() >= ranks) return false;
  BOOST_TEST_MESSAGE("no GPU for each of " << ranks << " ranks: left out");
  return true;
}

/// Returns a port that this process gives to one world alone.
inline int next_port() {
  static int worlds = 0;
  // Below those that the system gives to connections.
  return 20000 + static_cast<int>((::getpid() * 37 + 11 * ++worlds) % 12000);
}

/// Starts the ranks of a world, each of which runs these cases. Of MPI one process: mpirun.
inline std::vector<pid_t> start_world(const std::string& cases, const std::string& engine, int ranks,
                                      Variables v) {
  v.emplace_back("LAZY_TEST_RANKS", std::to_string(ranks));
  v.emplace_back("LAZY_NUM_THREADS", "1");
  v.emplace_back("LAZY_COMM", engine);
  if (engine == "mpi") {
    const pid_t child = fork_child();
    if (child) return {child};
    for (const auto& [name, value] : v) setenv(name, value.c_str(), 1);
    const std::string count = std::to_string(ranks), filter = "--run_test=" + cases;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    execlp("mpirun", "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-q", "-n",
           count.c_str(), program.c_str(), "--log_level=error", filter.c_str(), nullptr);
    _exit(127);
  }
  v.emplace_back("WORLD_SIZE", std::to_string(ranks));
  v.emplace_back("MASTER_PORT", std::to_string(next_port()));
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) {
    Variables own = v;
    own.emplace_back("RANK", std::to_string(r));
    // Each process has an emulated GPU, or one of the machine's.
    if (engine == "nccl" && !std::getenv("LAZY_CUDA_PATH"))
      own.emplace_back("CUDA_VISIBLE_DEVICES", std::to_string(r));
    children.push_back(start_again(cases, own));
  }
  return children;
}

/// Checks that all ranks of a world pass these cases.
inline void run_world(const std::string& cases, const std::string& engine, int ranks, const Variables& v) {
  if (lacks_gpus(engine, ranks)) return;
  for (const pid_t child : start_world(cases, engine, ranks, v))
    wait_for(child, engine + " of " + std::to_string(ranks));
}

}  // namespace lazy::test
