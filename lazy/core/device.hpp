// Devices: where tensors are and ops on them run.
//
//   lazy::Tensor x = lazy::ones({1000, 1000}).to(lazy::cuda);   // or LAZY_DEVICE=cuda for the whole program
//   lazy::Tensor y = matmul(tanh(x), x);                        // runs on the GPU; nothing else changes
//   std::vector<float> v = y.to_vector<float>();                // reading waits, and copies to the host
//
// Tensors that meet in one op are on one device (DeviceError otherwise; scalars are anywhere). Work on a GPU
// goes on while the program records more; its failures are thrown where a value is read next, or by
// synchronize().
#pragma once
#include <string>

#include "jit/core/device.hpp"
#include "lazy/core/counts.hpp"
#include "support/site.hpp"

namespace lazy {

inline constexpr Device cpu{DeviceKind::cpu, 0};

/// The first GPU; cuda(1) is the second. As CUDA_VISIBLE_DEVICES numbers them. Numbers above 255 stand for
/// cuda:255, which no machine has.
struct FirstCuda : Device {
  constexpr FirstCuda() : Device{DeviceKind::cuda, 0} {}
  constexpr Device operator()(Integer index) const {
    return {DeviceKind::cuda, static_cast<uint8_t>(index < 0 || index > 255 ? 255 : index.value)};
  }
};
inline constexpr FirstCuda cuda{};

/// Returns where new tensors are made: what set_default_device() said last, else LAZY_DEVICE. DeviceError if
/// it isn't there.
Device default_device(Site s = Site::current());
/// DeviceError if there is no such device; then nothing changes.
void set_default_device(Device, Site s = Site::current());
/// True if tensors can be there. Why not is logged with LAZY_LOG=device.
bool is_available(Device);
/// How many GPUs can be used: 0 without a driver.
int cuda_device_count();
/// Model and size, for people: "NVIDIA H200, sm_90, 132 multiprocessors, 143771 MiB". DeviceError if it isn't
/// there.
std::string describe(Device, Site s = Site::current());
/// Returns when everything that was launched on the device is done. Throws DeviceError for what failed there.
void synchronize(Device, Site s = Site::current());
/// Waits for all devices in use.
void synchronize(Site s = Site::current());

}  // namespace lazy
