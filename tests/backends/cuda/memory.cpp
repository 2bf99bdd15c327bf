// Tests the GPU's memory: blocks are reused, limits hold, and the program goes on after memory ran out.
#include <new>

#include "support/text.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kOutOfMemory = 2;
/// Returns twos, in separate memory.
Tensor floats(int64_t bytes) {
  return (broadcast_to(from_span(std::vector<float>{1}), {bytes / 4}) + 1).eval();
}
}  // namespace

BOOST_FIXTURE_TEST_SUITE(memory, OnGpu)

BOOST_AUTO_TEST_CASE(blocks_are_used_again) {
  const Tensor x = varied({300, 50}).to(cuda);
  const auto once = [&] { return bits(sum(tanh(x) * x, {0}) + x(3)); };
  const auto first = once();
  for (int i = 0; i < 3; ++i) once();
  const size_t requests = gpu().allocator.stats().requests;
  for (int i = 0; i < 20; ++i) BOOST_TEST((once() == first));
  BOOST_TEST(gpu().allocator.stats().requests == requests);
}

BOOST_AUTO_TEST_CASE(nothing_leaks) {
  const auto used = gpu().allocator.stats().used;
  {
    const Tensor x = varied({300, 50}).to(cuda);
    for (int i = 0; i < 5; ++i) (sum(tanh(x) * x, {0}) + x(3)).eval();
    BOOST_TEST(gpu().allocator.stats().used > used);
  }
  BOOST_TEST(gpu().allocator.stats().used == used);
  gpu().allocator.release_kept();
  BOOST_TEST(gpu().allocator.stats().kept == 0u);
}

BOOST_AUTO_TEST_CASE(the_driver_has_what_we_gave_back, *boost::unit_test::precondition(is_emulated)) {
  gpu().allocator.release_kept();
  const size_t live = Emulated::live_bytes();
  { floats(6 * kMiB); }
  BOOST_TEST(Emulated::live_bytes() >= live + 6 * kMiB);
  gpu().allocator.release_kept();
  BOOST_TEST(Emulated::live_bytes() == live);
}

BOOST_AUTO_TEST_CASE(the_limit_holds) {
  gpu().allocator.release_kept();
  const size_t used = gpu().allocator.stats().used;
  const Override limit("LAZY_CUDA_MEMORY", std::to_string(used + 8 * kMiB));
  { floats(6 * kMiB); }
  BOOST_TEST(gpu().allocator.stats().kept >= 6u * kMiB);
  const Tensor four = floats(4 * kMiB);  // cached blocks return to the system
  BOOST_TEST(gpu().allocator.stats().kept < 4096u);
  const Tensor more = full({16 * kMiB / 4}, 1.0f) + 2;
  const std::string said = thrown<DeviceError>([&] { more.eval(); });
  const std::string line = std::to_string(__LINE__ - 1);
  const std::string hold = text::human_size(gpu().allocator.stats().used);
  BOOST_TEST(contains(said, ": no memory for 16.0 MiB; values hold " + hold + ", and "), said);
  BOOST_TEST(said.starts_with("cuda:0 ("), said);
  BOOST_TEST(contains(said, " (LAZY_CUDA_MEMORY=" + std::to_string(used + 8 * kMiB) + ")"), said);
  BOOST_TEST(said.ends_with(" (memory.cpp:" + line + ")"), said);
  BOOST_TEST((four + 1)(0).item<float>() == 3);  // it goes on
  const Override none("LAZY_CUDA_MEMORY", "0");
  BOOST_TEST(more(5).item<float>() == 3);  // pending again
}

BOOST_AUTO_TEST_CASE(a_device_that_is_full) {
  if (gpu().memory > 64u * kMiB) return;  // as in one of the test's configurations
  std::vector<Tensor> all;
  const std::string said = thrown<DeviceError>([&] {
    while (all.size() < 20) all.push_back(floats(8 * kMiB));
  });
  BOOST_TEST(contains(said, "no memory for 8.0 MiB; values hold "), said);
  BOOST_TEST(
      contains(said,
               " of 64.0 MiB is free for add, float32 [2097152], recorded at memory.cpp:15 (memory.cpp:"),
      said);
  BOOST_TEST(all.size() >= 6u);
  all.pop_back();
  BOOST_TEST(floats(8 * kMiB)(1).item<float>() == 2);
  for (const Tensor& t : all) BOOST_TEST(t(5).item<float>() == 2);
}

BOOST_AUTO_TEST_CASE(a_copy_names_its_line_too) {
  const Tensor x = varied({4 * kMiB / 4});
  gpu().allocator.release_kept();
  const Override limit("LAZY_CUDA_MEMORY", std::to_string(gpu().allocator.stats().used + kMiB));
  const std::string said = thrown<DeviceError>([&] { (void)x.to(cuda); });
  BOOST_TEST(contains(said, "no memory for 4.0 MiB"), said);
  BOOST_TEST(said.ends_with(" (memory.cpp:" + std::to_string(__LINE__ - 2) + ")"), said);
}

BOOST_AUTO_TEST_CASE(what_is_kept_goes_back_when_the_driver_has_none,
                     *boost::unit_test::precondition(is_emulated)) {
  { floats(6 * kMiB); }
  const Calls trims("cuMemPoolTrimTo");
  BOOST_TEST(Emulated::inject("cuMemAllocAsync", 1, kOutOfMemory));
  const Tensor x = floats(10 * kMiB);
  BOOST_TEST(x(7).item<float>() == 2);
  BOOST_TEST(trims() == 1);
}

