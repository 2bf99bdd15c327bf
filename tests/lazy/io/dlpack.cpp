// Tests the exchange by DLPack: layouts and flags that others see, lifetimes, and what is refused.
#include "lazy/io/dlpack_abi.hpp"
#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

namespace {

int deleted = 0;

/// Makes structs as another library would; both count their deletion.
template <class Managed>
struct Foreign {
  std::vector<int64_t> shape, strides;
  Managed managed{};
  Foreign(void* data, DLDataType t, std::vector<int64_t> extents, std::vector<int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    deleted = 0;
    if constexpr (requires { managed.version; }) managed.version = {1, 1};
    managed.deleter = [](Managed*) { ++deleted; };
    DLTensor& d = managed.dl_tensor;
    d.data = data;
    d.device = {kDLCPU, 0};
    d.ndim = static_cast<int32_t>(shape.size());
    d.dtype = t;
    d.shape = shape.data();
    d.strides = strides.empty() ? nullptr : strides.data();
  }
};
using Versioned = Foreign<DLManagedTensorVersioned>;
using Unversioned = Foreign<DLManagedTensor>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_dlpack, OnCpu)

BOOST_AUTO_TEST_CASE(gives) {
  const Tensor x = arange(6, float32).reshape({2, 3});
  DLManagedTensorVersioned* const m = to_dlpack(x);
  BOOST_TEST(m->version.major == 1u);
  BOOST_TEST(m->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  const DLTensor& t = m->dl_tensor;
  BOOST_TEST(t.data == x.data<float>());
  BOOST_TEST(t.byte_offset == 0u);
  BOOST_TEST(t.device.device_type == kDLCPU);
  BOOST_TEST(t.ndim == 2);
  BOOST_TEST(t.shape[0] == 2);
  BOOST_TEST(t.shape[1] == 3);
  BOOST_TEST(t.strides[0] == 3);
  BOOST_TEST(t.strides[1] == 1);
  BOOST_TEST((t.dtype.code == kDLFloat && t.dtype.bits == 32 && t.dtype.lanes == 1));
  m->deleter(m);
}

BOOST_AUTO_TEST_CASE(gives_views_as_they_lie) {
  const Tensor x = (arange(24, int16).reshape({4, 6}) + 0).eval();
  const Tensor v = x(slice(1, 4), slice(5, 0, -2));
  DLManagedTensorVersioned* const m = to_dlpack(v);
  const auto* const p = static_cast<const int16_t*>(m->dl_tensor.data);
  BOOST_TEST(p == x.data<int16_t>() + 11);
  BOOST_TEST(m->dl_tensor.strides[0] == 6);
  BOOST_TEST(m->dl_tensor.strides[1] == -2);
  const Tensor back = from_dlpack(m);
  check::same(back, v);
  const Tensor copy = from_dlpack(to_dlpack(v, true));
  check::same(copy, v);
}

BOOST_AUTO_TEST_CASE(lives_until_the_deleter) {
  DLManagedTensorVersioned* m = nullptr;
  {
    const Tensor x = arange(1000, float64) * 2;
    m = to_dlpack(x);
  }
  for (int i = 0; i < 100; ++i) (zeros({1000}, float64) + i).eval();  // would take freed memory over
  const auto* const p = static_cast<const double*>(m->dl_tensor.data);
  BOOST_TEST(p[0] == 0.0);
  BOOST_TEST(p[999] == 1998.0);
  m->deleter(m);
}

BOOST_AUTO_TEST_CASE(copies_can_be_written_to) {
  const Tensor x = ones({3}) * 1;
  DLManagedTensorVersioned* const m = to_dlpack(x, true);
  BOOST_TEST(m->flags == DLPACK_FLAG_BITMASK_IS_COPIED);
  static_cast<float*>(m->dl_tensor.data)[1] = 7;
  equal(x, float32, {3}, {1, 1, 1});
  const Tensor y = from_dlpack(m);
  equal(y, float32, {3}, {1, 7, 1});
}

BOOST_AUTO_TEST_CASE(every_dtype_there_and_back) {
  for (const DType t : kAll) {
    const Tensor x = asarray(ramp(t, 6), t).reshape({3, 2});
    const Tensor y = from_dlpack(to_dlpack(x));
    check::same(y, x);
    const Tensor none = from_dlpack(to_dlpack(zeros({0, 3}, t)));
    equal(none, t, {0, 3}, {});
    equal(from_dlpack(to_dlpack(tensor(1).astype(t))), t, {}, {1});
  }
}

BOOST_AUTO_TEST_CASE(takes) {
  float data[] = {0, 1, 2, 3, 4, 5};
  {
    Versioned f(data, {kDLFloat, 32, 1}, {2, 3});
    Tensor x = from_dlpack(&f.managed);
    BOOST_TEST(x.data<float>() == data);
    equal(x, float32, {2, 3}, {0, 1, 2, 3, 4, 5});
    Tensor y = x.T();
    x = Tensor();
    BOOST_TEST(deleted == 0);
    equal(y + 1, float32, {3, 2}, {1, 4, 2, 5, 3, 6});
    y = Tensor();
    BOOST_TEST(deleted == 1);
  }
  {
    Unversioned f(data, {kDLFloat, 32, 1}, {2, 2}, {1, 3});
    f.managed.dl_tensor.byte_offset = 4;
    equal(from_dlpack(&f.managed), float32, {2, 2}, {1, 4, 2, 5});
    BOOST_TEST(deleted == 1);
  }
  Versioned f(data, {kDLFloat, 32, 1}, {});
  f.managed.deleter = nullptr;
  equal(from_dlpack(&f.managed), float32, {}, {0});
}

BOOST_AUTO_TEST_CASE(refuses) {
  alignas(8) char data[64] = {};
  const auto with = [&](auto change, const Site& s = Site::current()) {
    auto f = std::make_unique<Versioned>(data, DLDataType{kDLFloat, 32, 1}, std::vector<int64_t>{2, 2},
                                         std::vector<int64_t>{2, 1});
    change(f->managed);
    return std::pair([f = std::move(f)]() { (void)from_dlpack(&f->managed); }, s);
  };
  const auto says = [&]<class E>(E*, auto change, const std::string& part, const Site& s = Site::current()) {
    const auto call = with(change);
    fails<E>(call.first, "from_dlpack", part, s);
    BOOST_TEST(deleted == 0);
  };
  Error* const error = nullptr;
  ShapeError* const shape = nullptr;
  DtypeError* const dtype = nullptr;
  DeviceError* const device = nullptr;
  says(
      error,
      [](auto& m) {
        m.version = {2, 0};
      },
      "expected version 1 of DLPack, found 2.0");
  says(
      dtype,
      [](auto& m) {
        m.dl_tensor.dtype = {kDLComplex, 32, 1};
      },
      "code 5, 32 bits, 1 lanes");
  says(
      dtype,
      [](auto& m) {
        m.dl_tensor.dtype = {kDLFloat, 32, 4};
      },
      "4 lanes");
  says(
      dtype,
      [](auto& m) {
        m.dl_tensor.dtype = {kDLInt, 4, 1};
      },
      "4 bits");
  says(
      dtype,
      [](auto& m) {
        m.dl_tensor.dtype = {kDLBool, 1, 1};
      },
      "1 bits");
  says(
      device,
      [](auto& m) {
        m.dl_tensor.device = {static_cast<DLDeviceType>(10), 0};
      },
      "device type 10");
  says(
      device,
      [](auto& m) {
        m.dl_tensor.device = {kDLCUDA, 300};
      },
      "number 300");
  says(
      shape, [](auto& m) { m.dl_tensor.ndim = -1; }, "at most 8 dimensions, not -1");
  says(
      shape, [](auto& m) { m.dl_tensor.ndim = 9; }, "at most 8 dimensions, not 9");
  says(
      shape, [](auto& m) { m.dl_tensor.shape[0] = -1; }, "negative");
  says(
      shape, [](auto& m) { m.dl_tensor.shape[0] = INT64_MAX; }, "more elements than can be addressed");
  says(
      shape, [](auto& m) { m.dl_tensor.strides[0] = INT64_MIN; }, "reach further");
  says(
      error, [](auto& m) { m.dl_tensor.shape = nullptr; }, "the pointer to the shape is null");
  says(
      error, [](auto& m) { m.dl_tensor.data = nullptr; }, "the pointer to the elements is null");
  says(
      error, [](auto& m) { m.dl_tensor.byte_offset = 2; }, "not aligned for float32");
}

BOOST_AUTO_TEST_CASE(users_memory) {
  int32_t data[] = {1, 2, 3, 4, 5, 6};
  int freed = 0;
  {
    const Tensor x = from_blob(data + 5, {2, 3}, std::vector<int64_t>{-3, -1}, [&](void*) { ++freed; });
    equal(x, int32, {2, 3}, {6, 5, 4, 3, 2, 1});
    BOOST_TEST(freed == 0);
  }
  BOOST_TEST(freed == 1);
  equal(from_blob(std::span(data), {3, 2}), int32, {3, 2}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST(from_blob(std::span(data), {6}).data<int32_t>() == data);
  THROWS(ShapeError, from_blob(std::span(data), {4}), "from_blob: 6 elements do not fill [4]");
  THROWS(ShapeError, from_blob(data, {2}, std::vector<int64_t>{1, 1}), "from_blob: 2 strides for shape [2]");
}

BOOST_AUTO_TEST_SUITE_END()
