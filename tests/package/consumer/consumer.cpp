// Uses what a user's program needs of the package: headers, the library, and its dependencies at link time.
#include <iostream>
#include <lazy/lazy.hpp>
#include <string>

lazy::Tensor twice(const lazy::Tensor&);

int main() {
  using namespace lazy;
  const Tensor x = reshape(arange(0, 4, 1, float32), {2, 2});
  std::cout << sum(x).item<float>() << ' ' << sum(twice(x)).item<float>() << '\n';
  std::cout << twice(tensor({1.0f, 2.0f})) << '\n';
  try {
    (x + ones({5, 5})).eval();
    std::cout << "no error\n";
    return 1;
  } catch (const ShapeError& e) {
    const std::string what = e.what();  // names the user's file, wherever the library was built
    std::cout << what.substr(what.find("consumer.cpp"), 13);
  }
  return 0;
}
