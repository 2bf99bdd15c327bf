// Brings the ranks of a world together: each connects to rank 0, which tells all what each has to say, such
// as where it listens. The connections stay open; watch.hpp uses them. Internal to lazy/distributed.
#pragma once
#include <string>
#include <vector>

#include "lazy/distributed/engines/engine.hpp"
#include "lazy/distributed/engines/sockets.hpp"

namespace lazy::distributed::detail {

class Meeting {
 public:
  /// Meets at host:port, where rank 0 listens. CommunicationError if not all are there in time, or if ranks
  /// disagree about how many they are.
  static Meeting at(const std::string& host, int port, int rank, int size, Clock::time_point deadline);
  /// Meets where rank 0 says: `tell` makes everybody's text that of rank 0, which is then "host port".
  static Meeting told(const std::function<void(std::string&)>& tell, int rank, int size,
                      Clock::time_point deadline);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns what each rank has, by rank.
  std::vector<std::string> gather(const std::string& own, Clock::time_point deadline);
  /// Returns where each rank is, as others reach it: numbers, "10.0.0.3".
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Takes the connections over: of rank 0 to each other rank, by rank; of others to rank 0, the first.
  std::vector<Fd> release() { return std::move(links_); }

 private:
  Meeting(int rank, int size) : rank_(rank), size_(size) {}
  void receive_all_at(Fd door, Clock::time_point deadline);
  void join(const std::string& host, int port, Clock::time_point deadline);
  void share_hosts(const std::string& host, Clock::time_point deadline);

  int rank_, size_;
  std::vector<Fd> links_;
  std::vector<std::string> hosts_;
};

}  // namespace lazy::distributed::detail
