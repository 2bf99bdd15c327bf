#include "lazy/onnx/ops/table.hpp"

namespace lazy::onnx {

std::span<const Operator> activation_operators() { return {}; }

}  // namespace lazy::onnx
