// Attends over sequences with vectors of 512 bits.
#include "backends/cpu/calls/lanes_avx512.hpp"

#include "backends/cpu/calls/varlen_attention_level.hpp"

namespace lazy::cpu_backend::varlen {

constinit const Level kAvx512{"blocks of queries and keys, avx512",
                              forward<float>,
                              forward<double>,
                              join<float>,
                              join<double>,
                              backward<float>,
                              backward<double>};

}  // namespace lazy::cpu_backend::varlen
