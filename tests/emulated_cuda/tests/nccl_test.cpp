#include "backends/cuda/api/nccl.hpp"

#include <array>
#include <thread>

#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/stderr.hpp"

using namespace emulated_test;

extern "C" {
#define LAZY_NCCL(result, field, name, ...) result name(__VA_ARGS__);
#include "backends/cuda/api/nccl.def"
}

namespace {

constexpr Result kInvalidArgument = 4, kInvalidUsage = 5;
constexpr const char* kLate = "EMULATED_CUDA_ASYNC";

Result settled(NcclComm comm) {
  Result state = kNcclInProgress;
  while (state == kNcclInProgress) BOOST_REQUIRE_EQUAL(ncclCommGetAsyncError(comm, &state), kSuccess);
  return state;
}

/// Connects two ranks of this process, which share its device.
struct Pair {
  std::array<NcclComm, 2> comms{};
  std::array<Stream, 2> streams{};

  Pair() {
    NcclId id;
    BOOST_REQUIRE_EQUAL(ncclGetUniqueId(&id), kSuccess);
    NcclConfig config;
    config.blocking = 0;
    for (int r = 0; r < 2; ++r) {
      NcclComm& c = comms[static_cast<size_t>(r)];
      BOOST_REQUIRE_EQUAL(ncclCommInitRankConfig(&c, 2, id, r, &config), kNcclInProgress);
      Result state = kSuccess;
      BOOST_REQUIRE_EQUAL(ncclCommGetAsyncError(c, &state), kSuccess);
      BOOST_TEST(state == (r ? kSuccess : kNcclInProgress));  // the first one waits for the second
      CHECK_CUDA(stream_create(&streams[static_cast<size_t>(r)], kStreamNonBlocking));
    }
  }
  ~Pair() {
    for (NcclComm c : comms)
      if (c) BOOST_TEST(ncclCommAbort(c) == kSuccess);
    for (Stream s : streams) (void)api.stream_destroy(s);  // the device may be lost by now
  }
  /// Sends from rank 0 to rank 1.
  void send(const void* from, size_t bytes) const {
    BOOST_REQUIRE_EQUAL(ncclGroupStart(), kSuccess);
    BOOST_REQUIRE_EQUAL(ncclSend(from, bytes, NcclType::u8, 1, comms[0], streams[0]), kSuccess);
    BOOST_REQUIRE_EQUAL(ncclGroupEnd(), kNcclInProgress);
  }
  void receive(void* to, size_t bytes) const {
    BOOST_REQUIRE_EQUAL(ncclGroupStart(), kSuccess);
    BOOST_REQUIRE_EQUAL(ncclRecv(to, bytes, NcclType::u8, 0, comms[1], streams[1]), kSuccess);
    BOOST_REQUIRE_EQUAL(ncclGroupEnd(), kNcclInProgress);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(nccl)

BOOST_AUTO_TEST_CASE(messages_arrive) {
  const Gpu gpu({{kLate, "50"}});
  const Pair pair;
  std::vector<float> values(50'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Floats from(gpu, values), to(gpu, values.size());
  CHECK_CUDA(stream_synchronize(gpu.stream));
  pair.receive(to.pointer(), values.size() * 4);
  pair.send(from.pointer(), values.size() * 4);
  for (size_t r = 0; r < 2; ++r) {
    BOOST_TEST(settled(pair.comms[r]) == kSuccess);
    CHECK_CUDA(stream_synchronize(pair.streams[r]));
  }
  BOOST_TEST((to.read() == values));
}

BOOST_AUTO_TEST_CASE(what_the_other_side_does_not_expect_is_diagnosed) {
  const Gpu gpu({{kLate, "50"}});
  const std::string text = stderr_of([&] {
    const Pair pair;
    const Floats from(gpu, 3), to(gpu, 4);
    CHECK_CUDA(stream_synchronize(gpu.stream));
    pair.send(from.pointer(), 12);
    pair.receive(to.pointer(), 16);
    BOOST_TEST(api.stream_synchronize(pair.streams[1]) == kLaunchFailed);
  });
  BOOST_TEST(text.find("rank 1 receives 16 bytes of rank 0, which sends 12") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(an_abort_ends_what_never_comes) {
  const Gpu gpu({{kLate, "50"}});
  Pair pair;
  const Floats to(gpu, 4);
  CHECK_CUDA(stream_synchronize(gpu.stream));
  pair.receive(to.pointer(), 16);
  Result ended = kNotReady;
  std::thread waits([&] {
    (void)api.context_set(gpu.context);
    ended = api.stream_synchronize(pair.streams[1]);
  });
  BOOST_TEST(ncclCommAbort(std::exchange(pair.comms[1], nullptr)) == kSuccess);
  waits.join();
  BOOST_TEST(ended == kSuccess);
}

BOOST_AUTO_TEST_CASE(a_group_that_stalls_moves_nothing) {
  const Gpu gpu({{kLate, "50"}, {"EMULATED_CUDA_STALL", "1:1"}});
  Pair pair;
  const Floats from(gpu, 4), to(gpu, 4);
  CHECK_CUDA(stream_synchronize(gpu.stream));
  pair.receive(to.pointer(), 16);
  pair.send(from.pointer(), 16);
  CHECK_CUDA(stream_synchronize(pair.streams[0]));  // it is on its way
  Event end = nullptr;
  CHECK_CUDA(event_create(&end, 0));
  CHECK_CUDA(event_record(end, pair.streams[1]));
  BOOST_TEST(api.event_query(end) == kNotReady);
  BOOST_TEST(ncclCommAbort(std::exchange(pair.comms[1], nullptr)) == kSuccess);
  CHECK_CUDA(event_synchronize(end));
  CHECK_CUDA(event_destroy(end));
}

BOOST_AUTO_TEST_CASE(wrong_calls_are_refused) {
  const Gpu gpu;
  const Pair pair;
  const Floats memory(gpu, 4);
  float host[4] = {};
  const auto send = [&](const void* from, int peer, NcclType type = NcclType::u8) {
    return ncclSend(from, 16, type, peer, pair.comms[0], pair.streams[0]);
  };
  BOOST_TEST(send(memory.pointer(), 1) == kInvalidUsage);  // in no group
  BOOST_TEST(ncclGroupEnd() == kInvalidUsage);
  BOOST_TEST(ncclGroupStart() == kSuccess);
  BOOST_TEST(send(memory.pointer(), 0) == kInvalidArgument);  // itself
  BOOST_TEST(send(memory.pointer(), 2) == kInvalidArgument);
  BOOST_TEST(send(memory.pointer(), 1, NcclType{7}) == kInvalidArgument);
  const std::string text = stderr_of([&] { BOOST_TEST(send(host, 1) == kInvalidArgument); });
  BOOST_TEST(text.find("memory that is not the device's") != text.npos, text);
  BOOST_TEST(ncclGroupEnd() == kSuccess);
  NcclConfig blocking;
  NcclComm comm = nullptr;
  BOOST_TEST(ncclCommInitRankConfig(&comm, 2, NcclId{}, 0, &blocking) == kInvalidArgument);
  BOOST_TEST(ncclCommDestroy(pair.comms[0]) == kInvalidArgument);  // not finalized
}

BOOST_AUTO_TEST_SUITE_END()
