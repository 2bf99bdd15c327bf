#include "lazy/distributed/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
#include <utility>

#include "lazy/distributed/collective.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::distributed::detail {
namespace {

constexpr size_t kMostFree = 16;  // pieces of memory that are kept

// `exchange` is the same on all ranks that take part in it, and tells it from others.
constexpr profile::Kind kExchange{nullptr,
                                  "comm",
                                  {{{"kind", profile::Type::text},
                                    {"exchange", profile::Type::integer},
                                    {"elements", profile::Type::integer},
                                    {"bytes", profile::Type::integer},
                                    {"at", profile::Type::text}}}};

/// Returns what ranks have in common that are at one collective, in 53 bits, which JSON keeps.
int64_t common_number(const Announcement& a, int rank, const std::vector<int>& members) {
  uint64_t h = mix(mix(a.members, a.sequence), static_cast<uint64_t>(a.group));
  if (const auto k = static_cast<Kind>(a.kind); is_pair(k)) {
    const auto own = static_cast<uint64_t>(rank),
               other = static_cast<uint64_t>(members.at(static_cast<size_t>(a.root)));
    h = k == Kind::send ? mix(mix(h, own), other) : mix(mix(h, other), own);
  }
  return static_cast<int64_t>(h >> 11);
}

std::string described(int rank, const Announcement& a) {
  return "rank " + std::to_string(rank) + " is at " + describe(a);
}

/// True where ranks may call from lines of their own: nothing of theirs is combined.
bool may_differ_in_line(Kind k) { return k == Kind::broadcast || k == Kind::barrier || is_pair(k); }

bool agree(const Announcement& a, const Announcement& b) {
  const auto is = [](const Announcement& x, Kind k) { return static_cast<Kind>(x.kind) == k; };
  const bool pair = (is(a, Kind::recv) && is(b, Kind::send)) || (is(a, Kind::send) && is(b, Kind::recv));
  return a.sequence == b.sequence && a.elements == b.elements && a.dtype == b.dtype && a.group == b.group &&
         a.shapes == b.shapes && a.members == b.members && a.reduction == b.reduction && a.place == b.place &&
         (pair || (a.kind == b.kind && a.root == b.root)) &&
         (may_differ_in_line(static_cast<Kind>(a.kind)) || std::strcmp(a.line, b.line) == 0);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Engine> engine, double timeout)
    : engine_(std::move(engine)), timeout_(timeout), groups_(1) {}
Communicator::~Communicator() = default;

bool Communicator::broken() const {
  const std::lock_guard lock(mutex_);
  return !broken_.empty();
}

int Communicator::add_group(std::vector<int> ranks) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(std::move(ranks));
  return static_cast<int>(groups_.size()) - 1;
}

std::vector<int> Communicator::members(int group) const {
  if (group == 0) {
    std::vector<int> all(static_cast<size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::lock_guard lock(mutex_);
  if (group < 0 || static_cast<size_t>(group) >= groups_.size())
    throw CommunicationError("there is no group " + std::to_string(group) + " in this world");
  return groups_[static_cast<size_t>(group)];
}

void Communicator::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    status_.left = 1;
  }
  engine_->leave();
}

