// Attends over sequences with vectors of 256 bits.
#include "backends/cpu/calls/lanes_avx2.hpp"

#include "backends/cpu/calls/varlen_attention_level.hpp"

namespace lazy::cpu_backend::varlen {

constinit const Level kAvx2{"blocks of queries and keys, avx2",
                            forward<float>,
                            forward<double>,
                            join<float>,
                            join<double>,
                            backward<float>,
                            backward<double>};

}  // namespace lazy::cpu_backend::varlen
