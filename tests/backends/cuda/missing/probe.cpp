// Shows what a program sees where a GPU, its driver or its compiler is missing: uses CUDA, and goes on after
// the error. With --available it prints the GPU, or with status 1 why there is none.
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "lazy/lazy.hpp"

namespace {
void tell(const char* what, const std::function<lazy::Tensor()>& make) {
  std::cout << what << ": ";
  try {
    const lazy::Tensor x = make();
    std::cout << to_string(x.device()) << ", ";
    std::cout << x.sum().item<double>() << "\n";
  } catch (const lazy::DeviceError& e) { std::cout << e.what() << "\n"; }
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--available") {
    try {
      const std::string name = lazy::describe(lazy::cuda);
      std::cout << "on " << name << "\n";
      return 0;
    } catch (const lazy::DeviceError& e) {
      std::cout << e.what() << "\n";
      return 1;
    }
  }
  std::cout << "available: " << lazy::is_available(lazy::cuda) << ", devices: " << lazy::cuda_device_count()
            << "\n";
  const std::vector<float> three{1, 2, 3};
  const lazy::Device wanted = argc > 1 ? lazy::cuda(std::atoi(argv[1])) : lazy::Device(lazy::cuda);
  tell("default", [&] { return lazy::from_span(three) * 2; });
  tell("wanted", [&] { return lazy::from_span(three).to(wanted) + 1; });
  lazy::set_default_device(lazy::cpu);
  tell("goes on", [&] { return lazy::from_span(three) - 1; });
}
