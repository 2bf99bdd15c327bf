// Records, while a trace is recorded, how much memory each line of the program holds: as counters of the
// category "held", one for each line, with which lazy-report says who holds what.
//
// A holder is a line and, where memory is no value of it, what it is for. Memory belongs to nobody until it
// is said to whom; memory that was allocated before the first recording is not known.
#pragma once
#include <cstdint>

#include "support/profile.hpp"
#include "support/site.hpp"

namespace lazy::holdings {

/// True if memory that is allocated now is to be known.
inline bool on() noexcept { return profile::on() && profile::recording(); }

/// Notes that memory was allocated; `memory` is any address that is its own as long as it lives.
void allocated(const void* memory, uint64_t bytes) noexcept;
/// Says which line has the memory now. `purpose`, a literal, says what for, if not as values of that line;
/// memory that is not known is left alone.
void belongs(const void* memory, const Site&, const char* purpose = nullptr) noexcept;
/// Notes that memory, which allocated() was told of, is free.
void freed(const void* memory) noexcept;
/// Records how much those have with whom something changed since the last sample.
void sample() noexcept;

}  // namespace lazy::holdings
