// The driver, as a table of functions.
#pragma once
#include <string>

#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

struct Driver {
#define LAZY_DRIVER(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/driver.def"
  int version = 0;  // of CUDA that it supports: 13000
  int devices = 0;  // at least 1
};

/// The driver, ready for use. Opened at the first call. Throws DeviceError when there is none, when it is too
/// old, and when there is no device that it can use; at each call again.
const Driver& driver();

/// Throws DeviceError, naming what was done, unless `r` is success.
void check(Result r, const char* what);
/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string describe(Result);

}  // namespace lazy::cuda_backend::api
