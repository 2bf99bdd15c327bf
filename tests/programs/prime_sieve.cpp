// Eratosthenes' sieve: multiples of each prime are struck out by a slice with a step.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(prime_sieve) {
  const int64_t n = in.whole("n");
  Tensor prime = ones(n, bool_);
  prime(slice(2)) = false;
  for (int64_t i = 2; i * i < n; ++i)
    if (prime(i)) prime(slice(i * i, none, i)) = false;
  const Tensor found = flatnonzero(prime), gaps = diff(found);
  return {{"found", found}, {"gap", max(gaps)}, {"twins", sum(gaps == 2)}};
}
