#include "lazy/distributed/watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "lazy/distributed/collective_kinds.hpp"
#include "lazy/distributed/signalled.hpp"
#include "support/quiet_thread.hpp"

namespace lazy::distributed::detail {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr std::chrono::milliseconds kTick{250};
constexpr double kSay = 0.5;           // seconds between two reports
constexpr double kLastMessages = 2.0;  // seconds in which what a rank sent before it left may still come
constexpr double kSeenGone = 1.0;      // seconds in which an engine sees by itself that a rank is gone

double seconds_since(Clock::time_point t) { return Seconds(Clock::now() - t).count(); }
std::string rounded(double seconds) { return std::to_string(static_cast<int64_t>(seconds + 0.5)) + " s"; }

/// Returns what a rank is doing, for people.
std::string doing(const Status& s) {
  const std::string last = s.begun ? std::string(name_of(static_cast<Kind>(s.kind))) + " at " + s.line : "";
  if (s.left)
    return "has left the world after " + std::to_string(s.begun) + " collectives" +
           (last.empty() ? "" : ", the last an " + last);
  if (s.waits) return "waits in " + last;
  return std::string(s.compiles ? "compiles" : "computes, or waits for something else") +
         (last.empty() ? ", before its first collective" : "; its last collective was " + last);
}

/// True if both are at one exchange, which goes on by itself.
bool at_the_same(const Status& a, const Status& b) {
  const bool pair = is_pair(static_cast<Kind>(a.kind));
  if (a.group != b.group || a.sequence != b.sequence || pair != is_pair(static_cast<Kind>(b.kind)))
    return false;
  return !pair || a.kind != b.kind;
}

/// Returns the ranks that wait for each other in a circle, each in another exchange than the next one, of
/// which `from` is one; nothing if there is no such circle. status_of(rank) is what a rank says of itself.
template <class StatusOf>
std::vector<int> circle_of(int from, size_t ranks, StatusOf&& status_of) {
  std::vector<int> circle;
  for (int r = from; circle.size() <= ranks;) {
    const Status s = status_of(r);
    if (!s.waits || s.awaits < 0 || static_cast<size_t>(s.awaits) >= ranks) return {};
    const Status next = status_of(s.awaits);
    if (!next.waits || at_the_same(s, next)) return {};
    circle.push_back(r);
    r = s.awaits;
    if (r == from) return circle;
  }
  return {};  // it leads into a circle that `from` is no part of: those who are will say so
}

/// Describes a circle for people.
template <class StatusOf>
std::string described(const std::vector<int>& circle, StatusOf&& status_of) {
  std::string text = "ranks wait for each other:";
  for (const int r : circle) {
    const Status s = status_of(r);
    text += " rank " + std::to_string(r) + " waits for rank " + std::to_string(s.awaits) + " in " +
            name_of(static_cast<Kind>(s.kind)) + " at " + s.line + ";";
  }
  text.pop_back();
  return text;
}

/// Tells a circle that stays from one that reports of different times seem to make.
class Deadlock {
 public:
  static constexpr double kStays = 2;      // seconds, some reports of each rank
  static constexpr double kSuspect = 0.5;  // seconds after which it explains that another rank gave up

  /// Takes the circle as it is now, with the numbers of its exchanges; returns for how many seconds it has
  /// been so.
  double age(std::vector<uint64_t> circle) {
    const auto now = Clock::now();
    if (circle != circle_) circle_ = std::move(circle), since_ = now;
    return circle_.empty() ? 0 : Seconds(now - since_).count();
  }

 private:
  std::vector<uint64_t> circle_;
  Clock::time_point since_ = Clock::now();
};

/// Returns what is different of a circle when one of its ranks has gone on.
template <class StatusOf>
std::vector<uint64_t> numbers_of(const std::vector<int>& circle, StatusOf&& status_of) {
  std::vector<uint64_t> all;
  for (const int r : circle) all.push_back(static_cast<uint64_t>(r)), all.push_back(status_of(r).begun);
  return all;
}

/// Counts how long a rank has waited, less the time in which others compile.
class Patience {
 public:
  /// Adds the time since it was last asked, if the rank still waits for the same; returns seconds.
  double used(uint64_t number, bool others_compile) {
    const auto now = Clock::now();
    if (number != number_) used_ = 0, number_ = number;
    else if (!others_compile) used_ += Seconds(now - last_).count();
    last_ = now;
    return used_;
  }