namespace {

/// Counts the time in which a program stands still for other ranks.
class Standstill {
 public:
  Standstill() = default;
  Standstill(const Standstill&) = delete;
  ~Standstill() {
    const auto time = std::chrono::steady_clock::now() - begin_;
    metric::add(MetricCounter::collective_wait_ns,
                static_cast<uint64_t>(std::chrono::nanoseconds(time).count()));
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void Communicator::run(Collective& c) {
  const Standstill time;
  in_order_.run([&] { c.run(); });
}

void Communicator::drain() noexcept {
  try {
    in_order_.run([] {});
  } catch (const std::exception&) {}  // it throws nothing of its own
}

WorkMemory Communicator::take_memory(size_t bytes, jit::Backend* device) {
  if (device) return {nullptr, 0, jit::BufferRef::allocate(*device, bytes)};
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto m = free_.begin(); m != free_.end(); ++m)
    if (m->bytes >= bytes && m->bytes / 2 <= bytes && (best == free_.end() || m->bytes < best->bytes))
      best = m;
  if (best == free_.end()) {
    // The oldest goes: memory that fits nothing that comes would be kept for ever.
    if (free_.size() >= kMostFree) free_.erase(free_.begin());
    return {std::unique_ptr<char[]>(new char[bytes]), bytes, {}};
  }
  WorkMemory taken = std::move(*best);
  free_.erase(best);
  return taken;
}

uint64_t Communicator::start(std::unique_ptr<Collective> collective, const char* const* in) {
  WorkMemory memory = take_memory(collective->work_bytes(), collective->device());
  collective->pack(in, memory.at());
  Collective* const c = collective.get();
  const uint64_t number = in_order_.start([c] { c->run(); });
  const std::lock_guard lock(mutex_);
  flying_[number] = std::move(collective);
  memory_[number] = std::move(memory);
  return number;
}

void Communicator::note_ticket(const void* at, uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (at) tickets_[at] = number;
}

uint64_t Communicator::ticket_at(const void* at) const {
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(at);
  return found != tickets_.end() && flying_.contains(found->second) ? found->second : 0;
}

void Communicator::wait(uint64_t number, std::span<const jit::Meta> outputs, char* const* out) {
  std::unique_ptr<Collective> collective;
  WorkMemory memory;
  {
    const std::lock_guard lock(mutex_);
    const auto at = flying_.find(number);
    if (at == flying_.end()) throw CommunicationError("what is waited for was not started in this world");
  }
  std::exception_ptr failure;
  {
    const Standstill time;
    try {
      in_order_.wait(number);
    } catch (...) { failure = std::current_exception(); }
  }
  {
    const std::lock_guard lock(mutex_);
    collective = std::move(flying_.extract(number).mapped());
    memory = std::move(memory_.extract(number).mapped());
    std::erase_if(tickets_, [&](const auto& t) { return t.second == number; });
  }
  if (failure) std::rethrow_exception(failure);
  collective->unpack(outputs, out);
  if (memory.of_device) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(memory));
}

Communicator::Flight::Flight(Communicator& all, Announcement& own, const std::vector<int>& members)
    : all_(all),
      own_(own),
      number_([&] {
        const auto kind = static_cast<Kind>(own.kind);
        const bool pair = is_pair(kind);
        const int other = pair ? members.at(static_cast<size_t>(own.root)) : 0;
        const std::lock_guard lock(all.mutex_);
        // Messages between two ranks are counted by direction.
        own.sequence = all.sequences_[pair ? -1 - 2 * other - (kind == Kind::send) : own.group]++;
        Status& s = all.status_;
        ++s.begun, s.waits = 1, s.kind = own.kind, s.group = own.group, s.sequence = own.sequence;
        std::memcpy(s.line, own.line, sizeof own.line);
        all.waits_for_ = pair ? std::vector<int>{other} : members;
        std::erase(all.waits_for_, all.rank());
        all.latecomers_.begins(all.rank(), all.size(), own.line);
        return all.recorder_.begin(own);
      }()),
      exceptions_(std::uncaught_exceptions()),
      start_(profile::start_time()),
      common_(start_ ? common_number(own, all.rank(), members) : 0) {}

Communicator::Flight::~Flight() {
  const bool good = std::uncaught_exceptions() == exceptions_;
  {
    const std::lock_guard lock(all_.mutex_);
    all_.status_.waits = 0;
    all_.waits_for_.clear();
    all_.unheard_.clear();
    all_.latecomers_.ends();
  }
  if (start_)
    profile::put(kExchange, start_, profile::now(), name_of(static_cast<Kind>(own_.kind)), common_,
                 static_cast<int64_t>(own_.elements),
                 static_cast<int64_t>(own_.elements * size_of(static_cast<DType>(own_.dtype))),
                 profile::intern(own_.line));
  const uint64_t ns = all_.recorder_.end(number_, good);
  metric::add(MetricCounter::collectives);
  if (logging::enabled(logging::Channel::comm))
    logging::write(logging::Channel::comm,
                   "rank " + std::to_string(all_.rank()) + ": " + describe(own_) + ": " +
                       text::formatted("%.3f", static_cast<double>(ns) / 1e6) + " ms" +
                       (good ? "" : ", failed"),
                   logging::Fields()
                       .add("rank", all_.rank())
                       .add("exchange", describe(own_))
                       .add("ms", static_cast<double>(ns) / 1e6)
                       .add("good", good));
  if (!good) all_.recorder_.write(all_.rank(), all_.size(), all_.engine());
}

void Communicator::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (broken_.empty()) broken_ = why;
}

