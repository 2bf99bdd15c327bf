// Element types as generated source spells them, and constants of them.
#pragma once
#include <cstdint>
#include <string>

#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// "float", "i64", "bool", "f16": both as stored and as computed with.
const char* spelled(DType);
/// A constant with exactly these bits; not for 16-bit floats.
std::string literal(DType, uint64_t bits);
std::string float_literal(float);
std::string double_literal(double);

/// x op identity is x, whatever x: what an accumulator starts from.
std::string identity_of(const jit::loop::Reduction&);

}  // namespace lazy::cuda_backend
