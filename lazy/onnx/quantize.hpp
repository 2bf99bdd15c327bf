// Makes a model in the ONNX format smaller by integers in the place of its weights.
//
//   lazy::onnx::Model model = lazy::onnx::load("model.onnx");
//   lazy::onnx::quantize_(model);                                    // int8 for each output channel
//   lazy::onnx::quantize_(model, lazy::quant::int8_dynamic());       // what they multiply is rounded, too
#pragma once
#include "lazy/onnx/onnx.hpp"
#include "lazy/quant/quantize.hpp"

namespace lazy::onnx {

/// Quantises, as quant::quantize_() does layers, the weights that only MatMul, Gemm and Conv nodes of the
/// model read, as their second input: matrices (in, out) of MatMul and Gemm, (out, in) of Gemm with transB,
/// and (out, in, ...) of Conv; float32, float16, bfloat16 and float64. Returns what was done, in the order of
/// the file. What other nodes read too stays as it is, as do weights that were quantised before. Error for a
/// config that needs quant::prepare_(), and for a model that is default-constructed.
std::vector<quant::Change> quantize_(Model& model, const quant::Config& config = quant::int8_weights(),
                                     Site s = Site::current());

}  // namespace lazy::onnx