// Not only values need memory.
BOOST_AUTO_TEST_CASE(what_is_kept_goes_back_for_other_things_too,
                     *boost::unit_test::precondition(is_emulated)) {
  const Tensor x = varied({300, 50}).to(cuda);
  for (const char* call : {"cuLibraryLoadData", "cuMemAllocHost", "cuGraphInstantiateWithFlags"}) {
    release_memory();
    cache::clear();
    { floats(6 * kMiB); }
    const Calls trims("cuMemPoolTrimTo");
    BOOST_TEST(Emulated::inject(call, 1, kOutOfMemory));
    for (int i = 0; i < 6; ++i) {
      const Tensor s = sum(tanh(x) * x, {0});
      BOOST_TEST((s + s(3) * 0).to_vector<float>().size() == 50u);
    }
    BOOST_TEST(trims() == 1, call);
  }
}

BOOST_AUTO_TEST_CASE(the_user_may_ask_for_it) {
  { floats(6 * kMiB); }
  (void)varied({1000}).to(cuda).to_vector<float>();
  const size_t kept = gpu().allocator.stats().kept;
  BOOST_TEST(kept >= size_t{6 * kMiB});
  BOOST_TEST(release_memory() >= kept + (size_t{4} << 20));  // and a chunk of pinned memory
  BOOST_TEST(gpu().allocator.stats().kept == 0u);
  BOOST_TEST(varied({1000}).to(cuda).to_vector<float>().size() == 1000u);  // it goes on
}

// A loop in which seconds pass keeps its blocks cached; blocks that it doesn't use return to the system.
BOOST_AUTO_TEST_CASE(idle_blocks_go_back) {
  release_memory();
  { const Tensor a = floats(20 * kMiB), b = floats(6 * kMiB), c = floats(6 * kMiB); }
  const Tensor x = varied({300, 50}).to(cuda);
  const auto once = [&] {
    (sum(tanh(x) * x, {0}) + x(3)).eval();
    floats(6 * kMiB);
    gpu().allocator.let_time_pass(4000);
  };
  for (int i = 0; i < 3; ++i) once();
  const size_t requests = gpu().allocator.stats().requests;
  for (int i = 0; i < 12; ++i) once();
  BOOST_TEST(gpu().allocator.stats().requests == requests);
  BOOST_TEST(gpu().allocator.stats().kept >= size_t{6 * kMiB});
  BOOST_TEST(gpu().allocator.stats().kept < size_t{12 * kMiB});
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_driver_is_survived, *boost::unit_test::precondition(is_emulated)) {
  gpu().allocator.release_kept();
  const Tensor x = full({3 * kMiB}, 1.0f) * 2;
  const size_t used = gpu().allocator.stats().used;
  const Calls requests("cuMemAllocAsync");
  for (int nth : {1, 2}) BOOST_TEST(Emulated::inject("cuMemAllocAsync", nth, kOutOfMemory));
  const std::string said = thrown<DeviceError>([&] { x.eval(); });
  BOOST_TEST(contains(said, "no memory for 12.0 MiB"), said);
  BOOST_TEST(said.ends_with(" (memory.cpp:" + std::to_string(__LINE__ - 2) + ")"), said);
  BOOST_TEST(requests() == 2);  // one more try, no more
  BOOST_TEST(gpu().allocator.stats().used == used);
  BOOST_TEST(x(1).item<float>() == 2);
  constexpr int kNotPermitted = 800;
  gpu().allocator.release_kept();
  BOOST_TEST(Emulated::inject("cuMemAllocAsync", 1, kNotPermitted));
  const Tensor y = x + 1;
  const std::string other = thrown<DeviceError>([&] { y.eval(); });
  BOOST_TEST(contains(other, "cuMemAllocAsync"), other);
  BOOST_TEST(y(1).item<float>() == 3);
}

// A run that is captured keeps the memory that it frees; if memory is short, it releases that.
BOOST_AUTO_TEST_CASE(a_program_needs_no_more_for_being_a_graph) {
  const Tensor x = varied({256, 1024}).to(cuda), w = varied({1024, 3072}).to(cuda);  // 1 and 12 MiB
  const Override own("LAZY_CUDA_SUMS", "ordered");
  const auto chain = [&] {  // values of 3, 1, 6 and 1 MiB, each dead when the next but one is made
    const Tensor a = sum(w, {0}, keepdims);
    Tensor y = sum(x, {0}, keepdims);
    for (int64_t n : {3, 1, 6, 2}) {
      const Tensor wide =
          broadcast_to(y, {n + 1, 256, 1024}) + astype(arange(0, n + 1), float32)(_, newaxis, newaxis);
      y = sum(wide * 0.125f, {0, 1}, keepdims)(0);
    }
    return (y + a(_, slice(0, 1024))).eval();
  };
  gpu().allocator.release_kept();
  const size_t used = gpu().allocator.stats().used;
  const auto needs = [&](const char* graphs) {
    const Override how("LAZY_CUDA_GRAPHS", graphs);
    for (int64_t mib = 1; mib < 64; ++mib) {
      gpu().allocator.release_kept();
      const Override limit("LAZY_CUDA_MEMORY", std::to_string(used + static_cast<size_t>(mib * kMiB)));
      try {
        chain();
        return mib;
      } catch (const DeviceError&) {}
    }
    return int64_t{64};
  };
  const int64_t one_by_one = needs("off");
  BOOST_TEST(one_by_one > 1);
  BOOST_TEST(needs("on") == one_by_one);
}

BOOST_AUTO_TEST_SUITE_END()
