#include "lazy/onnx/ops/table.hpp"

namespace lazy::onnx {

std::span<const Operator> creation_operators() { return {}; }

}  // namespace lazy::onnx
