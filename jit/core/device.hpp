// Names devices: a tensor's values are on one, and ops on it run there.
#pragma once
#include <cstdint>
#include <string>

namespace lazy {

enum class DeviceKind : uint8_t { cpu, cuda };

/// Identifies a device by kind and index. Tensors that meet in one op are on one device.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  uint8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Returns "cpu", or "cuda:0" and so on.
std::string to_string(Device);

namespace jit {

/// The class of code of kernels that the host's processor runs: see Compiler::code_class.
inline constexpr uint32_t kHostCode = 0;

}  // namespace jit
}  // namespace lazy
