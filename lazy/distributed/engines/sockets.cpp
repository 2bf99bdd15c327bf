#include "lazy/distributed/engines/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "support/error.hpp"

namespace lazy::distributed::detail {
namespace {

constexpr uint64_t kLongestText = 64 << 20;

[[noreturn]] void cannot(const std::string& what) { throw CommunicationError(what); }
std::string reason() { return std::strerror(errno); }

/// Sends or receives all bytes of a small message.
template <class Move>
void move_all(int fd, short event, size_t bytes, Clock::time_point deadline, Move&& move) {
  for (size_t done = 0; done < bytes;) {
    pollfd p{fd, event, 0};
    if (::poll(&p, 1, milliseconds_to(deadline)) <= 0) {
      if (Clock::now() >= deadline) cannot("not all ranks came in time");
      continue;
    }
    const ssize_t n = move(done);
    if (n > 0) done += static_cast<size_t>(n);
    else if (n == 0) cannot("a rank closed its connection while ranks met");
    else if (errno != EAGAIN && errno != EINTR) cannot("while ranks met: " + reason());
  }
}

}  // namespace

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

void send_all(int fd, const void* data, size_t bytes, Clock::time_point deadline) {
  move_all(fd, POLLOUT, bytes, deadline, [&](size_t done) {
    return ::send(fd, static_cast<const char*>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}
void receive_all(int fd, void* data, size_t bytes, Clock::time_point deadline) {
  move_all(fd, POLLIN, bytes, deadline,
           [&](size_t done) { return ::recv(fd, static_cast<char*>(data) + done, bytes - done, 0); });
}

void send_text(int fd, const std::string& text, Clock::time_point deadline) {
  const uint64_t n = text.size();
  send_all(fd, &n, sizeof n, deadline);
  send_all(fd, text.data(), n, deadline);
}
std::string receive_text(int fd, Clock::time_point deadline) {
  uint64_t n = 0;
  receive_all(fd, &n, sizeof n, deadline);
  if (n > kLongestText) cannot("what connected is no rank");
  std::string text(n, 0);
  receive_all(fd, text.data(), n, deadline);
  return text;
}

bool is_local(const std::string& host) { return host == "127.0.0.1" || host == "localhost"; }

Fd listen_at(const std::string& host, int port, int backlog) {
  Fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) cannot("no socket: " + reason());
  const int on = 1;
  ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = is_local(host) ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) || ::listen(s.get(), backlog))
    cannot("can't listen at " + host + ":" + std::to_string(port) + ": " + reason());
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
    if (Clock::now() >= deadline) cannot("not all ranks came in time");
  }
}

Fd connect_to(const sockaddr_in& a, Clock::time_point deadline) {
  for (;;) {
    Fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!s) cannot("no socket: " + reason());
    if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
      prepare(s.get());
      return s;
    }
    if (Clock::now() >= deadline) cannot("no rank listens at the address in time: " + reason());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

sockaddr_in address_of(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_STREAM;
  if (const int e = ::getaddrinfo(host.c_str(), nullptr, &hints, &found))
    cannot("no address of " + host + ": " + ::gai_strerror(e));
  sockaddr_in a;
  std::memcpy(&a, found->ai_addr, sizeof a);
  ::freeaddrinfo(found);
  a.sin_port = htons(static_cast<uint16_t>(port));
  return a;
}

}  // namespace lazy::distributed::detail
