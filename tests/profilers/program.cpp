// Runs two flushes, whose ranges a profiler sees.
#include <iostream>

#include "lazy/lazy.hpp"

int main() {
  const lazy::Tensor x = lazy::arange(1000, lazy::float32);
  const float s = exp(x * 0.001f).sum().item<float>();
  std::cout << "sum " << s << std::endl;
}
