// Turns parameters into a vector and back, by torch.nn.utils' names.
#pragma once
#include <vector>

#include "lazy/autograd/parameter.hpp"

namespace lazy::nn::utils {

/// Returns the elements of all parameters, one after the other, each in row-major order. Gradients go
/// through. ShapeError for no parameters; Error for one that was destroyed.
Tensor parameters_to_vector(const std::vector<ParameterRef>& parameters, Site s = Site::current());
/// Takes the parameters' values from such a vector, in their dtypes. ShapeError unless it has as many
/// elements as they have.
void vector_to_parameters(const Tensor& vector, const std::vector<ParameterRef>& parameters,
                          Site s = Site::current());

}  // namespace lazy::nn::utils
