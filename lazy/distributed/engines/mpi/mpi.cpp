// Connects processes by MPI, as a shared object of its own. Messages are sent and received without blocking
// and asked for until they are done, so a rank that waits can be stopped, which MPI's own waiting can't.
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "lazy/distributed/engines/plugin.hpp"

namespace lazy::distributed {
namespace {

constexpr size_t kPiece = size_t{1} << 30;  // MPI counts bytes of a message by int
constexpr int kWords = 1, kData = 2;        // tags
// A rank that waits asks at once at first, and then leaves the core to others.
constexpr int kEager = 200;

[[noreturn]] void refused(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int n = 0;
  MPI_Error_string(code, text, &n);
  throw std::runtime_error(std::string("MPI: ") + text);
}
void need(int code) {
  if (code != MPI_SUCCESS) refused(code);
}

/// Starts MPI once in a process.
void start() {
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun) return;
  // Open MPI's own parts look for its functions among what is global.
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &own) && own.dli_fname)
    ::dlopen(own.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  int provided = 0;
  need(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  if (provided < MPI_THREAD_SERIALIZED)
    throw std::runtime_error("MPI: this build can't be used by several threads");
}

class Mpi final : public Engine {
 public:
  Mpi() {
    start();
    need(MPI_Comm_dup(MPI_COMM_WORLD, &world_));
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
  }
  ~Mpi() override {
    // All ranks leave together; one that has been stopped must not wait for the others here.
    if (!stopped_.load() && !failed_) {
      MPI_Comm_free(&world_);
      MPI_Finalize();
    }
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "mpi"; }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    std::vector<Announcement> announced(out.size(), own), theirs(in.size());
    std::vector<MPI_Request> sends, heard(in.size(), MPI_REQUEST_NULL), receives;
    std::vector<int> senders;
    try {
      for (size_t i = 0; i < in.size(); ++i)
        need(MPI_Irecv(&theirs[i], sizeof theirs[i], MPI_BYTE, in[i].from, kWords, world_, &heard[i]));
      for (size_t i = 0; i < out.size(); ++i) {
        announced[i].bytes = out[i].bytes;
        sends.emplace_back();
        need(MPI_Isend(&announced[i], sizeof announced[i], MPI_BYTE, out[i].to, kWords, world_,
                       &sends.back()));
      }
      for (size_t i = 0; i < in.size(); ++i) {
        wait(heard[i], in[i].from);
        hear(theirs[i], in[i], check);
      }
      // Nothing of the data is sent before all agree: what is taken back after a mistake is only words.
      for (const Incoming& i : in)
        for (size_t at = 0; at < i.bytes; at += kPiece) {
          receives.emplace_back(), senders.push_back(i.from);
          need(MPI_Irecv(static_cast<char*>(i.data) + at, static_cast<int>(std::min(kPiece, i.bytes - at)),
                         MPI_BYTE, i.from, kData, world_, &receives.back()));
        }
      std::vector<int> receivers(sends.size());
      for (size_t i = 0; i < out.size(); ++i) receivers[i] = out[i].to;
      for (const Outgoing& o : out)
        for (size_t at = 0; at < o.bytes; at += kPiece) {
          sends.emplace_back(), receivers.push_back(o.to);
          need(MPI_Isend(static_cast<const char*>(o.data) + at,
                         static_cast<int>(std::min(kPiece, o.bytes - at)), MPI_BYTE, o.to, kData, world_,
                         &sends.back()));
        }
      for (size_t i = 0; i < receives.size(); ++i) wait(receives[i], senders[i]);
      for (size_t i = 0; i < sends.size(); ++i) wait(sends[i], receivers[i]);
    } catch (const Stopped&) {
      abandon(std::move(announced), std::move(theirs));
      throw;
    } catch (const PeerLost&) {
      abandon(std::move(announced), std::move(theirs));
      throw;
    } catch (...) {
      // Ranks do different things, and all find out: what was expected is called off.
      for (std::vector<MPI_Request>* const requests : {&heard, &receives})
        for (MPI_Request& r : *requests)
          if (r != MPI_REQUEST_NULL) MPI_Cancel(&r), MPI_Wait(&r, MPI_STATUS_IGNORE);
      leave(std::move(announced)), leave(std::move(theirs));
      for (MPI_Request& r : sends)
        if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
      throw;
    }
  }

  void stop() noexcept override { stopped_.store(true); }

 private:
  void wait(MPI_Request& request, int peer) {
    for (int asked = 0;; ++asked) {
      int done = 0;
      // A request that is done becomes MPI_REQUEST_NULL.
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        throw PeerLost(peer, "rank " + std::to_string(peer) + " is gone");
      if (done) return;
      if (stopped_.load(std::memory_order_relaxed)) throw Stopped({peer});
      if (asked > kEager) ::sched_yield();
      if (asked > 20 * kEager) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  /// Keeps what MPI may still write or read: it must not go away with the call.
  void abandon(std::vector<Announcement>&& announced, std::vector<Announcement>&& theirs) {
    failed_ = true;
    leave(std::move(announced)), leave(std::move(theirs));
  }
  static void leave(std::vector<Announcement>&& messages) {
    (void)new std::vector<Announcement>(std::move(messages));
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool failed_ = false;
  std::atomic<bool> stopped_{false};
};

}  // namespace

extern "C" {
uint64_t lazy_plugin_version() { return kPluginVersion; }
Engine* lazy_plugin_make(const EngineRequest&, char* why, size_t bytes) {
  try {
    return new Mpi;
  } catch (const std::exception& e) { std::snprintf(why, bytes, "%s", e.what()); }
  return nullptr;
}
bool lazy_plugin_place(int* rank, int* size, char* why, size_t bytes) {
  try {
    start();
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return true;
  } catch (const std::exception& e) { std::snprintf(why, bytes, "%s", e.what()); }
  return false;
}
void lazy_plugin_tell(char* text, size_t bytes) {
  MPI_Bcast(text, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}
}

}  // namespace lazy::distributed
