// Declares the driver's functions (driver.def), without their common part: entry.cpp adds that a call is
// counted, may be made to fail, and fails when its device is lost.
#pragma once
#include "tests/emulated_cuda/driver_types.hpp"
#include "tests/emulated_cuda/objects.hpp"

namespace emulated::driver {

#define LAZY_DRIVER(field, name, ...) Result name(__VA_ARGS__);
#include "tests/emulated_cuda/driver.def"

/// Finds the stream that a call means, whose device is not lost: null is the current context's own, which
/// waits for no other stream, nor they for it.
Result find_stream(Stream, StreamStruct*&);
/// Notes that the host waited for work: a failure of it is known from now on, and the pool frees memory.
Result synchronised(ContextStruct*);

}  // namespace emulated::driver
