// Spends its time in one kernel, for profilers that take samples.
#include <chrono>
#include <iostream>

#include "lazy/lazy.hpp"

__attribute__((noinline)) float work(const lazy::Tensor& x) { return sin(x).sum().item<float>(); }

int main() {
  const lazy::Tensor x = lazy::rand({200000}).eval();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  float s = 0;
  while (std::chrono::steady_clock::now() < end) s += work(x);
  std::cout << "sum " << (s != 0) << std::endl;
}
