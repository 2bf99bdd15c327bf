// Connects processes by TCP: every two ranks have a connection. A message is its announcement, then its
// bytes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "lazy/distributed/engine.hpp"
#include "support/error.hpp"
#include "support/fd.hpp"

namespace lazy::distributed {
namespace {

constexpr uint64_t kMagic = 0x797a616c'31706374;  // says that the other end is of this library

[[noreturn]] void fail(const std::string& what) { throw CommunicationError(what); }
std::string reason() { return std::strerror(errno); }

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
}

void prepare(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// Sends or receives all bytes of a small message.
template <class Move>
void move_all(int fd, short event, size_t bytes, Clock::time_point deadline, Move&& move) {
  for (size_t done = 0; done < bytes;) {
    pollfd p{fd, event, 0};
    if (::poll(&p, 1, milliseconds_to(deadline)) <= 0 && Clock::now() >= deadline)
      fail("not all ranks came in time");
    const ssize_t n = move(done);
    if (n > 0) done += static_cast<size_t>(n);
    else if (n == 0) fail("a rank closed its connection while ranks met");
    else if (errno != EAGAIN && errno != EINTR) fail("while ranks met: " + reason());
  }
}
void send_all(int fd, const void* data, size_t bytes, Clock::time_point deadline) {
  move_all(fd, POLLOUT, bytes, deadline, [&](size_t done) {
    return ::send(fd, static_cast<const char*>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}
void receive_all(int fd, void* data, size_t bytes, Clock::time_point deadline) {
  move_all(fd, POLLIN, bytes, deadline,
           [&](size_t done) { return ::recv(fd, static_cast<char*>(data) + done, bytes - done, 0); });
}

Fd listen_at(const std::string& host, int port, int backlog) {
  Fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) fail("no socket: " + reason());
  const int on = 1;
  ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = host == "127.0.0.1" || host == "localhost" ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) || ::listen(s.get(), backlog))
    fail("rank 0 can't listen at " + host + ":" + std::to_string(port) + ": " + reason());
  prepare(s.get());
  return s;
}

int port_of(int fd) {
  sockaddr_in a{};
  socklen_t n = sizeof a;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &n);
  return ntohs(a.sin_port);
}

Fd accept_at(int fd, Clock::time_point deadline) {
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    ::poll(&p, 1, milliseconds_to(deadline));
    Fd s(::accept(fd, nullptr, nullptr));
    if (s) {
      prepare(s.get());
      return s;
    }
    if (Clock::now() >= deadline) fail("not all ranks came in time");
  }
}

/// Connects to a rank that may not listen yet.
Fd connect_to(const sockaddr_in& a, Clock::time_point deadline) {
  for (;;) {
    Fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!s) fail("no socket: " + reason());
    if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
      prepare(s.get());
      return s;
    }
    if (Clock::now() >= deadline) fail("no rank listens at the address in time: " + reason());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

sockaddr_in address_of(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_STREAM;
  if (const int e = ::getaddrinfo(host.c_str(), nullptr, &hints, &found))
    fail("no address of " + host + ": " + ::gai_strerror(e));
  sockaddr_in a;
  std::memcpy(&a, found->ai_addr, sizeof a);
  ::freeaddrinfo(found);
  a.sin_port = htons(static_cast<uint16_t>(port));
  return a;
}

/// Says where a rank listens.
struct Greeting {
  uint64_t magic = kMagic;
  int32_t rank = 0, ranks = 0, port = 0;
  uint32_t address = 0;  // as the network has it
};

void check(const Greeting& g, int ranks) {
  if (g.magic != kMagic) fail("what connected is no rank");
  if (g.ranks != ranks)
    fail("rank " + std::to_string(g.rank) + " is of a world of " + std::to_string(g.ranks) + ", not " +
         std::to_string(ranks));
}

