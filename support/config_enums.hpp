// Declares the types of LAZY_* variables that are one of some words.
#pragma once
#include <cstdint>

namespace lazy::config {

#define LAZY_ENUM(field, name, type, initial, doc, ...) enum class type : uint8_t { __VA_ARGS__ };
#include "support/config.def"

}  // namespace lazy::config
