// Implements NCCL's functions (backends/cuda/api/nccl.def) between processes of one machine. A communicator
// is memory that its ranks share, in which each has a ring of bytes to each other one. What a group sends and
// receives is work of its stream, and never ends if the other side doesn't come: like NCCL's kernels it takes
// an abort.
#include "backends/cuda/api/nccl.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "lazy/distributed/sums/combine.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

// ncclResult_t
constexpr Result kUnhandledCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
                 kRemoteError = 6;
constexpr int kVersion = 22809;
constexpr uint64_t kRing = uint64_t{1} << 16;  // bytes

/// Holds bytes on their way from one rank to another.
struct Ring {
  std::atomic<uint64_t> written, read;  // so many bytes so far
  char bytes[kRing];

  /// Writes as many bytes as there is room for, and returns how many.
  size_t put(const char* from, size_t count) {
    const uint64_t at = written.load();
    count = std::min<uint64_t>(count, kRing - (at - read.load()));
    each_run(at, count, [&](char* place, size_t done, size_t n) { std::memcpy(place, from + done, n); });
    written.store(at + count);
    return count;
  }
  size_t take(char* to, size_t count) {
    const uint64_t at = read.load();
    count = std::min<uint64_t>(count, written.load() - at);
    each_run(at, count, [&](const char* place, size_t done, size_t n) { std::memcpy(to + done, place, n); });
    read.store(at + count);
    return count;
  }
  /// Calls f(place, bytes before, bytes) for the bytes from `at` on, which the ring's end parts.
  template <class F>
  void each_run(uint64_t at, size_t count, F&& f) {
    for (size_t done = 0; done < count;) {
      const size_t place = (at + done) % kRing, n = std::min<size_t>(count - done, kRing - place);
      f(bytes + place, done, n);
      done += n;
    }
  }
};
struct Shared {
  std::atomic<int> joined;
  Ring rings[];  // from rank a to rank b: a * ranks + b
};

}  // namespace
}  // namespace emulated

namespace lazy::cuda_backend::api {

struct NcclCommStruct {
  std::string name;  // of the shared memory
  int rank, ranks;
  emulated::Shared* shared;
  size_t bytes;
  ContextStruct* context;
  std::atomic<bool> aborted = false, finalized = false;
  std::mutex mutex;
  std::condition_variable changed;
  int under_way = 0;  // groups
};

}  // namespace lazy::cuda_backend::api

namespace emulated {

extern "C" {
#define LAZY_NCCL(result, field, name, ...) __attribute__((visibility("default"))) result name(__VA_ARGS__);
#include "backends/cuda/api/nccl.def"
}

namespace {

struct Transfer {
  bool sends;
  int peer;
  char* data;
  uint64_t bytes;
  NcclComm comm;
  StreamStruct* stream;
  uint64_t expected = 0;  // bytes that the other side sends: they go first
  size_t done = 0;        // of these bytes, and then of the data

