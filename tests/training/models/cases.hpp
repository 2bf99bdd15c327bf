// The models that are compared with torch, in the sizes of tools/parity/cases.py.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"

namespace parity {

struct Case {
  std::unique_ptr<lazy::nn::Module> model;  // in training mode, without dropout
  std::function<lazy::Tensor(const std::vector<lazy::Tensor>& arguments)> run;  // calls it
  std::vector<lazy::Tensor> arguments;                                          // of the tests' sizes
};

/// Returns a model in the tests' size or in full.
Case build(const std::string& name, bool full);
/// Gives parameters and statistics the values of the formula.
void fill(lazy::nn::Module& model);
/// Returns sum(result * pattern), whose gradients are compared.
lazy::Tensor loss_of(const lazy::Tensor& result);
extern const std::vector<std::string> kNames;

}  // namespace parity
