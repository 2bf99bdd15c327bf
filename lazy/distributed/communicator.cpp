#include "lazy/distributed/communicator.hpp"

#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "jit/graph/record.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::distributed {

using detail::Communicator;

namespace {

thread_local Communicator* of_thread = nullptr;
constinit Communicator* of_process = nullptr;  // owned until finalize(); connections end with the process

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

std::string describe(int rank, const Announcement& a) {
  std::string text =
      "rank " + std::to_string(rank) + " is at " + detail::name_of(static_cast<detail::Kind>(a.kind));
  const bool has_data = a.elements || static_cast<detail::Kind>(a.kind) != detail::Kind::barrier;
  if (has_data)
    text +=
        std::string(" of ") + std::to_string(a.elements) + " x " + lazy::name_of(static_cast<DType>(a.dtype));
  if (a.reduction) text += std::string(", ") + detail::name_of(static_cast<ReduceOp>(a.reduction));
  if (a.root >= 0) text += ", rank " + std::to_string(a.root);
  return text + ", its number " + std::to_string(a.sequence + 1) + ", at " + std::string(a.line);
}

bool agree(const Announcement& a, const Announcement& b) {
  return a.sequence == b.sequence && a.elements == b.elements && a.kind == b.kind && a.dtype == b.dtype &&
         a.reduction == b.reduction && a.root == b.root;
}

}  // namespace

namespace detail {

Communicator* communicator() noexcept { return of_thread ? of_thread : of_process; }

void Communicator::exchange(Announcement& own, bool first, std::span<const Outgoing> out,
                            std::span<const Incoming> in) {
  if (!broken_.empty()) throw CommunicationError("ranks can't exchange anything any more: " + broken_);
  if (first) own.sequence = collectives_++;
  const auto check = [&](int from, const Announcement& theirs) {
    if (agree(own, theirs)) return;
    throw CommunicationError("ranks do different things: " + describe(rank(), own) + "; " +
                             describe(from, theirs));
  };
  try {
    engine_->exchange(own, out, in, check, after(timeout_));
  } catch (const std::exception& e) {
    broken_ = e.what();
    throw CommunicationError(std::string(name_of(static_cast<Kind>(own.kind))) + ": " + e.what());
  }
}

}  // namespace detail

void init(const InitOptions& options, Site s) {
  if (of_process) throw Error("init: this process is in a world already", s);
  const int n = options.world_size >= 0 ? options.world_size : number_of("WORLD_SIZE", 1, s);
  const int r = options.rank >= 0 ? options.rank : number_of("RANK", 0, s);
  if (n < 1 || r >= n) throw Error("init: rank " + std::to_string(r) + " of " + std::to_string(n), s);
  if (n == 1) return;
  const char* const address = std::getenv("MASTER_ADDR");
  const std::string host = !options.host.empty() ? options.host : address && *address ? address : "127.0.0.1";
  const int port = options.port ? options.port : number_of("MASTER_PORT", 29500, s);
  const double timeout =
      options.timeout > 0 ? options.timeout : static_cast<double>(config::get().comm_timeout);
  located<CommunicationError>(
      s, [&] { of_process = new Communicator(tcp_engine(host, port, r, n, after(timeout)), timeout); });
}

void finalize(Site s) {
  if (of_process && !of_process->broken()) jit::run_effects(s);
  delete std::exchange(of_process, nullptr);
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

void run_ranks(int count, const std::function<void()>& f, double timeout, Site s) {
  if (count < 1) throw Error("run_ranks: " + std::to_string(count) + " ranks", s);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::vector<std::unique_ptr<Engine>> engines = thread_engines(count);
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r)
    threads.emplace_back([&, r] {
      const auto i = static_cast<size_t>(r);
      Communicator own(std::move(engines[i]), timeout);
      if (count > 1) of_thread = &own;
      try {
        f();
        jit::run_effects(s);
      } catch (...) { failures[i] = std::current_exception(); }
      of_thread = nullptr;
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : failures)
    if (e) std::rethrow_exception(e);
}

}  // namespace lazy::distributed
