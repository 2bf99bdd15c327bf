// Transforms with vectors of 512 bits.
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
#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")

#include "backends/cpu/calls/fft.hpp"

namespace lazy::cpu_backend::fft {

constinit const Vectors kAvx512{{jit::calls::fft_scratch<float, 16>, jit::calls::fft_rows<float, 16>},
                                {jit::calls::fft_scratch<double, 8>, jit::calls::fft_rows<double, 8>},
                                "avx512"};

}  // namespace lazy::cpu_backend::fft

#pragma GCC pop_options