  bool is_done() const { return done == sizeof bytes + bytes; }
  /// Moves what can be moved; returns whether anything was.
  bool move() {
    Ring& ring =
        comm->shared->rings[sends ? comm->rank * comm->ranks + peer : peer * comm->ranks + comm->rank];
    const size_t before = done;
    if (done < sizeof bytes) {
      done += sends ? ring.put(reinterpret_cast<char*>(&bytes) + done, sizeof bytes - done)
                    : ring.take(reinterpret_cast<char*>(&expected) + done, sizeof bytes - done);
    } else if (!sends && expected != bytes) {
      std::fprintf(stderr, "emulated_cuda: rank %d receives %zu bytes of rank %d, which sends %zu\n",
                   comm->rank, static_cast<size_t>(bytes), peer, static_cast<size_t>(expected));
      comm->context->fail(kLaunchFailed);
      done = sizeof bytes + bytes;
    } else {
      const size_t at = done - sizeof bytes;
      done += sends ? ring.put(data + at, bytes - at) : ring.take(data + at, bytes - at);
    }
    return done != before;
  }
};

using Finish = std::function<void()>;

struct Group {
  int depth = 0;
  std::vector<Transfer> transfers;
};
thread_local Group group;
std::atomic<int> groups_begun = 0;

size_t bytes_of(NcclType t) {
  switch (t) {
    case NcclType::i8:
    case NcclType::u8: return 1;
    case NcclType::f16:
    case NcclType::bf16: return 2;
    case NcclType::i64:
    case NcclType::u64:
    case NcclType::f64: return 8;
    default: return 4;
  }
}
lazy::DType dtype_of(NcclType t) {
  constexpr lazy::DType kTypes[] = {lazy::DType::int8,    lazy::DType::uint8,   lazy::DType::int32,
                                    lazy::DType::uint32,  lazy::DType::int64,   lazy::DType::uint64,
                                    lazy::DType::float16, lazy::DType::float32, lazy::DType::float64,
                                    lazy::DType::bfloat16};
  return kTypes[static_cast<int>(t)];
}

/// Does what a group's kernel does, until it is done or aborted. Returns whether it was done.
bool carry(NcclComm comm, std::vector<Transfer>& transfers, bool stalls) {
  const Memory::Access access(machine()->memory);
  while (!comm->aborted && comm->context->failure == 0) {
    bool all = true, any = false;
    for (Transfer& t : transfers) {
      if (!stalls && !t.is_done()) any |= t.move();
      all &= t.is_done();
    }
    if (all) return true;
    if (!any) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return false;
}

/// Finds what a call names, or returns what is wrong with it.
Result check(NcclComm comm, Stream given, StreamStruct*& stream, const void* data, size_t bytes) {
  if (!handles().has<NcclCommStruct>(comm) || comm->shared->joined < comm->ranks || comm->aborted ||
      comm->finalized)
    return kInvalidArgument;
  if (driver::find_stream(given, stream) != kSuccess || stream->context != comm->context)
    return kUnhandledCudaError;
  if (machine()->memory.device_of(reinterpret_cast<DevicePtr>(data), bytes) == comm->context->ordinal)
    return kSuccess;
  std::fprintf(stderr, "emulated_cuda: NCCL was given memory that is not the device's\n");
  return kInvalidArgument;
}

Result add(bool sends, void* data, size_t count, NcclType type, int peer, NcclComm comm, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result r = check(comm, given, stream, data, count); r != kSuccess) return r;
  if (type != NcclType::u8 || peer < 0 || peer >= comm->ranks || peer == comm->rank) return kInvalidArgument;
  if (group.depth == 0) return kInvalidUsage;  // the product sends and receives in groups alone
  for (const Transfer& t : group.transfers)
    if (t.comm == comm && t.sends == sends && t.peer == peer) return kInvalidUsage;
  group.transfers.push_back({sends, peer, static_cast<char*>(data), count, comm, stream});
  return kSuccess;
}

/// Makes these transfers, and what follows them, work of the stream.
void submit(NcclComm comm, StreamStruct* stream, std::vector<Transfer> transfers, Finish finish = {}) {
  {
    const std::lock_guard lock(comm->mutex);
    ++comm->under_way;
  }
  const bool stalls = ++groups_begun == settings().stall_group && comm->rank == settings().stall_rank;
  stream->queue->submit(
      [comm, transfers = std::move(transfers), finish = std::move(finish), stalls]() mutable {
        if (carry(comm, transfers, stalls) && finish) {
          const Memory::Access access(machine()->memory);
          finish();
        }
        const std::lock_guard lock(comm->mutex);
        --comm->under_way;
        comm->changed.notify_all();
      });
}

/// Has all get the values of all, which are then given to `finish`, by rank.
Result exchange_all(const void* from, size_t bytes, NcclComm comm, StreamStruct* stream,
                    std::function<void(const std::vector<std::vector<char>>&)> finish) {
  const auto all = std::make_shared<std::vector<std::vector<char>>>(static_cast<size_t>(comm->ranks));
  std::vector<Transfer> transfers;
  for (int r = 0; r < comm->ranks; ++r) {
    std::vector<char>& of = (*all)[static_cast<size_t>(r)];
    of.resize(bytes);
    if (r == comm->rank) continue;
    transfers.push_back({true, r, static_cast<char*>(const_cast<void*>(from)), bytes, comm, stream});
    transfers.push_back({false, r, of.data(), bytes, comm, stream});
  }
  submit(comm, stream, std::move(transfers), [=, finish = std::move(finish), own = comm->rank] {
    std::memcpy((*all)[static_cast<size_t>(own)].data(), from, bytes);
    finish(*all);
  });
  return kNcclInProgress;
}

/// Adds up from the last to the first, and rounds each time: another order than the product's.
std::vector<char> sum_of(NcclType type, const std::vector<std::vector<char>>& all, size_t count) {
  std::vector<char> sum = all.back();
  for (size_t r = all.size() - 1; r-- > 0;) {
    const char* const both[] = {sum.data(), all[r].data()};
    lazy::distributed::detail::combine_ranks(dtype_of(type), lazy::distributed::ReduceOp::sum, both,
                                             sum.data(), static_cast<int64_t>(count));
  }
  return sum;
}

void leave(NcclComm comm) {
  {
    std::unique_lock lock(comm->mutex);
    comm->changed.wait(lock, [&] { return comm->under_way == 0; });
  }
  handles().remove(comm);
  munmap(comm->shared, comm->bytes);
  delete comm;
}

}  // namespace

Result ncclGetVersion(int* version) {
  if (const auto injected = count_call(__func__)) return *injected;
  *version = kVersion;
  return kSuccess;
}

const char* ncclGetErrorString(Result r) {
  switch (r) {
    case kSuccess: return "no error";
    case kUnhandledCudaError: return "unhandled cuda error";
    case kSystemError: return "unhandled system error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case kRemoteError: return "remote process exited or there was a network error";
    default: return "another error";
  }
}

Result ncclGetUniqueId(NcclId* id) {
  if (const auto injected = count_call(__func__)) return *injected;
  static std::atomic<int> count = 0;
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "/emulated_nccl-%d-%d-%x", static_cast<int>(getpid()), ++count,
                std::random_device()());
  return kSuccess;
}

