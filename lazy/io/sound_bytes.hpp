// Reads sound from memory. Internal to lazy/io and its tests.
#pragma once
#include "lazy/io/file.hpp"
#include "lazy/io/sound.hpp"

namespace lazy::detail {

Sound read_wav(const FileBytes&, const MaybeDevice&);

}  // namespace lazy::detail
