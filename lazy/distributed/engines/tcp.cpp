// Connects processes by TCP: every two ranks have a connection. A message is its announcement, then its
// bytes; or, where ranks may read each other's memory, its announcement alone, and the receiver says by one
// byte that it has read what lies where that says. The byte comes behind the receiver's own message: this is
// done only where each of the two sends the other one.
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

// Shorter messages go through the connection: a byte back would take as long as they.
constexpr size_t kShort = 64 << 10;
// So much is read before a look whether to stop.
constexpr size_t kReadAtOnce = 4 << 20;

class Tcp final : public Engine {
 public:
  Tcp(int rank, std::vector<Fd> peers, std::unique_ptr<Neighbours> neighbours)
      : rank_(rank),
        peers_(std::move(peers)),
        neighbours_(std::move(neighbours)),
        alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  const char* name() const override { return neighbours_ ? "memory" : "tcp"; }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    try {
      exchange_all(own, out, in, check);
    } catch (...) {
      if (neighbours_) neighbours_->give_up();  // its memory is somebody else's as soon as this returns
      throw;
    }
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
    int back = -1;  // which one comes from there, before the byte that says that this one was read
    size_t sent = 0;
    bool refused = false;  // the other end is closed; what it announced before may say why
    bool confirmed = false;
    size_t behind() const { return announcement.address ? 0 : message.bytes; }
    bool sent_all() const { return refused || sent == sizeof announcement + behind(); }
    bool done() const { return refused || (sent_all() && (!announcement.address || confirmed)); }
  };
  struct Receiving {
    Incoming message;
    Announcement announcement = {};
    int back = -1;  // which one goes there; -1: none
    size_t got = 0;
    bool confirmed = false;
    size_t behind() const { return announcement.address ? 0 : message.bytes; }
    bool got_all() const { return got >= sizeof announcement && got == sizeof announcement + behind(); }
    bool done() const { return got_all() && (!announcement.address || confirmed); }
  };
  static bool may_confirm(const Receiving& r, const std::vector<Sending>& sending) {
    return r.got_all() && r.back >= 0 && sending[static_cast<size_t>(r.back)].sent_all();
  }
  static bool may_be_confirmed(const Sending& s, const std::vector<Receiving>& receiving) {
    return s.sent_all() && s.back >= 0 && receiving[static_cast<size_t>(s.back)].got_all();
  }
  void confirm(Receiving& r) const {
    const char byte = 1;
    const ssize_t n = ::send(fd(r.message.from), &byte, 1, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) gone(r.message.from);
    r.confirmed = n > 0;
  }
  void hear_confirmation(Sending& s) const {
    char byte;
    const ssize_t n = ::recv(fd(s.message.to), &byte, 1, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) gone(s.message.to);
    s.confirmed = n > 0;
  }
  /// Reads a message out of its sender's memory.
  void read(const Receiving& r) const {
    const int from = r.message.from;
    if (!neighbours_ || !neighbours_->near(from) || r.back < 0)
      throw std::runtime_error("rank " + std::to_string(from) + " sends what this rank can't read");
    for (size_t at = 0; at < r.message.bytes; at += kReadAtOnce) {
      if (stopped_.load()) throw Stopped({from});
      neighbours_->read(from, r.announcement.address + at, static_cast<char*>(r.message.data) + at,
                        std::min(kReadAtOnce, r.message.bytes - at));
    }
    if (!neighbours_->holds(from)) gone(from);
  }
  /// Does what exchange() does, and leaves it to that to tell the others if it throws.
  void exchange_all(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                    const CheckAnnouncement& check) {
    std::vector<Sending> sending;
    std::vector<Receiving> receiving;
    for (const Incoming& i : in) receiving.push_back({i});
    for (const Outgoing& o : out) {
      sending.push_back({o, own});
      Sending& s = sending.back();
      s.announcement.bytes = o.bytes;
      if (o.bytes < kShort || !neighbours_ || !neighbours_->near(o.to)) continue;
      const auto back = std::find_if(in.begin(), in.end(), [&](const Incoming& i) { return i.from == o.to; });
      if (back == in.end()) continue;
      s.announcement.address = reinterpret_cast<uint64_t>(o.data);
      s.back = static_cast<int>(back - in.begin());
    }
    for (Receiving& r : receiving)
      for (size_t i = 0; i < sending.size(); ++i)
        if (sending[i].message.to == r.message.from) r.back = static_cast<int>(i);
    for (;;) {
      // Announcements go out before any is looked at: the others find out, too, where ranks differ.
      for (Sending& s : sending)
        while (!s.sent_all() && send(s)) {}
      for (Receiving& r : receiving)
        while (!r.got_all() && receive(r, check)) {}
      for (Receiving& r : receiving)
        if (!r.done() && may_confirm(r, sending)) confirm(r);
      for (Sending& s : sending)
        if (!s.done() && may_be_confirmed(s, receiving)) hear_confirmation(s);
      std::vector<pollfd> polled{{alarm_.get(), POLLIN, 0}};
      for (const Sending& s : sending) {
        if (!s.sent_all()) polled.push_back({fd(s.message.to), POLLOUT, 0});
        else if (!s.done() && may_be_confirmed(s, receiving)) polled.push_back({fd(s.message.to), POLLIN, 0});
      }
      for (const Receiving& r : receiving) {
        if (!r.got_all()) polled.push_back({fd(r.message.from), POLLIN, 0});
        else if (!r.done() && may_confirm(r, sending)) polled.push_back({fd(r.message.from), POLLOUT, 0});
      }
      if (std::all_of(sending.begin(), sending.end(), [](const Sending& s) { return s.done(); }) &&
          std::all_of(receiving.begin(), receiving.end(), [](const Receiving& r) { return r.done(); }))
        break;
      if (stopped_.load()) throw Stopped(awaited(sending, receiving));
      ::poll(polled.data(), polled.size(), -1);
    }
    for (const Sending& s : sending)
      if (s.refused) gone(s.message.to);
  }
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
    if (before && r.got == sizeof r.announcement) {
      hear(r.announcement, r.message, check);
      if (r.announcement.address) read(r);
    }
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
  const std::unique_ptr<Neighbours> neighbours_;
  const Fd alarm_;  // readable once stopped: it wakes poll(2)
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<Engine> tcp_engine(Meeting& meeting, Clock::time_point deadline,
                                   std::unique_ptr<Neighbours> neighbours) {
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
  return std::make_unique<Tcp>(rank, std::move(peers), std::move(neighbours));
}

}  // namespace lazy::distributed::detail
