#include "lazy/distributed/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/distributed/communicator.hpp"
#include "lazy/distributed/engines/engines.hpp"
#include "lazy/distributed/watch.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::distributed {

using detail::Clock;
using detail::Communicator;
using detail::Meeting;

namespace {

/// Holds what a process has of its world.
struct World {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<detail::Watch> watch;  // of the communicator: ends before it
};

thread_local Communicator* of_thread = nullptr;
constinit World* of_process = nullptr;  // owned until finalize(); connections end with the process

int number_of(const char* variable, int otherwise, const Site& s) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end || n < 0 || n > 1'000'000)
    throw Error(std::string("init: ") + variable + "=" + text + " is no number of ranks", s);
  return static_cast<int>(n);
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Has rank 0 write where it listens to a file, and the others read it once it is there.
void tell_by_file(const std::string& file, int rank, std::string& place, Clock::time_point deadline) {
  if (rank == 0) {
    const std::string part = file + "." + std::to_string(::getpid());
    std::ofstream(part) << place << "\n";
    if (std::rename(part.c_str(), file.c_str())) throw CommunicationError("rank 0 can't write " + file);
    return;
  }
  for (;;) {
    std::ifstream in(file);
    if (std::getline(in, place)) return;
    if (Clock::now() >= deadline) throw CommunicationError("rank 0 did not write " + file + " in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Returns the engine that LAZY_COMM asks for, by name.
std::string engine_asked_for() {
  switch (config::get().comm) {
    case config::CommEngine::tcp: return "tcp";
    case config::CommEngine::gloo: return "gloo";
    case config::CommEngine::mpi: return "mpi";
    case config::CommEngine::memory: return "memory";
    case config::CommEngine::nccl: return "nccl";
    case config::CommEngine::auto_: break;
  }
  return "auto";
}

/// Makes an engine by which GPUs exchange what is there, and `host` the rest. CommunicationError on all ranks
/// where one can't.
std::unique_ptr<Engine> on_devices(std::unique_ptr<Engine> host, const std::string& name, Meeting& meeting,
                                   Clock::time_point deadline) {
  auto engine = detail::device_engine(std::move(host), name);
  std::string why;
  try {
    (void)engine->place_of(jit::backend_of(jit::default_device(Site{}), Site{}));
  } catch (const Error& e) { why = e.what(); }
  const std::vector<std::string> all = meeting.gather(why, deadline);
  for (size_t r = 0; r < all.size(); ++r)
    if (!all[r].empty())
      throw CommunicationError("LAZY_COMM=" + name + ": rank " + std::to_string(r) + ": " + all[r]);
  return engine;
}

/// Makes the engine of that name; of "auto" the same on all ranks, whatever libraries each has.
std::unique_ptr<Engine> make_engine(const std::string& name, Meeting& meeting, Clock::time_point deadline) {
  if (name == "tcp") return detail::tcp_engine(meeting, deadline);
  if (name == "nccl") return on_devices(make_engine("auto", meeting, deadline), name, meeting, deadline);
  if (name != "auto" && name != "memory") return detail::plugin_engine(name, meeting, deadline);
  auto neighbours = std::make_unique<detail::Neighbours>(meeting, deadline);
  if (name == "memory" || neighbours->all_near())
    return detail::tcp_engine(meeting, deadline, std::move(neighbours));
  const std::vector<std::string> have =
      meeting.gather(detail::has_plugin("gloo", nullptr) ? "gloo" : "", deadline);
  return std::find(have.begin(), have.end(), "") == have.end()
             ? detail::plugin_engine("gloo", meeting, deadline)
             : detail::tcp_engine(meeting, deadline);
}

std::unique_ptr<World> connect(const std::string& engine, Meeting meeting, double timeout) {
  const Clock::time_point deadline = after(timeout);
  const std::vector<std::string> engines = meeting.gather(engine, deadline);
  for (size_t r = 0; r < engines.size(); ++r)
    if (engines[r] != engine)
      throw CommunicationError("LAZY_COMM: rank " + std::to_string(r) + " uses " + engines[r] + ", rank " +
                               std::to_string(meeting.rank()) + " " + engine);
  auto world = std::make_unique<World>();
  world->communicator = std::make_unique<Communicator>(make_engine(engine, meeting, deadline), timeout);
  world->watch = detail::watch_processes(*world->communicator, std::move(meeting),
                                         static_cast<double>(config::get().comm_silence));
  return world;
}

}  // namespace

namespace detail {

Communicator* communicator() noexcept {
  return of_thread ? of_thread : of_process ? of_process->communicator.get() : nullptr;
}

}  // namespace detail

void init(const InitOptions& options, Site s) {
  if (of_process) throw Error("init: this process is in a world already", s);
  const std::string engine = engine_asked_for();
  int n = options.world_size, r = options.rank;
  // mpirun says it in variables of its own.
  if (n < 0) n = number_of("WORLD_SIZE", number_of("OMPI_COMM_WORLD_SIZE", 1, s), s);
  if (r < 0) r = number_of("RANK", number_of("OMPI_COMM_WORLD_RANK", 0, s), s);
  located<CommunicationError>(s, [&] {
    if (engine == "mpi") std::tie(r, n) = detail::place_by_plugin(engine);
  });
  if (n < 1 || r >= n) throw Error("init: rank " + std::to_string(r) + " of " + std::to_string(n), s);
  if (n == 1) return;
  const char* const address = std::getenv("MASTER_ADDR");
  const std::string host = !options.host.empty() ? options.host : address && *address ? address : "127.0.0.1";
  const int port = options.port ? options.port : number_of("MASTER_PORT", 29500, s);
  const double timeout =
      options.timeout > 0 ? options.timeout : static_cast<double>(config::get().comm_timeout);
  const auto meet = [&] {
    if (engine == "mpi") return detail::meet_by_plugin(engine, after(timeout));
    if (options.file.empty()) return Meeting::at(host, port, r, n, after(timeout));
    return Meeting::told([&](std::string& place) { tell_by_file(options.file, r, place, after(timeout)); }, r,
                         n, after(timeout));
  };
  located<CommunicationError>(s, [&] {
    of_process = connect(engine, meet(), timeout).release();
    if (r == 0 && !options.file.empty()) std::remove(options.file.c_str());
  });
}

void finalize(Site s) {
  const std::unique_ptr<World> world(of_process);
  if (!world) return;
  if (!world->communicator->broken()) jit::run_effects(s);
  world->communicator->drain();
  of_process = nullptr;
}

bool is_initialized() noexcept { return detail::communicator() != nullptr; }
int rank() noexcept {
  const Communicator* const c = detail::communicator();
  return c ? c->rank() : 0;
}
int world_size() noexcept {
  const Communicator* const c = detail::communicator();
  return c ? c->size() : 1;
}
const char* engine() noexcept {
  const Communicator* const c = detail::communicator();
  return c ? c->engine() : "none";
}
std::string recent_collectives() {
  const Communicator* const c = detail::communicator();
  return c ? c->recorder().text(c->rank(), c->size(), c->engine()) : "";
}

void run_ranks(int count, const std::function<void()>& f, double timeout, Site s) {
  if (count < 1) throw Error("run_ranks: " + std::to_string(count) + " ranks", s);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::vector<std::unique_ptr<Communicator>> ranks;
  std::vector<Communicator*> watched;
  for (std::unique_ptr<Engine>& e : detail::thread_engines(count)) {
    ranks.push_back(std::make_unique<Communicator>(std::move(e), timeout));
    watched.push_back(ranks.back().get());
  }
  const auto watch = detail::watch_threads(watched);
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r)
    threads.emplace_back([&, r] {
      const auto i = static_cast<size_t>(r);
      if (count > 1) of_thread = watched[i];
      try {
        f();
        jit::run_effects(s);
      } catch (...) { failures[i] = std::current_exception(); }
      watched[i]->drain();
      of_thread = nullptr;
      watched[i]->leave();
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : failures)
    if (e) std::rethrow_exception(e);
}

}  // namespace lazy::distributed
