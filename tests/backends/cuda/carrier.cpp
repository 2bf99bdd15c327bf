// Tests what carries messages between GPUs (jit/backend/carrier.hpp): what is combined has the bits of
// combine_ranks; marks; a connection of one process; messages between GPUs of one process, where there are
// several.
#include "jit/backend/carrier.hpp"

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "jit/backend/buffer.hpp"
#include "lazy/distributed/sums/combine.hpp"
#include "support/error.hpp"
#include "support/fp16.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using distributed::ReduceOp;
using jit::Carrier;
using jit::Op;

namespace {

/// Skips where a machine with a GPU has no NCCL.
boost::test_tools::assertion_result has_nccl(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result r(true);
  try {
    (void)jit::backend_of(cuda, Site{}).make_carrier();
  } catch (const DeviceError& e) {
    r = boost::test_tools::assertion_result(false);
    r.message() << e.what();
  }
  return r;
}

/// Holds memory of a GPU.
struct OnDevice {
  OnDevice(jit::Backend& b, size_t bytes)
      : backend(b), buffer(jit::BufferRef::allocate(b, bytes)), size(bytes) {}
  OnDevice(jit::Backend& b, const std::string& bytes) : OnDevice(b, bytes.size()) {
    if (size) backend.write(at(), bytes.data(), size);
  }
  char* at() const { return static_cast<char*>(buffer->data()); }
  std::string read() const {
    std::string bytes(size, '\0');
    if (size) backend.read(bytes.data(), at(), size);
    return bytes;
  }

