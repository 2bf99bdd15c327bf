// What a program sees where a GPU, its driver or its compiler is missing: asks for CUDA, and goes on after the error.
#include <iostream>

#include "lazy/lazy.hpp"

int main(int, char** argv) {
  std::cout << "available: " << lazy::is_available(lazy::cuda) << ", devices: " << lazy::cuda_device_count() << "\n";
  try {
    const lazy::Tensor x = lazy::ones({3}).to(argv[1] ? lazy::cuda(7) : lazy::Device(lazy::cuda));
    std::cout << "on " << to_string(x.device()) << ": " << (x + 1).sum().item<float>() << "\n";
  } catch (const lazy::DeviceError& e) { std::cout << "DeviceError: " << e.what() << "\n"; }
  try {
    const lazy::Tensor y = lazy::arange(4) * 2;  // on the default device
    std::cout << "default: " << lazy::to_string(y.device()) << ", " << y.sum().item<int64_t>() << "\n";
  } catch (const lazy::Error& e) { std::cout << "default: " << e.what() << "\n"; }
  std::cout << "goes on: " << lazy::tensor({1, 2, 3}).to(lazy::cpu).device().index << "\n";
}
