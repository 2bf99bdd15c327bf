#include "lazy/io/dlpack.hpp"

#include <memory>

#include "jit/backend/registry.hpp"
#include "lazy/complex/complex.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/io/dlpack_abi.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy {
namespace {
using namespace detail;

struct DLType {
  DType dtype;
  DLDataType code;
};
constexpr DLType kDLTypes[] = {
    {bool_, {kDLBool, 8, 1}},     {int8, {kDLInt, 8, 1}},           {int16, {kDLInt, 16, 1}},
    {int32, {kDLInt, 32, 1}},     {int64, {kDLInt, 64, 1}},         {uint8, {kDLUInt, 8, 1}},
    {uint16, {kDLUInt, 16, 1}},   {uint32, {kDLUInt, 32, 1}},       {uint64, {kDLUInt, 64, 1}},
    {float16, {kDLFloat, 16, 1}}, {bfloat16, {kDLBfloat, 16, 1}},   {float32, {kDLFloat, 32, 1}},
    {float64, {kDLFloat, 64, 1}}, {complex64, {kDLComplex, 64, 1}}, {complex128, {kDLComplex, 128, 1}}};

/// Owns what a consumer sees: the struct, its lists, and the value.
struct Exported {
  DLManagedTensorVersioned managed{};
  jit::BufferRef memory;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};

void drop(DLManagedTensorVersioned* m) { delete static_cast<Exported*>(m->manager_ctx); }

/// Returns the value in row-major order, in memory that nothing else refers to.
jit::BufferRef own_copy(Handle h, const Site& s) {
  if (!h->contiguous)
    h = detail::record(Op::cast, {&h}, h->dtype, h->shape, s);  // a cast to its own type is a copy
  const Handle* one[] = {&h};
  jit::evaluate(one, jit::Cause::data, s);
  jit::Backend& backend = jit::backend_of(*h->buffer.get());
  const size_t bytes = static_cast<size_t>(numel(h->shape)) * size_of(h->dtype);
  jit::BufferRef made = jit::BufferRef::allocate(backend, bytes);
  if (bytes) backend.copy(made->data(), h->data(), bytes);
  return made;
}

DLDevice device_of(Device d) {
  return d.kind == DeviceKind::cuda ? DLDevice{kDLCUDA, d.index} : DLDevice{kDLCPU, 0};
}

/// Returns the device whose memory it is; host memory that a GPU can reach counts as the host's.
Device device_of(const DLDevice& d, const Site& s) {
  const auto type = static_cast<int>(d.device_type);
  if (type == kDLCPU || type == kDLCUDAHost) return {};
  if (type == kDLCUDA && d.device_id >= 0 && d.device_id <= 255)
    return {DeviceKind::cuda, static_cast<uint8_t>(d.device_id)};
  fail<DeviceError>("from_dlpack",
                    "tensors can't be in the memory of DLPack's device type " + std::to_string(type) +
                        ", number " + std::to_string(d.device_id) + ": expected the CPU (1, 3) or CUDA (2)",
                    s);
}

DType dtype_of(const DLDataType& code, const Site& s) {
  for (const DLType& t : kDLTypes)
    if (t.code.code == code.code && t.code.bits == code.bits && t.code.lanes == code.lanes) return t.dtype;
  fail<DtypeError>("from_dlpack",
                   "no tensor has DLPack's dtype of code " + std::to_string(code.code) + ", " +
                       std::to_string(code.bits) + " bits, " + std::to_string(code.lanes) + " lanes",
                   s);
}

/// Returns the shape, or strides, that are `n` integers at `at`.
Dims listed(const int64_t* at, int32_t n, const char* what, const Site& s) {
  if (n < 0 || n > kMaxRank)
    fail<ShapeError>(
        "from_dlpack",
        "a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " + std::to_string(n), s);
  if (n > 0 && !at) fail<Error>("from_dlpack", std::string("the pointer to the ") + what + " is null", s);
  return n ? Dims(std::span(at, static_cast<size_t>(n))) : Dims();
}

/// Returns a complex tensor in the user's memory, where each plane lies in every other number.
Tensor imported_pairs(char* data, DType t, const Shape& shape, Dims strides,
                      std::function<void(void*)> deleter, Device device, const Site& s) {
  if (strides.empty()) strides = contiguous_strides(shape);
  for (int64_t& step : strides) step *= 2;
  const DType plane = plane_type(t);
  const std::shared_ptr<void> whole(data, std::move(deleter));
  const auto part = [&](size_t offset) {
    const auto give_back = [whole](void*) {};
    return device == Device{}
               ? jit::from_blob(data + offset, plane, shape, strides, give_back, device, s)
               : jit::from_device_blob(data + offset, plane, shape, strides, give_back, device, s);
  };
  return Tensor(complex(part(0), part(size_of(plane)), s));
}

/// Returns a tensor in the memory of `t`, which `deleter` gives back.
Tensor imported(const DLTensor& t, std::function<void(void*)> deleter, const Site& s) {
  const DType dtype = dtype_of(t.dtype, s);
  const Device device = device_of(t.device, s);
  const Shape shape = listed(t.shape, t.ndim, "shape", s);
  const Dims given = t.strides ? listed(t.strides, t.ndim, "strides", s) : Dims();
  check_extents("from_dlpack", shape, s);
  check_countable("from_dlpack", shape, s);
  const Dims strides = checked_strides("from_dlpack", shape, given, s);
  char* const data = static_cast<char*>(t.data) + (t.data ? t.byte_offset : 0);
  if (!t.data && numel(shape) > 0) fail<Error>("from_dlpack", "the pointer to the elements is null", s);
  if (reinterpret_cast<uintptr_t>(data) % size_of(plane_type(dtype)) != 0)
    fail<Error>("from_dlpack", "the elements are not aligned for " + std::string(name_of(dtype)), s);
  if (is_complex(dtype)) return imported_pairs(data, dtype, shape, strides, std::move(deleter), device, s);
  if (device == Device{})
    return Tensor(jit::from_blob(data, dtype, shape, strides, std::move(deleter), device, s));
  return Tensor(jit::from_device_blob(data, dtype, shape, strides, std::move(deleter), device, s));
}

template <class Managed>
Tensor taken(Managed* m, const Site& s) {
  return imported(
      m->dl_tensor,
      [m](void*) {
        if (m->deleter) m->deleter(m);
      },
      s);
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(TensorArg x, bool copy) {
  const Site s = x.site();
  const Operand operand("to_dlpack", x);
  const DType dtype = operand->dtype;
  // Pairs are written side by side first.
  const Handle h = is_complex(dtype) ? view_as_real(Arg(operand, s)).handle() : Handle(operand);
  const Handle* one[] = {&h};
  jit::evaluate(one, jit::Cause::data, s);
  auto e = std::make_unique<Exported>();
  e->memory = copy ? own_copy(h, s) : h->buffer;
  const bool strided = !copy && !h->contiguous;
  const Dims strides = strided ? h->strides : contiguous_strides(h->shape);
  std::copy(h->shape.begin(), h->shape.end(), e->shape);
  std::copy(strides.begin(), strides.end(), e->strides);
  located<DeviceError>(s, [&] { jit::backend_of(*e->memory.get()).synchronize(); });
  DLTensor& t = e->managed.dl_tensor;
  t.data = numel(h->shape) == 0 ? nullptr : copy ? e->memory->data() : h->data();
  t.device = device_of(h->device);
  t.ndim = operand->shape.size();
  if (is_complex(dtype))
    for (int i = 0; i < t.ndim; ++i) e->strides[i] /= 2;
  for (const DLType& type : kDLTypes)
    if (type.dtype == dtype) t.dtype = type.code;
  t.shape = e->shape;
  t.strides = e->strides;
  e->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  e->managed.flags = copy ? DLPACK_FLAG_BITMASK_IS_COPIED : DLPACK_FLAG_BITMASK_READ_ONLY;
  e->managed.manager_ctx = e.get();
  e->managed.deleter = drop;
  return &e.release()->managed;
}

Tensor from_dlpack(DLManagedTensorVersioned* m, Site s) {
  if (!m) fail<Error>("from_dlpack", "the pointer is null", s);
  if (m->version.major != DLPACK_MAJOR_VERSION)
    fail<Error>("from_dlpack",
                "expected version 1 of DLPack, found " + std::to_string(m->version.major) + "." +
                    std::to_string(m->version.minor),
                s);
  return taken(m, s);
}

Tensor from_dlpack(DLManagedTensor* m, Site s) {
  if (!m) fail<Error>("from_dlpack", "the pointer is null", s);
  return taken(m, s);
}

}  // namespace lazy