 private:
  uint64_t number_ = 0;
  double used_ = 0;
  Clock::time_point last_ = Clock::now();
};

/// Holds what is known of another rank.
struct Known {
  Status status;
  Clock::time_point heard = Clock::now();
  Clock::time_point gone = Clock::time_point::max();  // when its connection was first found closed
  Clock::time_point left = Clock::time_point::max();  // when it was first heard that it has left
  bool is_gone() const { return gone != Clock::time_point::max(); }
};

class ProcessWatch final : public Watch {
 public:
  ProcessWatch(Communicator& own, Meeting meeting, double silence)
      : own_(own),
        silence_(silence),
        rank_(meeting.rank()),
        known_(static_cast<size_t>(meeting.size())),
        links_(meeting.release()),
        received_(links_.size()),
        unsent_(links_.size()),
        alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    own_.explain_losses([this](int r) {
      const std::lock_guard lock(mutex_);
      // Who is first to see that ranks wait for each other gives up, and is lost to the others.
      if (!circle_.empty()) return ": " + circle_;
      const int first = known_[static_cast<size_t>(r)].status.lost;
      return first < 0 ? std::string() : ", for it had lost rank " + std::to_string(first);
    });
    count_signals();
    thread_ = quiet_thread([this] { watch(); });
  }
  ~ProcessWatch() override {
    own_.explain_losses({});
    ending_.store(true);
    const uint64_t one = 1;
    (void)!::write(alarm_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  /// Goes over a link: others send their status, rank 0 every rank's, and how old it is.
  struct Report {
    int32_t rank = 0;
    int32_t age_ms = 0;  // -1: its connection is closed
    Status status;
  };

  bool is_link(size_t i) const { return static_cast<bool>(links_[i]); }
  size_t peer_of(size_t link) const { return rank_ == 0 ? link : 0; }

  void watch() {
    auto said = Clock::now() - std::chrono::seconds(1);
    while (!ending_.load()) {
      std::vector<pollfd> polled{{alarm_.get(), POLLIN, 0}};
      for (size_t i = 0; i < links_.size(); ++i)
        if (is_link(i)) polled.push_back({links_[i].get(), POLLIN, 0});
      ::poll(polled.data(), polled.size(), static_cast<int>(kTick.count()));
      for (size_t i = 0; i < links_.size(); ++i)
        if (is_link(i)) hear(i);
      if (const uint32_t n = signals(); n != signals_) {
        signals_ = n;
        own_.recorder().write(own_.rank(), own_.size(), own_.engine(), true);
      }
      if (seconds_since(said) >= kSay) say(false), said = Clock::now();
      judge();
    }
    say(true);
  }

  void say(bool leaving) {
    std::vector<Report> reports;
    const auto now = Clock::now();
    for (size_t r = 0; r < known_.size(); ++r) {
      if (static_cast<int>(r) == rank_) {
        reports.push_back({rank_, 0, own_.status()});
        reports.back().status.left = leaving;
      } else if (rank_ == 0) {
        const std::lock_guard lock(mutex_);
        const Known& k = known_[r];
        const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - k.heard).count();
        reports.push_back({static_cast<int32_t>(r), k.is_gone() ? -1 : static_cast<int32_t>(age), k.status});
      }
    }
    for (size_t i = 0; i < links_.size(); ++i)
      if (is_link(i)) tell(links_[i].get(), unsent_[i], reports);
  }

  /// Sends reports, unless a part of earlier ones is still to go: then only that.
  static void tell(int fd, std::string& unsent, const std::vector<Report>& reports) {
    if (unsent.empty())
      unsent.assign(reinterpret_cast<const char*>(reports.data()), reports.size() * sizeof(Report));
    const ssize_t n = ::send(fd, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) unsent.erase(0, static_cast<size_t>(n));
  }

  void hear(size_t link) {
    for (;;) {
      char bytes[4096];
      const ssize_t n = ::recv(links_[link].get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) {
        const std::lock_guard lock(mutex_);
        lose(known_[peer_of(link)]);
        links_[link] = Fd();
        return;
      }
      std::string& got = received_[link];
      got.append(bytes, static_cast<size_t>(n));
      size_t at = 0;
      for (; got.size() - at >= sizeof(Report); at += sizeof(Report)) {
        Report r;
        std::memcpy(&r, got.data() + at, sizeof r);
        note(r, peer_of(link));
      }
      got.erase(0, at);
    }
  }

  static void lose(Known& k) { k.gone = std::min(k.gone, Clock::now()); }

  void note(const Report& r, size_t from) {
    if (r.rank < 0 || static_cast<size_t>(r.rank) >= known_.size() || r.rank == rank_) return;
    const std::lock_guard lock(mutex_);
    Known& k = known_[static_cast<size_t>(r.rank)];
    if (r.status.left && !k.status.left) k.left = Clock::now();
    k.status = r.status;
    k.status.line[sizeof k.status.line - 1] = 0;
    if (r.age_ms < 0) lose(k);
    k.heard = Clock::now() - std::chrono::milliseconds(std::max(0, r.age_ms));
    if (from == 0) known_[0].heard = Clock::now();
  }

  /// Returns seconds since something was heard of a rank. While rank 0 is silent the others can't be judged.
  double silent(size_t r) const {
    const double own = seconds_since(known_[r].heard);
    if (rank_ == 0 || r == 0) return own;
    return own - seconds_since(known_[0].heard);
  }

  /// Returns what a rank was doing: what it said itself may be half a second old, and its messages younger.
  std::string doing_of(int r) const {
    Status s = known_[static_cast<size_t>(r)].status;
    if (const Status last = own_.announced_by(r); !s.begun && last.begun)
      s.begun = 1, s.kind = last.kind, std::memcpy(s.line, last.line, sizeof s.line);
    return doing(s);
  }

  /// Gives up what this rank waits for if a rank will not come.
  void judge() {
    uint64_t number = 0;
    const std::vector<int> awaited = own_.waits_for(&number);
    if (awaited.empty()) return;
    std::string why;
    double used = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto compiles = [&](int r) { return known_[static_cast<size_t>(r)].status.compiles != 0; };
      used = patience_.used(number, std::any_of(awaited.begin(), awaited.end(), compiles));
      for (const int r : awaited) {
        const Known& k = known_[static_cast<size_t>(r)];
        if (k.status.left && seconds_since(k.left) > kLastMessages)
          why = "rank " + std::to_string(r) + " " + doing_of(r);
        else if (own_.at_device() && k.is_gone() && seconds_since(k.gone) > kSeenGone)
          why = "rank " + std::to_string(r) + " closed its connection";
        else if (silence_ > 0 && !k.is_gone() && silent(static_cast<size_t>(r)) > silence_)
          why = "nothing has been heard of rank " + std::to_string(r) + " for " +
                rounded(silent(static_cast<size_t>(r))) + ": it was stopped, or its machine is gone; it " +
                doing_of(r);
        if (!why.empty()) break;
      }
      const auto status_of = [&](int r) {
        return r == rank_ ? own_.status() : known_[static_cast<size_t>(r)].status;
      };
      const std::vector<int> circle = circle_of(rank_, known_.size(), status_of);
      const double age = deadlock_.age(numbers_of(circle, status_of));
      if (number != circle_number_) circle_.clear();
      if (age > Deadlock::kSuspect) circle_ = described(circle, status_of), circle_number_ = number;
      // One of a circle that has given up since leaves the world.
      if (age > Deadlock::kStays || (!why.empty() && !circle_.empty())) why = circle_;
    }
    if (!why.empty()) {
      own_.give_up(why, {});
    } else if (used > own_.timeout()) {
      own_.give_up("not in time, " + rounded(own_.timeout()) + ":", [this](const std::vector<int>& ranks) {
        const std::lock_guard lock(mutex_);
        std::string text;
        for (const int r : ranks) text += " rank " + std::to_string(r) + ", which " + doing_of(r) + ";";
        if (!text.empty()) text.pop_back();
        return text;
      });
    }
  }

