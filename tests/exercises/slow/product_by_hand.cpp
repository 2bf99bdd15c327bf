// Writes a product of matrices as broadcast, multiply and sum; the other one sums what is no product.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({400, 1, 8}).eval(), y = rand({1, 400, 8}).eval();
  for (int i = 0; i < 40; ++i) {
    const Tensor products = x * y;
    sum(products, 2).eval();  // cause: the sum at HERE over axis 2 .* product of matrices
  }
}

void innocent() {
  const Tensor x = rand({400, 1, 8}).eval(), y = rand({1, 400, 8}).eval();
  for (int i = 0; i < 40; ++i) {
    sum(abs(x - y), 2).eval();
    matmul(reshape(x, {400, 8}), transpose(reshape(y, {400, 8}))).eval();
  }
}

const exercises::Program program("product_by_hand", slow, innocent);

}  // namespace
