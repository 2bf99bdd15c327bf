// Looking inside: counters of what was recorded, compiled and run.
//
//   lazy::metrics().kernels_compiled;  lazy::reset_metrics();  std::cout << lazy::metrics();
#pragma once
#include "support/metrics.hpp"