  jit::Backend& backend;
  jit::BufferRef buffer;
  size_t size;
};

std::string random_bytes(size_t n, std::mt19937_64& random) {
  std::string bytes(n, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

template <class T, class Wide>
std::string floats(size_t n, std::mt19937_64& random) {
  std::string bytes(n * sizeof(T), '\0');
  for (size_t i = 0; i < n; ++i) {
    double x = (static_cast<double>(random() % 20'001) - 10'000) * 0x1.23p-7;
    if (i == 1) x = -0.0;
    if (i == 2) x = INFINITY;
    const T v = T(static_cast<Wide>(x));
    std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v);
  }
  return bytes;
}
/// Returns values of a type, of integers any, of floats none that is NaN.
std::string values(DType t, size_t n, std::mt19937_64& random) {
  if (t == float16) return floats<float16_t, float>(n, random);
  if (t == bfloat16) return floats<bfloat16_t, float>(n, random);
  if (t == float32) return floats<float, float>(n, random);
  if (t == float64) return floats<double, double>(n, random);
  return random_bytes(n * size_of(t), random);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(carrier, test::OnGpu, *boost::unit_test::precondition(has_nccl))

BOOST_AUTO_TEST_CASE(combines_as_the_host_does) {
  jit::Backend& device = jit::backend_of(cuda, Site{});
  const auto c = device.make_carrier();
  std::mt19937_64 random(5);
  for (const DType t :
       {float32, float64, float16, bfloat16, int8, uint8, int16, uint16, int32, uint32, int64, uint64})
    for (const auto& [op, reduction] : {std::pair{Op::add, ReduceOp::sum},
                                        {Op::multiply, ReduceOp::prod},
                                        {Op::minimum, ReduceOp::min},
                                        {Op::maximum, ReduceOp::max}})
      for (const int64_t n : {0, 1, 257}) {
        constexpr int kCount = 5;
        const std::string all = values(t, static_cast<size_t>(n) * kCount, random);
        const size_t bytes = all.size() / kCount;
        std::vector<const char*> parts;
        for (size_t k = 0; k < kCount; ++k) parts.push_back(all.data() + k * bytes);
        std::string expected(bytes, '\0');
        distributed::detail::combine_ranks(t, reduction, parts, expected.data(), n);
        const OnDevice from(device, all);
        c->follow(c->mark());
        c->combine(t, op, from.at(), kCount, n, from.at() + bytes);  // onto one of them
        c->lead();
        BOOST_TEST((from.read().substr(bytes, bytes) == expected), name_of(t) << ", " << n);
      }
}

BOOST_AUTO_TEST_CASE(a_nan_stays) {
  jit::Backend& device = jit::backend_of(cuda, Site{});
  const auto c = device.make_carrier();
  for (const Op op : {Op::add, Op::multiply, Op::minimum, Op::maximum})
    for (int at = 0; at < 3; ++at) {
      float v[3] = {1, 2, 3};
      v[at] = NAN;
      const OnDevice from(device, std::string(reinterpret_cast<const char*>(v), sizeof v));
      c->follow(c->mark());
      c->combine(float32, op, from.at(), 3, 1, from.at());
      c->lead();
      float result = 0;
      std::memcpy(&result, from.read().data(), sizeof result);
      BOOST_TEST(result != result);
    }
}

BOOST_AUTO_TEST_CASE(a_connection_of_one) {
  jit::Backend& device = jit::backend_of(cuda, Site{});
  const auto c = device.make_carrier();
  const int connection = c->connect(c->invitation(), 0, 1);
  c->exchange(connection, {}, {});
  const OnDevice from(device, "what is copied"), to(device, from.size);
  c->follow(c->mark());
  c->copy(to.at(), from.at(), from.size);
  c->lead();
  BOOST_TEST(to.read() == "what is copied");
  c->stop();
  BOOST_CHECK_THROW(c->exchange(connection, {}, {}), jit::CarrierStopped);
}

BOOST_AUTO_TEST_CASE(between_two_gpus) {
  if (cuda_device_count() < 2) return;
  jit::Backend* const devices[2] = {&jit::backend_of(cuda, Site{}), &jit::backend_of(cuda(1), Site{})};
  const std::unique_ptr<Carrier> carriers[2] = {devices[0]->make_carrier(), devices[1]->make_carrier()};
  const std::string invitation = carriers[0]->invitation();
  std::mt19937_64 random(3);
  std::string sent[2], got[2];
  const auto both = [&](const std::function<void(size_t)>& f) {
    std::thread other([&] { f(1); });
    f(0);
    other.join();
  };
  int connections[2] = {-1, -1};
  both([&](size_t me) { connections[me] = carriers[me]->connect(invitation, static_cast<int>(me), 2); });
  for (const size_t bytes : {size_t{1}, size_t{70'001}, size_t{3} << 20}) {
    sent[0] = random_bytes(bytes, random), sent[1] = random_bytes(bytes / 2 + 1, random);
    both([&](size_t me) {
      Carrier& c = *carriers[me];
      const OnDevice from(*devices[me], sent[me]), to(*devices[me], sent[1 - me].size());
      c.follow(c.mark());
      const int peer = 1 - static_cast<int>(me);
      const Carrier::Message out{peer, from.at(), from.size}, in{peer, to.at(), to.size};
      c.exchange(connections[me], {&out, 1}, {&in, 1});
      c.lead();
      got[me] = to.read();
    });
    BOOST_TEST((got[0] == sent[1]));
    BOOST_TEST((got[1] == sent[0]));
  }
  // All do these together; each has 1000 numbers.
  constexpr int64_t kEach = 1000, kBytes = kEach * 4;
  for (std::string& s : sent) s = values(float32, kEach, random);
  const auto run = [&](const std::function<void(Carrier&, size_t me, char* work)>& f) {
    both([&](size_t me) {
      Carrier& c = *carriers[me];
      const OnDevice work(*devices[me], 3 * kBytes);
      devices[me]->write(work.at() + me * kBytes, sent[me].data(), kBytes);  // its place among two
      devices[me]->write(work.at() + 2 * kBytes, sent[me].data(), kBytes);
      c.follow(c.mark());
      f(c, me, work.at());
      c.lead();
      got[me] = work.read();
    });
  };
  const auto sum = [&](size_t from, size_t n) {
    std::string all(n * 4, '\0');
    const char* const parts[] = {sent[0].data() + from * 4, sent[1].data() + from * 4};
    distributed::detail::combine_ranks(float32, ReduceOp::sum, parts, all.data(), static_cast<int64_t>(n));
    return all;
  };
  run([&](Carrier& c, size_t me, char* work) {
    c.gather(connections[me], work + me * kBytes, work, kBytes);
  });
  for (const std::string& g : got) BOOST_TEST((g.substr(0, 2 * kBytes) == sent[0] + sent[1]));
  run([&](Carrier& c, size_t me, char* work) { c.broadcast(connections[me], 1, work + 2 * kBytes, kBytes); });
  for (const std::string& g : got) BOOST_TEST((g.substr(2 * kBytes) == sent[1]));
  BOOST_TEST(carriers[0]->adds(bfloat16));
  BOOST_TEST(!carriers[0]->adds(int16));
  run([&](Carrier& c, size_t me, char* work) { c.add(connections[me], float32, work + 2 * kBytes, kEach); });
  for (const std::string& g : got) BOOST_TEST((g.substr(2 * kBytes) == sum(0, kEach)));
  run([&](Carrier& c, size_t me, char* work) {
    c.add_parts(connections[me], float32, work + 2 * kBytes, work, kEach / 2);
  });
  for (size_t me = 0; me < 2; ++me)
    BOOST_TEST((got[me].substr(0, kBytes / 2) == sum(me * kEach / 2, kEach / 2)));
}

BOOST_AUTO_TEST_SUITE_END()
