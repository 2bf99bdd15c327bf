// Carries messages between devices of the ranks. What a rank is about to do is told by way of the host, so
// that ranks which do different things find out before a device is asked for anything; devices then carry
// what all agree about.
#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "jit/backend/backend.hpp"
#include "jit/backend/carrier.hpp"
#include "lazy/distributed/engines/engines.hpp"
#include "support/error.hpp"

namespace lazy::distributed::detail {
namespace {

// A device that fails because another rank is gone may say so before that is known.
constexpr std::chrono::milliseconds kReason{2000};

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(std::unique_ptr<Engine> host, std::string name)
      : host_(std::move(host)), name_(std::move(name)) {}
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  const char* name() const override { return name_.c_str(); }
  void leave() noexcept override { host_->leave(); }
  void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                const CheckAnnouncement& check) override {
    host_->exchange(own, out, in, check);
  }

  void stop() noexcept override {
    host_->stop();
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Device& d : devices_) d.carrier->stop();
  }

  Place place_of(jit::Backend& backend) override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < devices_.size(); ++i)
      if (devices_[i].backend == &backend) return {devices_[i].carrier.get(), static_cast<int32_t>(i) + 1};
    if (std::find(others_.begin(), others_.end(), &backend) != others_.end()) return {};
    auto carrier = backend.make_carrier();
    if (!carrier) {
      others_.push_back(&backend);
      return {};
    }
    if (stopped_) carrier->stop();
    devices_.push_back({&backend, std::move(carrier), {}});
    return {devices_.back().carrier.get(), static_cast<int32_t>(devices_.size())};
  }

  void ask_at(const Place& place, const Announcement& own, std::span<const int> members,
              const CheckAnnouncement& check, const Ask& ask) override {
    const std::vector<int> ranks(members.begin(), members.end());
    tell(own, ranks, 0, nullptr, nullptr, check);
    if (own.elements == 0) return;
    Device& device = device_at(place);
    try {
      const auto [at, fresh] = device.connections.try_emplace(ranks, -1);
      if (fresh) at->second = connect(*device.carrier, own, ranks, check);
      ask(*device.carrier, at->second);
    } catch (const jit::CarrierStopped&) { throw Stopped(others(ranks)); } catch (const Error&) {
      for (const auto until = std::chrono::steady_clock::now() + kReason;
           std::chrono::steady_clock::now() < until && !is_stopped();)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (is_stopped()) throw Stopped(others(ranks));
      throw;
    }
  }

 private:
  struct Device {
    jit::Backend* backend;
    std::unique_ptr<jit::Carrier> carrier;
    std::map<std::vector<int>, int> connections;  // numbers, by the ranks in their order
  };

  bool is_stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  Device& device_at(const Place& place) {
    const std::lock_guard lock(mutex_);
    return devices_[static_cast<size_t>(place.number) - 1];
  }
  std::vector<int> others(std::vector<int> ranks) const {
    std::erase(ranks, rank());
    return ranks;
  }

  /// Tells the others what this rank does, by way of the host, and hears what they do. The first of the ranks
  /// gives the others so many bytes.
  void tell(const Announcement& own, const std::vector<int>& ranks, size_t bytes, const void* from, char* to,
            const CheckAnnouncement& check) {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (const int r : others(ranks)) {
      out.push_back({r, from, rank() == ranks[0] ? bytes : 0});
      in.push_back({r, to, r == ranks[0] ? bytes : 0});
    }
    host_->exchange(own, out, in, check);
  }

  int connect(jit::Carrier& carrier, const Announcement& own, const std::vector<int>& ranks,
              const CheckAnnouncement& check) {
    std::string invitation(kInvitation, '\0');
    if (rank() == ranks[0]) {
      invitation = carrier.invitation();
      invitation.resize(kInvitation);
    }
    tell(own, ranks, kInvitation, invitation.data(), invitation.data(), check);
    const auto me = std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin();
    return carrier.connect(invitation, static_cast<int>(me), static_cast<int>(ranks.size()));
  }

  static constexpr size_t kInvitation = 128;  // bytes

  const std::unique_ptr<Engine> host_;
  const std::string name_;
  std::mutex mutex_;
  std::deque<Device> devices_;         // number n is at n - 1; they stay where they are
  std::vector<jit::Backend*> others_;  // whose memory goes by way of the host
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Engine> device_engine(std::unique_ptr<Engine> host, std::string name) {
  return std::make_unique<DeviceEngine>(std::move(host), std::move(name));
}

}  // namespace lazy::distributed::detail