std::string Communicator::describe_loss(const PeerLost& lost) {
  std::function<std::string(int)> explain;
  {
    const std::lock_guard lock(mutex_);
    if (status_.lost < 0) status_.lost = lost.rank;
    explain = explain_loss_;
  }
  // A rank that gives up because it lost another one says so, by way of rank 0: it was not the first.
  std::string text = lost.what();
  for (int i = 0; explain && i < 30; ++i) {
    if (const std::string more = explain(lost.rank); !more.empty()) return text + more;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return text;
}

void Communicator::explain_losses(std::function<std::string(int)> explain) {
  const std::lock_guard lock(mutex_);
  explain_loss_ = std::move(explain);
}

void Communicator::exchange(const Announcement& own, std::span<const Outgoing> out,
                            std::span<const Incoming> in) {
  std::vector<int> awaited;
  for (const Incoming& i : in) awaited.push_back(i.from);
  for (const Outgoing& o : out) metric::add(MetricCounter::collective_bytes, o.bytes);
  guarded(own, std::move(awaited),
          [&](const CheckAnnouncement& check) { engine_->exchange(own, out, in, check); });
}

void Communicator::ask(const Engine::Place& place, const Announcement& own, std::span<const int> ranks,
                       const Engine::Ask& ask) {
  std::vector<int> awaited(ranks.begin(), ranks.end());
  std::erase(awaited, rank());
  at_device_.store(true, std::memory_order_relaxed);
  struct Leave {
    std::atomic<bool>& flag;
    ~Leave() { flag.store(false, std::memory_order_relaxed); }
  } leave{at_device_};
  guarded(own, std::move(awaited),
          [&](const CheckAnnouncement& check) { engine_->ask_at(place, own, ranks, check, ask); });
}

void Communicator::guarded(const Announcement& own, std::vector<int> awaited,
                           const std::function<void(const CheckAnnouncement&)>& f) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty()) throw CommunicationError("ranks can't exchange anything any more: " + broken_);
    unheard_ = std::move(awaited);
  }
  bool differ = false;
  const auto check = [&](int from, const Announcement& theirs) {
    {
      const std::lock_guard lock(mutex_);
      last_of_[from] = theirs;
      if (std::erase(unheard_, from) > 0 && unheard_.empty()) latecomers_.came(from);
    }
    if (agree(own, theirs)) return;
    differ = true;
    throw CommunicationError("ranks do different things: " + described(rank(), own) + "; " +
                             described(from, theirs));
  };
  const auto failed = [&](const std::string& why) {
    fail(why);
    throw CommunicationError(std::string(name_of(static_cast<Kind>(own.kind))) + ": " + why);
  };
  try {
    f(check);
  } catch (const Stopped& s) {
    std::function<std::string(const std::vector<int>&)> explain;
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      explain = explain_, why = why_;
    }
    failed(why + (explain ? explain(s.awaited) : std::string()) + "; " + described(rank(), own));
  } catch (const PeerLost& lost) {
    failed(describe_loss(lost) + "; " + described(rank(), own));
  } catch (const std::exception& e) {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      if (!explain_) why = why_;  // another rank of the same circle was stopped first
    }
    failed(differ && why.empty() ? e.what() : (why.empty() ? e.what() : why) + "; " + described(rank(), own));
  }
}

Status Communicator::status() const {
  const std::lock_guard lock(mutex_);
  Status s = status_;
  s.compiles = metric::compiling() > 0;
  s.awaits = unheard_.empty() ? -1 : unheard_.front();
  return s;
}

Status Communicator::announced_by(int rank) const {
  const std::lock_guard lock(mutex_);
  Status s;
  const auto at = last_of_.find(rank);
  if (at == last_of_.end()) return s;
  s.begun = 1, s.kind = at->second.kind;
  std::memcpy(s.line, at->second.line, sizeof at->second.line);
  return s;
}

std::vector<int> Communicator::waits_for(uint64_t* number) const {
  const std::lock_guard lock(mutex_);
  *number = status_.begun;
  return waits_for_;
}

bool Communicator::note_reason(std::string why, std::function<std::string(const std::vector<int>&)> explain) {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) return false;
  why_ = std::move(why), explain_ = std::move(explain);
  return true;
}

void Communicator::give_up(std::string why, std::function<std::string(const std::vector<int>&)> explain) {
  if (note_reason(std::move(why), std::move(explain))) engine_->stop();
}

void Communicator::give_up(std::span<Communicator* const> ranks, const std::string& why) {
  for (Communicator* const c : ranks) c->note_reason(why, {});
  for (Communicator* const c : ranks) c->engine_->stop();
}

}  // namespace lazy::distributed::detail
