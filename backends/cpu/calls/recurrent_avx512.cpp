// Goes through the steps of recurrent layers with vectors of 512 bits.
#include "backends/cpu/calls/lanes_avx512.hpp"

#include "backends/cpu/calls/recurrent_level.hpp"

namespace lazy::cpu_backend::recurrent {

constinit const Level kAvx512{
    "steps of sequences, avx512", forward<float>, backward<float>, forward<double>, backward<double>, 64};

}  // namespace lazy::cpu_backend::recurrent