class Tcp final : public Engine {
 public:
  Tcp(int rank, std::vector<Fd> peers) : rank_(rank), peers_(std::move(peers)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  const char* name() const override { return "tcp"; }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const std::function<void(int, const Announcement&)>& check,
                Clock::time_point deadline) override {
    std::vector<Sending> sending;
    std::vector<Receiving> receiving;
    for (const Outgoing& o : out) {
      sending.push_back({o, own, 0, false});
      sending.back().announcement.bytes = o.bytes;
    }
    for (const Incoming& i : in) receiving.push_back({i, {}, 0});
    for (;;) {
      std::vector<pollfd> polled;
      for (const Sending& s : sending)
        if (!s.done()) polled.push_back({fd(s.message.to), POLLOUT, 0});
      for (const Receiving& r : receiving)
        if (!r.done()) polled.push_back({fd(r.message.from), POLLIN, 0});
      if (polled.empty()) {
        for (const Sending& s : sending)
          if (s.refused) gone(s.message.to);
        return;
      }
      const int n = ::poll(polled.data(), polled.size(), milliseconds_to(deadline));
      if (n <= 0) {
        if (Clock::now() >= deadline) fail(late(sending, receiving));
        continue;
      }
      // Announcements go out before any is looked at: the others find out, too, where ranks differ.
      for (Sending& s : sending)
        while (!s.done() && send(s)) {}
      for (Receiving& r : receiving)
        while (!r.done() && receive(r, check)) {}
    }
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
  bool receive(Receiving& r, const std::function<void(int, const Announcement&)>& check) const {
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
      r.announcement.line[sizeof r.announcement.line - 1] = 0;
      check(r.message.from, r.announcement);
      if (r.announcement.bytes != r.message.bytes)
        fail("rank " + std::to_string(r.message.from) + " sends " + std::to_string(r.announcement.bytes) +
             " bytes where " + std::to_string(r.message.bytes) + " are expected");
    }
    return true;
  }
  [[noreturn]] static void gone(int peer) { fail("rank " + std::to_string(peer) + " closed its connection"); }
  static std::string late(const std::vector<Sending>& sending, const std::vector<Receiving>& receiving) {
    std::vector<int> ranks;
    for (const Receiving& r : receiving)
      if (!r.done()) ranks.push_back(r.message.from);
    for (const Sending& s : sending)
      if (!s.done() && std::find(ranks.begin(), ranks.end(), s.message.to) == ranks.end())
        ranks.push_back(s.message.to);
    std::string text = "not in time:";
    for (const int r : ranks) text += " rank " + std::to_string(r);
    return text;
  }

  const int rank_;
  const std::vector<Fd> peers_;  // by rank; none for this one
};

}  // namespace

std::unique_ptr<Engine> tcp_engine(const std::string& host, int port, int rank, int size,
                                   Clock::time_point deadline) {
  std::vector<Fd> peers(static_cast<size_t>(size));
  std::vector<Greeting> all(static_cast<size_t>(size));
  const bool local = host == "127.0.0.1" || host == "localhost";
  if (rank == 0) {
    const Fd door = listen_at(host, port, size);
    for (int met = 1; met < size; ++met) {
      Fd s = accept_at(door.get(), deadline);
      Greeting g;
      receive_all(s.get(), &g, sizeof g, deadline);
      check(g, size);
      if (g.rank < 1 || g.rank >= size || peers[static_cast<size_t>(g.rank)])
        fail("rank " + std::to_string(g.rank) + " came twice, or is none");
      sockaddr_in from{};
      socklen_t n = sizeof from;
      ::getpeername(s.get(), reinterpret_cast<sockaddr*>(&from), &n);
      g.address = from.sin_addr.s_addr;
      all[static_cast<size_t>(g.rank)] = g;
      peers[static_cast<size_t>(g.rank)] = std::move(s);
    }
    for (int r = 1; r < size; ++r)
      send_all(peers[static_cast<size_t>(r)].get(), all.data(), all.size() * sizeof(Greeting), deadline);
  } else {
    const Fd door = listen_at(local ? host : "0.0.0.0", 0, size);
    peers[0] = connect_to(address_of(host, port), deadline);
    const Greeting own{kMagic, rank, size, port_of(door.get()), 0};
    send_all(peers[0].get(), &own, sizeof own, deadline);
    receive_all(peers[0].get(), all.data(), all.size() * sizeof(Greeting), deadline);
    // The lower rank listens.
    for (int r = 1; r < rank; ++r) {
      const Greeting& g = all[static_cast<size_t>(r)];
      check(g, size);
      sockaddr_in a{};
      a.sin_family = AF_INET, a.sin_port = htons(static_cast<uint16_t>(g.port)),
      a.sin_addr.s_addr = g.address;
      peers[static_cast<size_t>(r)] = connect_to(a, deadline);
      send_all(peers[static_cast<size_t>(r)].get(), &own, sizeof own, deadline);
    }
    for (int r = rank + 1; r < size; ++r) {
      Fd s = accept_at(door.get(), deadline);
      Greeting g;
      receive_all(s.get(), &g, sizeof g, deadline);
      check(g, size);
      if (g.rank <= rank || g.rank >= size || peers[static_cast<size_t>(g.rank)]) fail("a rank came twice");
      peers[static_cast<size_t>(g.rank)] = std::move(s);
    }
  }
  return std::make_unique<Tcp>(rank, std::move(peers));
}

}  // namespace lazy::distributed
