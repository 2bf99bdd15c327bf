// Finds the weights of a graph that nothing but products reads: those that can be integers.
#pragma once
#include <map>

#include "lazy/onnx/import/graph.hpp"

namespace lazy::onnx {

/// Says how products read a weight: as the right operand of matmul(), (in, out), or as weights (out, in, ...)
/// of a linear map or a convolution.
enum class Products : uint8_t { inputs_first, outputs_first };

/// Returns the weights, by their numbers, that are read by MatMul, Gemm and Conv alone, all in the same way,
/// in the graph and those in it. Those that functions of the model are given are not among them.
std::map<size_t, Products> weights_of_products(const Graph&);

}  // namespace lazy::onnx
