// Declares the library's types without defining them, for headers that only name them: #include
// <lazy/lazy-fwd.hpp>.
#pragma once
#include <cstdint>

namespace lazy {

class Arg;
class Dims;
using Shape = Dims;
class NamedTensors;
class Parameter;
class Selection;
class Tensor;
class View;
struct Device;
struct Index;
struct Slice;
struct bfloat16_t;
struct float16_t;
enum class DType : uint8_t;

class ConfigError;
class DeviceError;
class DtypeError;
class Error;
class IndexError;
class IoError;
class ShapeError;

namespace nn {
class Module;
}
namespace optim {
class Optimizer;
}

}  // namespace lazy
