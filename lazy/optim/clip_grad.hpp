// Bounds gradients between backward() and step(), as torch.nn.utils does. What is recorded is part of the
// step's flush; no value is read.
#pragma once
#include "lazy/optim/parameters.hpp"

namespace lazy::optim {

/// Scales the gradients, taken as one vector, by min(1, max_norm / (norm + 1e-6)), and returns the norm that
/// they had, which is not computed until it is read: the root of order norm_type (infinity: the largest) of
/// the sum of powers. Parameters without a gradient count as nothing. Error unless max_norm >= 0 and
/// norm_type > 0.
Tensor clip_grad_norm_(const ParameterList& parameters, double max_norm, double norm_type = 2,
                       Site s = Site::current());
/// Bounds each element of the gradients to [-clip_value, clip_value]. Error unless clip_value >= 0.
void clip_grad_value_(const ParameterList& parameters, double clip_value, Site s = Site::current());

}  // namespace lazy::optim
