// Declares the driver as a table of functions.
#pragma once
#include <string>

#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

struct Driver {
#define LAZY_DRIVER(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/driver.def"
  int version = 0;  // the version of CUDA that it supports, as 13000
  int devices = 0;  // at least 1
};

/// Returns the driver, ready for use. The first call opens it. Throws DeviceError, at each call again, when
/// there is none, when it is too old, and when there is no device that it can use.
const Driver& driver();

/// Throws DeviceError, naming what was done, unless `r` is success.
void check(Result r, const char* what);
/// Returns text such as "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string describe(Result);

}  // namespace lazy::cuda_backend::api
