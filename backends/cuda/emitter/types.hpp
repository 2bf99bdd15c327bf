// Spells element types, and constants of them, as generated source does.
#pragma once
#include <cstdint>
#include <string>

#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// Returns "float", "i64", "bool", "f16" and so on, both as stored and as computed with.
const char* spelled(DType);
/// Returns a constant with exactly these bits; not for 16-bit floats.
std::string literal(DType, uint64_t bits);
std::string float_literal(float);
std::string double_literal(double);

/// Returns what an accumulator starts from: x op identity is x, whatever x is.
std::string identity_of(const jit::loop::Reduction&);

}  // namespace lazy::cuda_backend