Result ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (ranks < 1 || rank < 0 || rank >= ranks || config == nullptr || config->magic != 0xcafebeef ||
      config->blocking != 0)
    return kInvalidArgument;
  if (machine() == nullptr || current_context() == nullptr) return kUnhandledCudaError;
  const size_t bytes = sizeof(Shared) + sizeof(Ring) * static_cast<size_t>(ranks * ranks);
  const int file = shm_open(id.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return kSystemError;
  void* const memory = ftruncate(file, static_cast<off_t>(bytes)) == 0
                           ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) return kSystemError;
  auto* const shared = static_cast<Shared*>(memory);
  *comm = new NcclCommStruct{.name = id.bytes,
                             .rank = rank,
                             .ranks = ranks,
                             .shared = shared,
                             .bytes = bytes,
                             .context = current_context(),
                             .mutex = {},
                             .changed = {}};
  handles().add(*comm);
  if (++shared->joined == ranks) shm_unlink(id.bytes);  // nobody else comes
  return kNcclInProgress;
}

Result ncclCommGetAsyncError(NcclComm comm, Result* state) {
  const auto injected = count_call(__func__);
  if (!handles().has<NcclCommStruct>(comm)) return kInvalidArgument;
  if (injected) {
    *state = *injected;  // as something that went wrong meanwhile
    return kSuccess;
  }
  const std::lock_guard lock(comm->mutex);
  const bool waits = comm->shared->joined < comm->ranks || (comm->finalized && comm->under_way > 0);
  *state = waits ? kNcclInProgress : kSuccess;
  return kSuccess;
}

Result ncclCommFinalize(NcclComm comm) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<NcclCommStruct>(comm) || comm->finalized) return kInvalidArgument;
  comm->finalized = true;
  return kNcclInProgress;
}

Result ncclCommDestroy(NcclComm comm) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<NcclCommStruct>(comm) || !comm->finalized) return kInvalidArgument;
  leave(comm);
  return kSuccess;
}

Result ncclCommAbort(NcclComm comm) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!handles().has<NcclCommStruct>(comm)) return kInvalidArgument;
  comm->aborted = true;
  if (comm->shared->joined < comm->ranks) shm_unlink(comm->name.c_str());
  leave(comm);
  return kSuccess;
}

Result ncclGroupStart() {
  if (const auto injected = count_call(__func__)) return *injected;
  ++group.depth;
  return kSuccess;
}

