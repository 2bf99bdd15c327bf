// Manages devices: where tensors are and ops on them run.
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

/// Names the first GPU; cuda(1) is the second, as CUDA_VISIBLE_DEVICES numbers them. Numbers above 255 become
/// cuda:255, which no machine has.
struct FirstCuda : Device {
  constexpr FirstCuda() : Device{DeviceKind::cuda, 0} {}
  constexpr Device operator()(IntegerArg number) const {
    return {DeviceKind::cuda, static_cast<uint8_t>(number < 0 || number > 255 ? 255 : number.value)};
  }
};
inline constexpr FirstCuda cuda{};

/// Returns the device of new tensors: the one last given to set_default_device(), else LAZY_DEVICE.
/// DeviceError if it isn't there.
Device default_device(Site s = Site::current());
/// Sets the default device. DeviceError if there is no such device; then nothing changes.
void set_default_device(Device, Site s = Site::current());
/// True if tensors can be there. If not, LAZY_LOG=device logs the reason.
bool is_available(Device);
/// True if there is a GPU that tensors can be on: is_available(cuda).
inline bool cuda_is_available() { return is_available(cuda); }
/// Returns the number of usable GPUs: 0 without a driver.
int cuda_device_count();
/// Returns model and size for people: "NVIDIA H200, sm_90, 132 multiprocessors, 143771 MiB". DeviceError if
/// it isn't there.
std::string describe(Device, Site s = Site::current());
/// Waits until everything that was launched on the device is done. Throws DeviceError for failures there.
void synchronize(Device, Site s = Site::current());
/// Waits for all devices in use.
void synchronize(Site s = Site::current());

}  // namespace lazy
