// Declares the steps of training that bench_training and bench_lazy time.
#pragma once
#include <functional>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

namespace bench {

struct Training {
  const char* name;
  const char* size;
  /// Makes a model, an optimizer and a batch; returns a step: a function that trains once and returns the
  /// loss.
  std::function<std::function<lazy::Tensor()>()> begin;
};

std::vector<Training> trainings();

}  // namespace bench
