// Exchanges tensors with other libraries (NumPy, PyTorch, CuPy, JAX, ...) by DLPack 1, without a copy.
//
//   DLManagedTensorVersioned* out = lazy::to_dlpack(x);   // the consumer calls out->deleter(out)
//   Tensor y = lazy::from_dlpack(in);                     // calls in->deleter(in) when nothing refers to it
//
// The structs are those of dlpack/dlpack.h; programs that don't have it include lazy/io/dlpack_abi.hpp.
#pragma once
#include "lazy/core/tensor.hpp"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace lazy {

/// Returns the value for another library, which shares its memory, with its strides, on its device. It lives
/// until the consumer calls the deleter, on any thread. Since values of tensors never change it is marked
/// read-only; with `copy` it is a row-major copy that the consumer may write to, and marked as a copy.
/// Evaluates, and waits for the device.
DLManagedTensorVersioned* to_dlpack(TensorArg x, bool copy = false);

/// Returns a tensor in the memory of another library, whose deleter runs once, on any thread, when nothing
/// refers to the memory any more. The memory must not change while any tensor made from it may still be
/// computed, what its producer launched on a GPU must be done, and bools must be bytes 0 and 1. Where
/// from_dlpack throws, the deleter does not run, and the memory is still the caller's. DtypeError for complex
/// numbers, opaque handles, lanes other than 1 and widths that tensors don't have; DeviceError for devices
/// other than the CPU, pinned host memory and CUDA; ShapeError for a shape or strides that can't be
/// addressed; Error for another major version of DLPack.
Tensor from_dlpack(DLManagedTensorVersioned* managed, Site s = Site::current());
/// Does the same for the structs of versions before 1.0.
Tensor from_dlpack(DLManagedTensor* managed, Site s = Site::current());

}  // namespace lazy
