// Connects ranks that are threads of one process: a message is read where the sender has it.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include "lazy/distributed/engines/engines.hpp"
#include "support/error.hpp"

namespace lazy::distributed::detail {
namespace {

/// Holds what the ranks share.
struct Room {
  struct Slot {  // what one rank has for another
    bool full = false, taken = false, reading = false;
    Announcement announcement;
    const void* data = nullptr;  // null once the sender has failed
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Slot> slots;
  std::vector<uint8_t> gone;
  std::vector<std::string> failed;  // by rank: why it can't go on
  explicit Room(int n)
      : slots(static_cast<size_t>(n * n)), gone(static_cast<size_t>(n)), failed(static_cast<size_t>(n)) {}
};

class Threads final : public Engine {
 public:
  Threads(std::shared_ptr<Room> room, int rank, int size)
      : room_(std::move(room)), rank_(rank), size_(size) {}
  ~Threads() override { Threads::leave(); }
  void leave() noexcept override {
    const std::lock_guard lock(room_->mutex);
    room_->gone[static_cast<size_t>(rank_)] = 1;
    room_->changed.notify_all();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "threads"; }
  void stop() noexcept override {
    const std::lock_guard lock(room_->mutex);
    stopped_ = true;
    room_->changed.notify_all();
  }

  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    std::unique_lock lock(room_->mutex);
    try {
      for (const Outgoing& o : out) {
        Room::Slot& slot = at(rank_, o.to);
        wait(lock, o.to, [&] { return !slot.full; });
        slot = {true, false, false, own, o.data};
        slot.announcement.bytes = o.bytes;
        room_->changed.notify_all();
      }
      for (const Incoming& i : in) {
        Room::Slot& slot = at(i.from, rank_);
        wait(lock, i.from, [&] { return slot.full && !slot.taken; });
        Announcement theirs = slot.announcement;
        hear(theirs, i, check);
        if (!slot.data && i.bytes) fail(i.from);
        const void* const data = slot.data;
        slot.reading = true;
        lock.unlock();
        if (i.bytes) std::memcpy(i.data, data, i.bytes);
        lock.lock();
        slot.reading = false, slot.taken = true;
        room_->changed.notify_all();
      }
      for (const Outgoing& o : out) {
        Room::Slot& slot = at(rank_, o.to);
        wait(lock, o.to, [&] { return slot.taken; });
        slot.full = false;
        room_->changed.notify_all();
      }
    } catch (const std::exception& e) {
      if (!lock.owns_lock()) lock.lock();
      room_->failed[static_cast<size_t>(rank_)] = e.what();
      for (int to = 0; to < size_; ++to) {  // what they read may be gone when this returns
        Room::Slot& slot = at(rank_, to);
        room_->changed.wait(lock, [&] { return !slot.reading; });
        slot.data = nullptr;
      }
      room_->changed.notify_all();
      throw;
    }
  }

 private:
  Room::Slot& at(int from, int to) { return room_->slots[static_cast<size_t>(from * size_ + to)]; }
  [[noreturn]] void fail(int peer) const {
    throw CommunicationError("rank " + std::to_string(peer) +
                             " failed: " + room_->failed[static_cast<size_t>(peer)]);
  }
  /// Waits for what only the peer can bring about.
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, int peer, Condition&& done) {
    const auto p = static_cast<size_t>(peer);
    room_->changed.wait(lock,
                        [&] { return done() || stopped_ || room_->gone[p] || !room_->failed[p].empty(); });
    if (done()) return;
    if (!room_->failed[p].empty()) fail(peer);
    if (room_->gone[p]) throw PeerLost(peer, "rank " + std::to_string(peer) + " is gone");
    throw Stopped({peer});
  }

  const std::shared_ptr<Room> room_;
  const int rank_, size_;
  bool stopped_ = false;  // guarded by the room's mutex
};

}  // namespace

std::vector<std::unique_ptr<Engine>> thread_engines(int size) {
  const auto room = std::make_shared<Room>(size);
  std::vector<std::unique_ptr<Engine>> all;
  for (int r = 0; r < size; ++r) all.push_back(std::make_unique<Threads>(room, r, size));
  return all;
}

}  // namespace lazy::distributed::detail