Result ncclGroupEnd() {
  const auto injected = count_call(__func__);
  if (group.depth == 0) return kInvalidUsage;
  if (--group.depth > 0) return injected.value_or(kSuccess);
  std::map<std::pair<NcclComm, StreamStruct*>, std::vector<Transfer>> all;
  for (const Transfer& t : std::exchange(group.transfers, {})) all[{t.comm, t.stream}].push_back(t);
  if (injected) return *injected;
  for (auto& [where, transfers] : all) submit(where.first, where.second, std::move(transfers));
  return all.empty() ? kSuccess : kNcclInProgress;
}

Result ncclSend(const void* from, size_t count, NcclType type, int peer, NcclComm comm, Stream stream) {
  if (const auto injected = count_call(__func__)) return *injected;
  return add(true, const_cast<void*>(from), count, type, peer, comm, stream);
}

Result ncclRecv(void* to, size_t count, NcclType type, int peer, NcclComm comm, Stream stream) {
  if (const auto injected = count_call(__func__)) return *injected;
  return add(false, to, count, type, peer, comm, stream);
}

Result ncclAllGather(const void* from, void* to, size_t count, NcclType type, NcclComm comm, Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  StreamStruct* stream = nullptr;
  const size_t bytes = count * bytes_of(type);
  if (const Result r = check(comm, given, stream, from, bytes); r != kSuccess) return r;
  if (const Result r = check(comm, given, stream, to, bytes * static_cast<size_t>(comm->ranks));
      r != kSuccess)
    return r;
  return exchange_all(from, bytes, comm, stream, [=](const std::vector<std::vector<char>>& all) {
    for (size_t r = 0; r < all.size(); ++r)
      std::memcpy(static_cast<char*>(to) + r * bytes, all[r].data(), bytes);
  });
}

Result ncclBroadcast(const void* from, void* to, size_t count, NcclType type, int root, NcclComm comm,
                     Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  StreamStruct* stream = nullptr;
  const size_t bytes = count * bytes_of(type);
  if (const Result r = check(comm, given, stream, to, bytes); r != kSuccess) return r;
  if (root < 0 || root >= comm->ranks || from != to) return kInvalidArgument;
  std::vector<Transfer> transfers;
  if (comm->rank != root) transfers.push_back({false, root, static_cast<char*>(to), bytes, comm, stream});
  else
    for (int r = 0; r < comm->ranks; ++r)
      if (r != root) transfers.push_back({true, r, static_cast<char*>(to), bytes, comm, stream});
  submit(comm, stream, std::move(transfers));
  return kNcclInProgress;
}

Result ncclAllReduce(const void* from, void* to, size_t count, NcclType type, NcclReduction how,
                     NcclComm comm, Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  StreamStruct* stream = nullptr;
  const size_t bytes = count * bytes_of(type);
  if (const Result r = check(comm, given, stream, from, bytes); r != kSuccess) return r;
  if (const Result r = check(comm, given, stream, to, bytes); r != kSuccess) return r;
  if (how != NcclReduction::sum) return kInvalidArgument;
  return exchange_all(from, bytes, comm, stream, [=](const std::vector<std::vector<char>>& all) {
    std::memcpy(to, sum_of(type, all, count).data(), bytes);
  });
}

Result ncclReduceScatter(const void* from, void* to, size_t count, NcclType type, NcclReduction how,
                         NcclComm comm, Stream given) {
  if (const auto injected = count_call(__func__)) return *injected;
  StreamStruct* stream = nullptr;
  const size_t bytes = count * bytes_of(type);
  if (const Result r = check(comm, given, stream, to, bytes); r != kSuccess) return r;
  const auto ranks = static_cast<size_t>(comm->ranks);
  if (const Result r = check(comm, given, stream, from, bytes * ranks); r != kSuccess) return r;
  if (how != NcclReduction::sum) return kInvalidArgument;
  return exchange_all(from, bytes * ranks, comm, stream,
                      [=, own = static_cast<size_t>(comm->rank)](const std::vector<std::vector<char>>& all) {
                        std::memcpy(to, sum_of(type, all, count * ranks).data() + own * bytes, bytes);
                      });
}

}  // namespace emulated
