// Transforms with vectors of 256 bits.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "jit/built_in/fft/plan.hpp"
#include "jit/calls/call.hpp"

#pragma GCC push_options
#pragma GCC target("avx2,fma")

#include "backends/cpu/calls/fft.hpp"

namespace lazy::cpu_backend::fft {

constinit const Vectors kAvx2{{jit::calls::fft_scratch<float, 8>, jit::calls::fft_rows<float, 8>},
                              {jit::calls::fft_scratch<double, 4>, jit::calls::fft_rows<double, 4>},
                              "avx2"};

}  // namespace lazy::cpu_backend::fft

#pragma GCC pop_options
