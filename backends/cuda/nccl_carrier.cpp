#include "backends/cuda/nccl_carrier.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cuda/api/nccl.hpp"
#include "backends/cuda/code.hpp"
#include "backends/cuda/emitter/fold_module.hpp"
#include "support/arithmetic.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {
namespace {

using jit::Op;
using Clock = std::chrono::steady_clock;

/// Waits between two questions: hardly at first, then longer.
class Pause {
 public:
  void operator()() {
    if (++asked_ < kEager) return;
    if (asked_ < 20 * kEager) ::sched_yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  static constexpr int kEager = 200;
  int asked_ = 0;
};

constexpr std::chrono::seconds kLastWords{5};  // for what is under way when a connection ends
constexpr api::Result kInvalidUsage = 5;       // ncclInvalidUsage

/// Has a stream of its own, in which NCCL's kernels and ours of a carrier follow each other. NCCL's calls
/// return at once (NcclConfig::blocking), and what is under way is asked for until it is done: so a call
/// whose other side never comes can be given up.
class NcclCarrier final : public jit::Carrier {
 public:
  explicit NcclCarrier(Gpu& gpu) : gpu_(gpu), nccl_(api::nccl()) {
    gpu_.enter();
    gpu_.check(gpu_.driver.stream_create(&stream_, api::kStreamNonBlocking), "cuStreamCreate");
    make_event(done_);
  }
  ~NcclCarrier() override {
    try {
      gpu_.enter();
      for (api::NcclComm& c : connections_) disconnect(c);
      (void)gpu_.driver.event_destroy(done_);
      (void)gpu_.driver.stream_destroy(stream_);
    } catch (const Error&) {}  // the device is lost
  }
  const char* name() const override { return "nccl"; }

  uint64_t mark() override {
    gpu_.before_other_work();
    gpu_.enter();
    return reinterpret_cast<uint64_t>(event_behind(gpu_.stream));
  }
  void follow(uint64_t mark) override {
    gpu_.enter();
    order(reinterpret_cast<api::Event>(mark), stream_);
  }
  void lead() override {
    gpu_.before_other_work();
    gpu_.enter();
    order(event_behind(stream_), gpu_.stream);
  }

  std::string invitation() override {
    gpu_.enter();
    api::NcclId id;
    need(nccl_.make_id(&id));
    return {id.bytes, sizeof id.bytes};
  }
  int connect(const std::string& invitation, int own, int count) override {
    gpu_.enter();
    api::NcclId id;
    if (invitation.size() != sizeof id.bytes) throw CommunicationError("NCCL: an invitation of another kind");
    std::memcpy(id.bytes, invitation.data(), sizeof id.bytes);
    api::NcclConfig config;
    config.blocking = 0;
    connections_.push_back(nullptr);
    api::NcclComm& comm = connections_.back();
    const api::Result begun = nccl_.connect(&comm, count, id, own, &config);
    if (!comm) need(begun);
    settle(comm, begun);
    return static_cast<int>(connections_.size()) - 1;
  }

  void exchange(int connection, std::span<const Message> out, std::span<const Message> in) override {
    api::NcclComm& comm = entered(connection);
    api::Result first = nccl_.group_start();
    const auto note = [&](api::Result r) {
      if (first == api::kSuccess && r != api::kNcclInProgress) first = r;
    };
    using api::NcclType;
    for (const Message& m : in)
      if (m.bytes) note(nccl_.receive(m.data, m.bytes, NcclType::u8, m.peer, comm, stream_));
    for (const Message& m : out)
      if (m.bytes) note(nccl_.send(m.data, m.bytes, NcclType::u8, m.peer, comm, stream_));
    const api::Result ended = nccl_.group_end();
    settle(comm, first == api::kSuccess ? ended : first);
    finish(comm);
  }

  void gather(int connection, const void* own, void* all, size_t bytes) override {
    together(connection, [&](api::NcclComm comm) {
      return nccl_.gather(own, all, bytes, api::NcclType::u8, comm, stream_);
    });
  }
  void broadcast(int connection, int root, void* data, size_t bytes) override {
    together(connection, [&](api::NcclComm comm) {
      return nccl_.broadcast(data, data, bytes, api::NcclType::u8, root, comm, stream_);
    });
  }
  bool adds(DType t) const override { return type_of(t).has_value(); }
  void add(int connection, DType t, void* values, int64_t n) override {
    together(connection, [&](api::NcclComm comm) {
      return nccl_.reduce(values, values, static_cast<size_t>(n), type_of(t).value(), api::NcclReduction::sum,
                          comm, stream_);
    });
  }
  void add_parts(int connection, DType t, const void* values, void* part, int64_t n) override {
    together(connection, [&](api::NcclComm comm) {
      return nccl_.reduce_parts(values, part, static_cast<size_t>(n), type_of(t).value(),
                                api::NcclReduction::sum, comm, stream_);
    });
  }

  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes == 0 || to == from) return;
    gpu_.enter();
    gpu_.check(gpu_.driver.copy(api::device_pointer(to), api::device_pointer(from), bytes, stream_),
               "cuMemcpyDtoDAsync");
  }
  void combine(DType t, Op op, const void* values, int count, int64_t n, void* to) override {
    if (n == 0) return;
    gpu_.enter();
    const api::Function f = fold(t, op);
    FoldWords words{api::device_pointer(values), api::device_pointer(to), static_cast<uint64_t>(count),
                    static_cast<uint64_t>(n)};
    void* params[] = {&words};
    const auto blocks = static_cast<unsigned>(divide_up(n, kFoldThreads));
    gpu_.check(gpu_.driver.launch(f, blocks, 1, 1, kFoldThreads, 1, 1, 0, stream_, params, nullptr),
               "cuLaunchKernel");
  }

