#include "lazy/nn/modules/utils.hpp"

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn::utils {

using lazy::detail::fail;

namespace {

Parameter& alive(const char* name, const ParameterRef& p, const Site& s) {
  if (!p) fail<Error>(name, "a parameter was destroyed", s);
  return *p;
}

}  // namespace

Tensor parameters_to_vector(const std::vector<ParameterRef>& parameters, Site s) {
  std::vector<Tensor> flat;
  flat.reserve(parameters.size());
  for (const ParameterRef& p : parameters) flat.push_back(alive("parameters_to_vector", p, s).flatten(s));
  return concat(flat, 0, s);
}

void vector_to_parameters(const Tensor& vector, const std::vector<ParameterRef>& parameters, Site s) {
  constexpr const char* name = "vector_to_parameters";
  int64_t elements = 0;
  for (const ParameterRef& p : parameters) elements += alive(name, p, s).size(s);
  if (vector.shape(s) != Shape{elements})
    fail<ShapeError>(name,
                     "the parameters have " + std::to_string(elements) +
                         " elements; a vector of these, not " + lazy::to_string(vector.shape(s)),
                     s);
  const no_grad scope;
  int64_t at = 0;
  for (const ParameterRef& p : parameters) {
    const int64_t n = p->size(s);
    *p = vector(Index(slice(at, at + n), s)).reshape(p->shape(s), s).to(p->dtype(s), s);
    at += n;
  }
}

}  // namespace lazy::nn::utils
