#include "lazy/distributed/engines/meeting.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "support/error.hpp"

namespace lazy::distributed::detail {
namespace {

constexpr uint64_t kMagic = 0x797a616c'31706375;  // says that the other end is of this library

struct Greeting {
  uint64_t magic = kMagic;
  int32_t rank = 0, ranks = 0;
};

std::string host_of_peer(int fd) {
  sockaddr_in a{};
  socklen_t n = sizeof a;
  ::getpeername(fd, reinterpret_cast<sockaddr*>(&a), &n);
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &a.sin_addr, text, sizeof text);
  return text;
}

}  // namespace

void Meeting::receive_all_at(Fd door, Clock::time_point deadline) {
  links_.resize(static_cast<size_t>(size_));
  for (int met = 1; met < size_; ++met) {
    Fd s = accept_at(door.get(), deadline);
    Greeting g;
    receive_all(s.get(), &g, sizeof g, deadline);
    if (g.magic != kMagic) throw CommunicationError("what connected is no rank");
    std::string wrong;
    if (g.ranks != size_)
      wrong = "rank " + std::to_string(g.rank) + " is of a world of " + std::to_string(g.ranks) + ", not " +
              std::to_string(size_);
    else if (g.rank < 1 || g.rank >= size_ || links_[static_cast<size_t>(g.rank)])
      wrong = "rank " + std::to_string(g.rank) + " came twice, or is none";
    send_text(s.get(), wrong, deadline);
    if (!wrong.empty()) throw CommunicationError(wrong);
    links_[static_cast<size_t>(g.rank)] = std::move(s);
  }
}

void Meeting::join(const std::string& host, int port, Clock::time_point deadline) {
  links_.push_back(connect_to(address_of(host, port), deadline));
  const Greeting own{kMagic, rank_, size_};
  send_all(links_[0].get(), &own, sizeof own, deadline);
  if (const std::string wrong = receive_text(links_[0].get(), deadline); !wrong.empty())
    throw CommunicationError(wrong);
}

void Meeting::share_hosts(const std::string& host, Clock::time_point deadline) {
  // Each knows how it reaches rank 0, and rank 0 how it reaches each.
  if (rank_ == 0) {
    hosts_.push_back(is_local(host) ? "127.0.0.1" : host);
    for (int r = 1; r < size_; ++r) hosts_.push_back(host_of_peer(links_[static_cast<size_t>(r)].get()));
    std::string all;
    for (const std::string& h : hosts_) all += h + "\n";
    for (int r = 1; r < size_; ++r) send_text(links_[static_cast<size_t>(r)].get(), all, deadline);
  } else {
    const std::string all = receive_text(links_[0].get(), deadline);
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = all.find('\n', begin);
      hosts_.push_back(all.substr(begin, end - begin));
      begin = end + 1;
    }
    hosts_.resize(static_cast<size_t>(size_));
    hosts_[0] = host_of_peer(links_[0].get());
  }
}

Meeting Meeting::at(const std::string& host, int port, int rank, int size, Clock::time_point deadline) {
  Meeting m(rank, size);
  if (rank == 0) m.receive_all_at(listen_at(host, port, size), deadline);
  else m.join(host, port, deadline);
  m.share_hosts(host, deadline);
  return m;
}

Meeting Meeting::told(const std::function<void(std::string&)>& tell, int rank, int size,
                      Clock::time_point deadline) {
  Meeting m(rank, size);
  std::string place;
  if (rank == 0) {
    Fd door = listen_at("0.0.0.0", 0, size);
    char name[256] = "127.0.0.1";
    ::gethostname(name, sizeof name - 1);
    try {
      (void)address_of(name, 0);
    } catch (const CommunicationError&) {
      std::strcpy(name, "127.0.0.1");  // a machine whose name nobody knows has its ranks for itself
    }
    place = std::string(name) + " " + std::to_string(port_of(door.get()));
    tell(place);
    m.receive_all_at(std::move(door), deadline);
    m.share_hosts(name, deadline);
  } else {
    tell(place);
    const size_t space = place.find(' ');
    m.join(place.substr(0, space), std::stoi(place.substr(space + 1)), deadline);
    m.share_hosts({}, deadline);
  }
  return m;
}

std::vector<std::string> Meeting::gather(const std::string& own, Clock::time_point deadline) {
  std::vector<std::string> all{own};
  if (rank_ == 0) {
    for (int r = 1; r < size_; ++r)
      all.push_back(receive_text(links_[static_cast<size_t>(r)].get(), deadline));
    for (int r = 1; r < size_; ++r)
      for (const std::string& text : all) send_text(links_[static_cast<size_t>(r)].get(), text, deadline);
    return all;
  }
  send_text(links_[0].get(), own, deadline);
  all.clear();
  for (int r = 0; r < size_; ++r) all.push_back(receive_text(links_[0].get(), deadline));
  return all;
}

}  // namespace lazy::distributed::detail
