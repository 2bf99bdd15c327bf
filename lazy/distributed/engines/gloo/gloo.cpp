// Connects processes by Gloo, as a shared object of its own. Only its sending and receiving is used: the
// order of sums is ours.
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "lazy/distributed/engines/plugin.hpp"

namespace lazy::distributed {
namespace {

using gloo::transport::UnboundBuffer;
using std::chrono::milliseconds;

constexpr milliseconds kForever{1'000'000'000};  // who waits is stopped from outside
constexpr milliseconds kOthersWords{100};        // for what others have announced when one is lost
constexpr milliseconds kLastWords{2000};         // for what tells others why this rank gives up

/// Hands addresses around while a world is made: what each rank sets is gathered.
class GatheringStore final : public gloo::rendezvous::Store {
 public:
  explicit GatheringStore(const Gather& gather) : gather_(gather) {}
  void set(const std::string&, const std::vector<char>& data) override {
    all_ = gather_(std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& rank) override {
    // The rank is what a key ends with.
    const size_t digits = rank.find_last_not_of("0123456789");
    const std::string& text = all_.at(std::stoul(rank.substr(digits == rank.npos ? 0 : digits + 1)));
    return {text.begin(), text.end()};
  }
  void wait(const std::vector<std::string>&) override {}
  void wait(const std::vector<std::string>&, const milliseconds&) override {}

 private:
  const Gather& gather_;
  std::vector<std::string> all_;
};

/// Holds SIGPIPE back from the calling thread, and from those that begin meanwhile: Gloo writes to sockets
/// whose other end may be gone, by which the signal would end this rank, too.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);  // what came meanwhile is not the program's
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

class Gloo final : public Engine {
 public:
  explicit Gloo(const EngineRequest& r) : context_(r.rank, r.size) {
    const WithoutSigpipe scope;
    gloo::transport::tcp::attr attr(r.host);
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
    context_.setTimeout(kForever);
    GatheringStore store(*r.gather);
    context_.connectFullMesh(store, device);
    sent_.resize(static_cast<size_t>(r.size));
    received_.resize(static_cast<size_t>(r.size));
  }
  ~Gloo() override {
    const WithoutSigpipe scope;
    try {
      context_.closeConnections();
    } catch (const std::exception&) {}  // they are closed already
  }
  int rank() const override { return context_.rank; }
  int size() const override { return context_.size; }
  const char* name() const override { return "gloo"; }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    const WithoutSigpipe scope;
    std::vector<Announcement> announced(out.size(), own), theirs(in.size());
    std::vector<std::unique_ptr<UnboundBuffer>> words, data, heard, got(in.size());
    size_t heard_of = 0;  // of `in`: announcements that were waited for
    try {
      for (size_t i = 0; i < out.size(); ++i) {
        announced[i].bytes = out[i].bytes;
        uint64_t& slot = sent_[static_cast<size_t>(out[i].to)];
        words.push_back(context_.createUnboundBuffer(&announced[i], sizeof announced[i]));
        post(out[i].to, [&] { words.back()->send(out[i].to, slot++); });
        data.push_back(context_.createUnboundBuffer(const_cast<void*>(out[i].data), out[i].bytes));
        if (out[i].bytes) post(out[i].to, [&] { data.back()->send(out[i].to, slot); });
        ++slot;
      }
      for (size_t i = 0; i < in.size(); ++i) {
        heard.push_back(context_.createUnboundBuffer(&theirs[i], sizeof theirs[i]));
        post(in[i].from, [&] { heard[i]->recv(in[i].from, received_[static_cast<size_t>(in[i].from)]++); });
      }
      for (size_t i = 0; i < in.size(); ++i) {
        wait(*heard[i], in[i].from, true);
        heard_of = i + 1;
        hear(theirs[i], in[i], check);
        uint64_t& slot = received_[static_cast<size_t>(in[i].from)];
        got[i] = context_.createUnboundBuffer(in[i].data, in[i].bytes);
        if (in[i].bytes) post(in[i].from, [&] { got[i]->recv(in[i].from, slot); });
        ++slot;
      }
      for (size_t i = 0; i < in.size(); ++i)
        if (in[i].bytes) wait(*got[i], in[i].from, true);
      for (size_t i = 0; i < out.size(); ++i) {
        wait(*words[i], out[i].to, false);
        if (out[i].bytes) wait(*data[i], out[i].to, false);
      }
    } catch (const Stopped&) { throw; } catch (const PeerLost&) {
      // A rank that finds a difference closes its connections: what others have announced says more.
      for (size_t i = heard_of; i < heard.size(); ++i) try {
          if (heard[i]->waitRecv(kOthersWords)) hear(theirs[i], in[i], check);
        } catch (const ::gloo::IoException&) {}
      throw;
    } catch (...) {
      // An announcement leaves only once its receiver is ready for it.
      for (auto& w : words) try {
          w->waitSend(kLastWords);
        } catch (const std::exception&) {}
      throw;
    }
  }

  void stop() noexcept override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (waiting_) waiting_->abortWaitRecv(), waiting_->abortWaitSend();
  }

 private:
  void wait(UnboundBuffer& buffer, int peer, bool receives) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) throw Stopped({peer});
      waiting_ = &buffer;
    }
    struct Done {
      Gloo& self;
      ~Done() {
        const std::lock_guard lock(self.mutex_);
        self.waiting_ = nullptr;
      }
    } done{*this};
    bool good = false;
    post(peer, [&] { good = receives ? buffer.waitRecv(kForever) : buffer.waitSend(kForever); });
    if (!good) throw Stopped({peer});
  }
  /// Does something with a peer, whose connection may be closed.
  template <class F>
  static void post(int peer, F&& f) {
    try {
      f();
    } catch (const ::gloo::IoException&) {
      throw PeerLost(peer, "rank " + std::to_string(peer) + " closed its connection");
    }
  }

  gloo::rendezvous::Context context_;
  std::vector<uint64_t> sent_, received_;  // by rank: messages so far; each has a slot of its own
  std::mutex mutex_;
  UnboundBuffer* waiting_ = nullptr;
  bool stopped_ = false;
};

}  // namespace

extern "C" {
uint64_t lazy_plugin_version() { return kPluginVersion; }
Engine* lazy_plugin_make(const EngineRequest& r, char* why, size_t bytes) {
  try {
    return new Gloo(r);
  } catch (const std::exception& e) { std::snprintf(why, bytes, "%s", e.what()); }
  return nullptr;
}
}

}  // namespace lazy::distributed
