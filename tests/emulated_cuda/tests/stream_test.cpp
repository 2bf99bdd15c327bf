// Tests streams that run later, on their own threads: work that is not waited for has not happened.
#include <thread>

#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"

using namespace emulated_test;

namespace {

constexpr const char* kLate = "200000";  // microseconds

struct Second {
  Stream stream = nullptr;
  Second() { CHECK_CUDA(stream_create(&stream, kStreamNonBlocking)); }
  ~Second() { api.stream_destroy(stream); }
};

struct Recorded {
  Event event = nullptr;
  explicit Recorded(Stream stream, unsigned flags = kEventDisableTiming) {
    CHECK_CUDA(event_create(&event, flags));
    CHECK_CUDA(event_record(event, stream));
  }
  ~Recorded() { api.event_destroy(event); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(nothing_has_happened_before_a_wait) {
  Gpu gpu({{"EMULATED_CUDA_ASYNC", kLate}});
  const Program program(kSaxpy);
  std::vector<float> host(256, 1), back(256, -1);
  DevicePtr x = 0;
  CHECK_CUDA(allocate_async(&x, 1024, gpu.stream));
  CHECK_CUDA(copy_to_device(x, host.data(), 1024, gpu.stream));
  host.assign(256, 3);  // too early: the copy reads it later
  const int64_t before = emulated_cuda_kernels_run();
  auto* floats = reinterpret_cast<float*>(x);
  BOOST_CHECK_EQUAL(program.launch("saxpy", 2, 128, SaxpyArgs{1, floats, floats, 256}, gpu.stream), kSuccess);
  BOOST_CHECK_EQUAL(emulated_cuda_kernels_run(), before);
  CHECK_CUDA(copy_to_host(back.data(), x, 1024, gpu.stream));
  BOOST_CHECK_EQUAL(back[0], -1);
  CHECK_CUDA(free_async(x, gpu.stream));
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 1024u);
  CHECK_CUDA(stream_synchronize(gpu.stream));
  BOOST_CHECK(back == std::vector<float>(256, 6));
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 0u);
}

BOOST_AUTO_TEST_CASE(an_event_orders_streams) {
  Gpu gpu({{"EMULATED_CUDA_ASYNC", kLate}});
  Second second;
  const Program program(kSaxpy);
  for (const bool wait : {true, false}) {
    Floats x(gpu, std::vector<float>(128, 1));
    std::vector<float> back(128);
    BOOST_CHECK_EQUAL(
        program.launch("saxpy", 1, 128, SaxpyArgs{1, x.pointer(), x.pointer(), 128}, gpu.stream), kSuccess);
    const Recorded event(gpu.stream);
    BOOST_CHECK_EQUAL(api.event_query(event.event), kNotReady);
    if (wait) CHECK_CUDA(stream_wait_event(second.stream, event.event, 0));
    CHECK_CUDA(copy_to_host(back.data(), x.address(), 512, second.stream));
    CHECK_CUDA(stream_synchronize(second.stream));
    BOOST_CHECK(back == std::vector<float>(128, wait ? 2 : 1));
    CHECK_CUDA(event_synchronize(event.event));
    CHECK_CUDA(event_query(event.event));
  }
}

BOOST_AUTO_TEST_CASE(work_starts_by_itself) {
  Gpu gpu({{"EMULATED_CUDA_ASYNC", "1"}});
  const Recorded event(gpu.stream);
  while (api.event_query(event.event) == kNotReady) std::this_thread::yield();
  CHECK_CUDA(event_query(event.event));
}

BOOST_AUTO_TEST_CASE(times) {
  for (const char* async : {"0", "1000"}) {
    Gpu gpu({{"EMULATED_CUDA_ASYNC", async}});
    const Recorded start(gpu.stream, 0), end(gpu.stream, 0), untimed(gpu.stream);
    CHECK_CUDA(stream_synchronize(gpu.stream));
    float milliseconds = -1;
    CHECK_CUDA(event_elapsed(&milliseconds, start.event, end.event));
    BOOST_CHECK_GE(milliseconds, 0);
    BOOST_CHECK_EQUAL(api.event_elapsed(&milliseconds, start.event, untimed.event), kInvalidHandle);
  }
}

BOOST_AUTO_TEST_CASE(memory_comes_back_late) {
  Gpu gpu({{"EMULATED_CUDA_ASYNC", kLate}, {"EMULATED_CUDA_MEMORY", "1M"}});
  DevicePtr a = 0;
  for (int i = 0; i < 3; ++i) {
    CHECK_CUDA(allocate_async(&a, 1 << 20, gpu.stream));
    CHECK_CUDA(free_async(a, gpu.stream));
  }
  BOOST_CHECK_EQUAL(emulated_cuda_live_bytes(), 1u << 20);
}

BOOST_AUTO_TEST_CASE(a_library_may_go_before_its_kernels_ran) {
  Gpu gpu({{"EMULATED_CUDA_ASYNC", kLate}});
  Floats x(gpu, std::vector<float>(128, 1));
  {
    const Program program(kSaxpy);
    BOOST_CHECK_EQUAL(
        program.launch("saxpy", 1, 128, SaxpyArgs{1, x.pointer(), x.pointer(), 128}, gpu.stream), kSuccess);
  }
  BOOST_CHECK(x.read() == std::vector<float>(128, 2));
}

BOOST_AUTO_TEST_CASE(threads_share_a_module) {
  for (const char* async : {"0", "1"}) {
    Gpu gpu({{"EMULATED_CUDA_ASYNC", async}});
    const Program program(kRowSum);
    const Function function = program.function("row_sum");
    constexpr size_t kThreads = 3, kRows = 16;
    Floats x(gpu, std::vector<float>(kRows * 512, 1));
    std::vector<std::vector<float>> sums(kThreads, std::vector<float>(kRows));
    std::vector<Result> results(kThreads, kSuccess);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Stream stream = nullptr;
        DevicePtr y = 0;
        const auto need = [&](Result result) {
          if (results[t] == kSuccess) results[t] = result;
        };
        need(api.context_set(gpu.context));
        need(api.stream_create(&stream, kStreamNonBlocking));
        need(api.allocate_async(&y, kRows * 4, stream));
        RowArgs args{x.pointer(), reinterpret_cast<float*>(y), 512};
        void* params[] = {&args};
        for (int i = 0; i < 5; ++i)
          need(api.launch(function, kRows, 1, 1, 256, 1, 1, 0, stream, params, nullptr));
        need(api.copy_to_host(sums[t].data(), y, kRows * 4, stream));
        need(api.free_async(y, stream));
        need(api.stream_synchronize(stream));
        need(api.stream_destroy(stream));
      });
    }
    for (std::thread& thread : threads) thread.join();
    BOOST_CHECK(results == std::vector<Result>(kThreads, kSuccess));
    for (const auto& sum : sums) BOOST_CHECK(sum == std::vector<float>(kRows, 512));
  }
}

BOOST_AUTO_TEST_SUITE_END()
