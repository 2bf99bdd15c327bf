// Where a tensor's values are, and where ops on it run.
#pragma once
#include <cstdint>
#include <string>

namespace lazy {

enum class DeviceKind : uint8_t { cpu, cuda };

/// A device by kind and index. Tensors that meet in one op are on one device.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  uint8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "cuda:0"
std::string to_string(Device);

}  // namespace lazy
