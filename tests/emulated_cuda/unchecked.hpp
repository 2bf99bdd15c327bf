// Remembers texts that NVRTC took as they are (EMULATED_CUDA_COMPILE=launched) and no compiler has read.
#pragma once
#include <string>

namespace emulated {

void note_unchecked(const std::string& name, const std::string& text);
/// Forgets a text that was compiled.
void note_checked(const std::string& text);

}  // namespace emulated