  void stop() noexcept override { stopped_.store(true); }

 private:
  static std::optional<api::NcclType> type_of(DType t) {
    using api::NcclType;
    switch (t) {
      case DType::int8: return NcclType::i8;
      case DType::uint8: return NcclType::u8;
      case DType::int32: return NcclType::i32;
      case DType::uint32: return NcclType::u32;
      case DType::int64: return NcclType::i64;
      case DType::uint64: return NcclType::u64;
      case DType::float16: return NcclType::f16;
      case DType::float32: return NcclType::f32;
      case DType::float64: return NcclType::f64;
      case DType::bfloat16: return NcclType::bf16;
      default: return std::nullopt;
    }
  }
  api::NcclComm& entered(int connection) {
    gpu_.enter();
    api::NcclComm& comm = connections_.at(static_cast<size_t>(connection));
    if (stopped_.load() || !comm) throw jit::CarrierStopped();
    return comm;
  }
  /// Waits for a call of all processes.
  template <class Call>
  void together(int connection, Call&& call) {
    api::NcclComm& comm = entered(connection);
    settle(comm, call(comm));
    finish(comm);
  }

  void make_event(api::Event& e) {
    gpu_.check(gpu_.driver.event_create(&e, api::kEventDisableTiming), "cuEventCreate");
  }
  api::Event event_behind(api::Stream s) {
    api::Event e = nullptr;
    make_event(e);
    gpu_.check(gpu_.driver.event_record(e, s), "cuEventRecord");
    return e;
  }
  /// Has what comes in a stream wait for an event, which is destroyed once it has happened.
  void order(api::Event e, api::Stream then) {
    const api::Result waited = gpu_.driver.stream_wait_event(then, e, 0);
    gpu_.check(gpu_.driver.event_destroy(e), "cuEventDestroy");
    gpu_.check(waited, "cuStreamWaitEvent");
  }

  void need(api::Result r) const {
    if (r == api::kSuccess) return;
    std::string why = std::string("NCCL: ") + nccl_.error_text(r);
    if (r == kInvalidUsage) why += "; each rank needs a GPU of its own";
    throw CommunicationError(why);
  }
  /// Waits until a call that has returned this is done. Where that will not be, ends the connection and
  /// throws.
  void settle(api::NcclComm& comm, api::Result r) {
    for (Pause pause; r == api::kNcclInProgress; pause()) {
      if (stopped_.load(std::memory_order_relaxed)) give_up(comm);
      if (const api::Result asked = nccl_.state(comm, &r); asked != api::kSuccess) r = asked;
    }
    if (r == api::kSuccess) return;
    abandon(comm);
    need(r);
  }
  /// Waits for what is in the stream.
  void finish(api::NcclComm& comm) {
    gpu_.check(gpu_.driver.event_record(done_, stream_), "cuEventRecord");
    for (Pause pause;; pause()) {
      const api::Result r = gpu_.driver.event_query(done_);
      if (r == api::kSuccess) return;
      if (r != api::kNotReady) gpu_.fail(r, "cuEventQuery");
      settle(comm, api::kNcclInProgress);
      if (stopped_.load(std::memory_order_relaxed)) give_up(comm);
    }
  }
  [[noreturn]] void give_up(api::NcclComm& comm) {
    abandon(comm);
    throw jit::CarrierStopped();
  }
  /// Ends a connection, and what is under way there.
  void abandon(api::NcclComm& comm) {
    stopped_.store(true);
    (void)nccl_.abort(std::exchange(comm, nullptr));
    // NCCL's kernels may still write to memory, which must not be somebody else's meanwhile.
    if (gpu_.driver.event_record(done_, stream_) != api::kSuccess) return;
    const auto until = Clock::now() + kLastWords;
    for (Pause pause; gpu_.driver.event_query(done_) == api::kNotReady && Clock::now() < until;) pause();
  }
  /// Ends a connection by which nothing is under way: what this side has sent still arrives.
  void disconnect(api::NcclComm& comm) {
    if (!comm) return;
    if (stopped_.load()) return abandon(comm);
    api::Result r = nccl_.finalize(comm);
    const auto until = Clock::now() + kLastWords;
    for (Pause pause; r == api::kNcclInProgress && Clock::now() < until; pause())
      if (nccl_.state(comm, &r) != api::kSuccess) break;
    if (r == api::kSuccess) (void)nccl_.destroy(std::exchange(comm, nullptr));
    else abandon(comm);
  }

  api::Function fold(DType t, Op op) {
    std::unique_ptr<Code>& code = folds_[{t, op}];
    if (!code)
      code = std::make_unique<Code>(
          std::vector<std::string>{kFoldFunction},
          compile(emit_fold(t, op), kFoldFunction, gpu_.architecture, gpu_.driver.version / 1000), "");
    return code->function(gpu_);
  }

  Gpu& gpu_;
  const api::Nccl& nccl_;
  api::Stream stream_ = nullptr;
  api::Event done_ = nullptr;
  std::vector<api::NcclComm> connections_;  // null: ended
  std::map<std::pair<DType, Op>, std::unique_ptr<Code>> folds_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<jit::Carrier> make_nccl_carrier(Gpu& gpu) { return std::make_unique<NcclCarrier>(gpu); }

}  // namespace lazy::cuda_backend
