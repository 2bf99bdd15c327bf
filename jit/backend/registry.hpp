// The backends of this process. jit/ knows them only by their interface.
#pragma once
#include <memory>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/backend/buffer.hpp"
#include "support/site.hpp"

namespace lazy::jit {

/// Devices of a kind that is not the CPU.
class Devices {
 public:
  virtual ~Devices() = default;
  /// How many there are. Throws DeviceError, saying what was looked for, if none can be used.
  virtual int count() = 0;
  /// Below count(). Made on first use, never destroyed.
  virtual Backend& at(int index) = 0;
  /// Those that at() has made.
  virtual std::vector<Backend*> in_use() = 0;
  /// Backends that compile for machines other than this one (LAZY_CUDA_ARCHS) and run nothing.
  virtual const std::vector<Backend*>& cross_compilers() = 0;
};

struct Backends {
  std::unique_ptr<Backend> main;       // the CPU
  std::unique_ptr<Backend> reference;  // LAZY_VERIFY's oracle
  std::unique_ptr<Devices> cuda;
};

/// Built once, on first use; never destroyed (tensors may outlive static destruction). Tests may wrap `main`
/// before use.
Backends& backends();

/// What runs ops on tensors of a device. Throws DeviceError at `site` if there is no such device.
Backend& backend_of(Device, const Site& site);
/// Of a buffer's memory.
Backend& backend_of(const Buffer&);

/// Where new tensors are: what set_default_device() said, else LAZY_DEVICE. Throws DeviceError at `site` if
/// that asks for a device that isn't there.
Device default_device(const Site& site);
void set_default_device(Device, const Site& site);

/// Supplied by the floor that assembles the library (lazy/runtime.cpp).
Backends make_backends();

}  // namespace lazy::jit