  Communicator& own_;
  const double silence_;  // seconds
  const int rank_;
  mutable std::mutex mutex_;                    // of known_ and circle_
  std::string circle_;                          // describes one that this rank is a part of, in the
  uint64_t circle_number_ = 0;                  // collective of this number
  std::vector<Known> known_;                    // by rank
  std::vector<Fd> links_;                       // of rank 0 by rank, of others one
  std::vector<std::string> received_, unsent_;  // by link: bytes of reports that have come, or gone, in part
  const Fd alarm_;
  Patience patience_;
  Deadlock deadlock_;
  std::atomic<bool> ending_{false};
  uint32_t signals_ = signals();  // that were answered; of the thread
  std::thread thread_;
};

class ThreadWatch final : public Watch {
 public:
  explicit ThreadWatch(std::vector<Communicator*> ranks)
      : ranks_(std::move(ranks)), patience_(ranks_.size()), deadlocks_(ranks_.size()) {
    thread_ = quiet_thread([this] { watch(); });
  }
  ~ThreadWatch() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kTick, [&] { return ending_; }))
      for (size_t i = 0; i < ranks_.size(); ++i) {
        uint64_t number = 0;
        if (ranks_[i]->waits_for(&number).empty()) continue;
        const auto status_of = [&](int r) { return ranks_[static_cast<size_t>(r)]->status(); };
        const std::vector<int> circle = circle_of(static_cast<int>(i), ranks_.size(), status_of);
        if (deadlocks_[i].age(numbers_of(circle, status_of)) > Deadlock::kStays) {
          std::vector<Communicator*> members;
          for (const int r : circle) members.push_back(ranks_[static_cast<size_t>(r)]);
          Communicator::give_up(members, described(circle, status_of));
          continue;
        }
        if (patience_[i].used(number, false) <= ranks_[i]->timeout()) continue;
        ranks_[i]->give_up("not in time, " + rounded(ranks_[i]->timeout()) + ":",
                           [this](const std::vector<int>& awaited) {
                             std::string text;
                             for (const int r : awaited)
                               text += " rank " + std::to_string(r) + ", which " +
                                       doing(ranks_[static_cast<size_t>(r)]->status()) + ";";
                             if (!text.empty()) text.pop_back();
                             return text;
                           });
      }
  }

  const std::vector<Communicator*> ranks_;
  std::vector<Patience> patience_;
  std::vector<Deadlock> deadlocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Watch> watch_processes(Communicator& own, Meeting meeting, double silence) {
  return std::make_unique<ProcessWatch>(own, std::move(meeting), silence);
}
std::unique_ptr<Watch> watch_threads(std::vector<Communicator*> ranks) {
  return std::make_unique<ThreadWatch>(std::move(ranks));
}

}  // namespace lazy::distributed::detail
