// Tests the exchange of memory on the GPU by DLPack.
#include "lazy/io/dlpack_abi.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_FIXTURE_TEST_SUITE(copies, OnGpu)

BOOST_AUTO_TEST_CASE(dlpack_shares_the_memory_of_a_gpu) {
  const Tensor x = (arange(24, float32).reshape({4, 6}) * 2).eval();
  DLManagedTensorVersioned* const m = to_dlpack(x(slice(1, 4), slice(0, 6, 2)));
  BOOST_TEST(m->dl_tensor.device.device_type == kDLCUDA);
  BOOST_TEST(m->dl_tensor.device.device_id == 0);
  BOOST_TEST(m->dl_tensor.strides[0] == 6);
  BOOST_TEST(m->dl_tensor.strides[1] == 2);
  static int deleted;
  static void (*inner)(DLManagedTensorVersioned*);
  deleted = 0;
  inner = m->deleter;
  m->deleter = [](DLManagedTensorVersioned* self) { ++deleted, inner(self); };
  reset_metrics();
  {
    const Tensor y = from_dlpack(m);
    BOOST_TEST(to_string(y.device()) == "cuda:0");
    const Tensor z = y.T() + 1;
    BOOST_TEST((z.to_vector<float>() == std::vector<float>{13, 25, 37, 17, 29, 41, 21, 33, 45}));
    BOOST_TEST((y.to_vector<float>() == std::vector<float>{12, 16, 20, 24, 28, 32, 36, 40, 44}));
    BOOST_TEST(deleted == 0);
  }
  BOOST_TEST(deleted == 1);
  BOOST_TEST(metrics().bytes_to_device == 0u);
}

BOOST_AUTO_TEST_CASE(dlpack_copies_of_a_gpu_are_apart) {
  const Tensor x = (arange(6, int32).reshape({2, 3}) + 0).eval();
  DLManagedTensorVersioned* const a = to_dlpack(x.T());
  DLManagedTensorVersioned* const b = to_dlpack(x.T(), true);
  BOOST_TEST(a->dl_tensor.data != b->dl_tensor.data);
  const Tensor y = from_dlpack(b);
  a->deleter(a);
  BOOST_TEST((y.to_vector<int32_t>() == std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
}

BOOST_AUTO_TEST_SUITE_END()
