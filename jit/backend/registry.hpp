// Declares the backends of this process. jit/ includes no backend's header: it calls them through their
// interface.
#pragma once
#include <memory>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/backend/buffer.hpp"
#include "support/site.hpp"

namespace lazy::jit {

/// Holds the devices of a kind that is not the CPU.
class Devices {
 public:
  virtual ~Devices() = default;
  /// Returns how many there are. Throws DeviceError, saying what was looked for, if none can be used.
  virtual int count() = 0;
  /// Returns the backend of one of them, index < count(). It is made on first use and never destroyed.
  virtual Backend& at(int index) = 0;
  /// Returns the backends that at() has made.
  virtual std::vector<Backend*> in_use() = 0;
  /// Returns backends that compile for machines other than this one (LAZY_CUDA_ARCHS) and run nothing.
  virtual const std::vector<Backend*>& cross_compilers() = 0;
};

struct Backends {
  std::unique_ptr<Backend> main;       // the CPU
  std::unique_ptr<Backend> reference;  // LAZY_VERIFY's oracle
  std::unique_ptr<Devices> cuda;
};

/// Returns the backends, which are built once, on first use, and never destroyed (tensors may outlive static
/// destruction). Tests may wrap `main` before use.
Backends& backends();

/// Returns the backend that runs ops on tensors of a device. Throws DeviceError at `site` if there is no such
/// device.
Backend& backend_of(Device, const Site& site);
/// Returns the backend of a buffer's memory.
Backend& backend_of(const Buffer&);

/// Returns the device on which new tensors are: the one that set_default_device() set, else LAZY_DEVICE.
/// Throws DeviceError at `site` if that names a device that isn't there.
Device default_device(const Site& site);
void set_default_device(Device, const Site& site);

/// Makes the backends. Defined by the floor that assembles the library (lazy/runtime.cpp).
Backends make_backends();

}  // namespace lazy::jit
