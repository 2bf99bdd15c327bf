// Connects processes by TCP: every two ranks have a connection. A message is its announcement, then its
// bytes.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lazy/distributed/engines/engines.hpp"
#include "support/error.hpp"

namespace lazy::distributed::detail {
namespace {

class Tcp final : public Engine {
 public:
  Tcp(int rank, std::vector<Fd> peers)
      : rank_(rank), peers_(std::move(peers)), alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  const char* name() const override { return "tcp"; }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    std::vector<Sending> sending;
    std::vector<Receiving> receiving;
    for (const Outgoing& o : out) {
      sending.push_back({o, own, 0, false});
      sending.back().announcement.bytes = o.bytes;
    }
    for (const Incoming& i : in) receiving.push_back({i, {}, 0});
    for (;;) {
      // Announcements go out before any is looked at: the others find out, too, where ranks differ.
      for (Sending& s : sending)
        while (!s.done() && send(s)) {}
      for (Receiving& r : receiving)
        while (!r.done() && receive(r, check)) {}
      std::vector<pollfd> polled{{alarm_.get(), POLLIN, 0}};
      for (const Sending& s : sending)
        if (!s.done()) polled.push_back({fd(s.message.to), POLLOUT, 0});
      for (const Receiving& r : receiving)
        if (!r.done()) polled.push_back({fd(r.message.from), POLLIN, 0});
      if (polled.size() == 1) break;
      if (stopped_.load()) throw Stopped(awaited(sending, receiving));
      ::poll(polled.data(), polled.size(), -1);
    }
    for (const Sending& s : sending)
      if (s.refused) gone(s.message.to);
  }

  void stop() noexcept override {
    stopped_.store(true);
    const uint64_t one = 1;
    (void)!::write(alarm_.get(), &one, sizeof one);
  }

 private:
  struct Sending {
    Outgoing message;
    Announcement announcement;
    size_t sent;
    bool refused = false;  // the other end is closed; what it announced before may say why
    bool done() const { return refused || sent == sizeof announcement + message.bytes; }
  };
  struct Receiving {
    Incoming message;
    Announcement announcement;
    size_t got;
    bool done() const { return got >= sizeof announcement && got == sizeof announcement + message.bytes; }
  };
  int fd(int peer) const { return peers_[static_cast<size_t>(peer)].get(); }

  // Each moves some bytes; false if the connection takes, or has, no more now.
  bool send(Sending& s) const {
    const char* from;
    size_t left;
    if (s.sent < sizeof s.announcement) {
      from = reinterpret_cast<const char*>(&s.announcement) + s.sent, left = sizeof s.announcement - s.sent;
    } else {
      const size_t at = s.sent - sizeof s.announcement;
      from = static_cast<const char*>(s.message.data) + at, left = s.message.bytes - at;
    }
    const ssize_t n = ::send(fd(s.message.to), from, left, MSG_NOSIGNAL);
    if (n > 0) return s.sent += static_cast<size_t>(n), true;
    if (errno != EAGAIN && errno != EINTR) s.refused = true;
    return false;
  }
  bool receive(Receiving& r, const CheckAnnouncement& check) const {
    char* to;
    size_t left;
    if (r.got < sizeof r.announcement) {
      to = reinterpret_cast<char*>(&r.announcement) + r.got, left = sizeof r.announcement - r.got;
    } else {
      const size_t at = r.got - sizeof r.announcement;
      to = static_cast<char*>(r.message.data) + at, left = r.message.bytes - at;
    }
    const ssize_t n = ::recv(fd(r.message.from), to, left, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) gone(r.message.from);
    const bool before = r.got < sizeof r.announcement;
    r.got += static_cast<size_t>(n);
    if (before && r.got == sizeof r.announcement) { hear(r.announcement, r.message, check); }
    return true;
  }
  [[noreturn]] static void gone(int peer) {
    throw PeerLost(peer, "rank " + std::to_string(peer) + " closed its connection");
  }
  static std::vector<int> awaited(const std::vector<Sending>& sending,
                                  const std::vector<Receiving>& receiving) {
    std::vector<int> ranks;
    for (const Receiving& r : receiving)
      if (!r.done()) ranks.push_back(r.message.from);
    for (const Sending& s : sending)
      if (!s.done() && std::find(ranks.begin(), ranks.end(), s.message.to) == ranks.end())
        ranks.push_back(s.message.to);
    return ranks;
  }

  const int rank_;
  const std::vector<Fd> peers_;  // by rank; none for this one
  const Fd alarm_;               // readable once stopped: it wakes poll(2)
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<Engine> tcp_engine(Meeting& meeting, Clock::time_point deadline) {
  const int rank = meeting.rank(), size = meeting.size();
  std::vector<Fd> peers(static_cast<size_t>(size));
  const Fd door = listen_at(meeting.hosts()[static_cast<size_t>(rank)], 0, size);
  const std::vector<std::string> ports = meeting.gather(std::to_string(port_of(door.get())), deadline);
  // The lower rank listens.
  for (int r = 0; r < rank; ++r) {
    const auto i = static_cast<size_t>(r);
    peers[i] = connect_to(address_of(meeting.hosts()[i], std::stoi(ports[i])), deadline);
    const int32_t own = rank;
    send_all(peers[i].get(), &own, sizeof own, deadline);
  }
  for (int met = rank + 1; met < size; ++met) {
    Fd s = accept_at(door.get(), deadline);
    int32_t theirs = 0;
    receive_all(s.get(), &theirs, sizeof theirs, deadline);
    if (theirs <= rank || theirs >= size || peers[static_cast<size_t>(theirs)])
      throw CommunicationError("a rank came twice");
    peers[static_cast<size_t>(theirs)] = std::move(s);
  }
  return std::make_unique<Tcp>(rank, std::move(peers));
}

}  // namespace lazy::distributed::detail
