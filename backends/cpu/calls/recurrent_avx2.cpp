// Goes through the steps of recurrent layers with vectors of 256 bits.
#include "backends/cpu/calls/lanes_avx2.hpp"

#include "backends/cpu/calls/recurrent_level.hpp"

namespace lazy::cpu_backend::recurrent {

constinit const Level kAvx2{
    "steps of sequences, avx2", forward<float>, backward<float>, forward<double>, backward<double>, 32};

}  // namespace lazy::cpu_backend::recurrent
